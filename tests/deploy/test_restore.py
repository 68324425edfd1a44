"""A database that was restored from a backup, made ready to go on by deploy/after-restore.sql."""

import sqlite3
from contextlib import closing
from pathlib import Path

from cosched.core.job import JobState
from cosched.service.store import Store
from tests.service.store_examples import DOMAIN, add, event, job

SCRIPT = Path(__file__).resolve().parents[2] / "deploy" / "after-restore.sql"
CALL = ["StartJob", "intrepid/4/7", "9", "4", 2]


def restored(path: Path) -> Store:
    with closing(Store.open(path, DOMAIN)) as store:
        states = (JobState.QUEUED, JobState.HOLDING, JobState.RUNNING, JobState.READY)
        jobs = [job(number, state) for number, state in enumerate(states, 1)]
        jobs[0].user_hold = True
        jobs[3] = job(4, JobState.READY, memory={"calls": 7, "call": CALL})
        add(store, [*jobs, job(5, JobState.COMPLETED)], [event(1, job=1, at=90)])
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCRIPT.read_text())
    return Store.open(path, DOMAIN)


def test_what_had_not_ended_has_failed_and_is_explained(tmp_path):
    with closing(restored(tmp_path / "db")) as store:
        assert store.active_jobs() == []
        lost = [store.job(number) for number in range(1, 5)]
        assert {record.state for record in lost} == {JobState.FAILED}
        assert {record.ended_at for record in lost} == {90}
        assert "restored from a backup" in lost[0].end_text
        assert not lost[0].user_hold
        assert (lost[3].job.calls, lost[3].job.call) == (7, None)
        assert store.job(5).state is JobState.COMPLETED


def test_no_number_is_given_again(tmp_path):
    with closing(restored(tmp_path / "db")) as store:
        assert store.next_job_id() == 1_000_006
        assert store.last_sequence() == 1_000_001
        add(store, [job(store.next_job_id())], [event(store.last_sequence() + 1)])
        assert [record.id for record in store.active_jobs()] == [1_000_006]
