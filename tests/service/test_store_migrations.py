"""Databases of earlier versions: migrations keep what they have."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from cosched.core.allocation import Allocation, Malleable
from cosched.core.coscheduling.ledger import Untold
from cosched.core.job import JobState
from cosched.core.protocol import SettleGroupStart, StartJob, TryStartMate, named_group, named_mate
from cosched.core.scheduling.batch.open_meeting_cluster import open_cluster
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings
from cosched.schedulers.fluid import FLUID
from cosched.service.api.views import Views
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.malleable import columns_of, said_of
from cosched.service.domain.predictions import as_told, counted
from cosched.service.metrics import Metrics
from cosched.service.store import JobRecord, Store, StoreError
from cosched.service.store.schema import MIGRATIONS
from cosched.service.store.sqlite import Database
from tests.service.store_examples import DOMAIN, add, execute, job, make

JOBS = Path(__file__).with_name("jobs_of_0020.json")  # rows, and what a service of that time said of each
KEPT = Path(__file__).with_name("jobs_of_0023.json")  # likewise
STOPPED: Any = SimpleNamespace(now=lambda: 2600, to_wall=int, from_wall=int)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "intrepid.db"


def older(path, before, domain, jobs):
    """Make a database of before that migration, with these rows of jobs."""
    plain = {"reason": "", "user_hold": 0, "end_text": "", "lookup": 0, "mate_status": 0}
    with closing(Database(path)) as database:
        MIGRATIONS.apply(database, stop_before=before)
        database["jobs"].insert_all(plain | job for job in jobs)
        database["meta"].insert({"key": "store.domain", "value": domain})


def test_an_older_database_is_brought_up_to_date_in_order(path, monkeypatch):
    make(path)
    monkeypatch.setattr(MIGRATIONS, "_migrations", [*MIGRATIONS._migrations])
    MIGRATIONS(name="0002_colour")(lambda database: database.execute("ALTER TABLE jobs ADD COLUMN colour TEXT"))
    MIGRATIONS(name="0003_paint")(lambda database: database.execute("UPDATE jobs SET colour = 'red'"))
    with closing(Store.open(path, DOMAIN)) as store:
        assert store.job(1) is not None
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT colour FROM jobs").fetchall() == [("red",)]


def test_refused_submissions_of_an_older_database_are_told_as_such(path):
    with closing(Store.open(path, DOMAIN)) as store:
        refused = job(1, JobState.CANCELLED, end_text="refused: b has no job 9")
        cancelled = job(2, JobState.CANCELLED, end_text="by alice")
        add(store, [refused, cancelled, job(3, JobState.FAILED, end_text="refused: by its program")])
        with store.transaction():
            for n in (1, 2, 3):
                store.save_reply("alice", f"r{n}", "SubmitJob", n, "")
    execute(path, "DELETE FROM _sqlite_migrations WHERE name = '0005_refusals_in_replies'")
    with closing(Store.open(path, DOMAIN)) as store:
        replies = [store.reply("alice", f"r{n}") for n in (1, 2, 3)]
    assert [reply[2] for reply in replies] == ["b has no job 9", "", ""]


def test_answers_of_an_older_database_are_kept(path):
    make(path)
    execute(
        path,
        "DELETE FROM _sqlite_migrations WHERE name = '0006_whole_answers'",
        "ALTER TABLE answers DROP COLUMN reply",
        "ALTER TABLE answers ADD COLUMN started INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE answers ADD COLUMN start_at REAL",
        "INSERT INTO answers VALUES ('b', '1', 'b/1/1', 'MateTried', 0, 1, 1800000000.123456)",
        "INSERT INTO answers VALUES ('b', '2', 'b/2/1', 'MateStarted', 0, 0, NULL)",
    )
    with closing(Store.open(path, DOMAIN)) as store:
        assert store.answer("b", "1") == ("b/1/1", "MateTried", [True, 1800000000.123456])
        assert store.answer("b", "2") == ("b/2/1", "MateStarted", [False, None])


def test_whom_a_group_of_an_older_database_is_to_tell_is_known(path):
    start = ["a/1/3", "7", "1", True, 0, None, False]
    group = {"jobs": {"b": "7"}, "decision": ["a/1/3", None, {"b": start}]}
    with closing(Store.open(path, DOMAIN)) as store:
        named = named_group("g", ("b",))
        ended = job(1, JobState.COMPLETED, named=named, started_at=900, memory={"group": group})
        none = {"group": {**group, "decision": ["a/2/3", None, {}]}}
        others = [job(2, JobState.COMPLETED, named=named, memory=none), job(3)]
        add(store, [ended, *others])
    undo = ("DELETE FROM _sqlite_migrations WHERE name IN ('0015_untold', '0027_kept')", "DROP INDEX jobs_telling")
    execute(path, *undo)
    with closing(Store.open(path, DOMAIN)) as store:
        (telling,) = store.telling_jobs()
    assert (telling.id, telling.job.untold) == (1, {"b": Untold(SettleGroupStart(*start), 900)})


def test_the_site_of_an_older_database_is_told_at_its_next_start(path):
    older(path, "0023_site", DOMAIN, [])
    execute(path, "INSERT INTO runs VALUES ('fft', 's1', 'ann', 'low', 2, 30, '450', '{\"15\":2}')")
    with closing(Store.open(path, DOMAIN)) as store:
        assert store.site()["users"] == (["name", "queue", "runs", "seconds"], [("ann", "low", 2, 30)])
        assert store.site()["machines"] == (["name", "machine_class", "is_up"], [])


def test_what_jobs_of_an_older_database_have_is_kept(path):
    malleable = {"columns": '{"least": "1"}', "sizing": '{"nodes": 3, "names": ["n0"]}'}
    with closing(Store.open(path, DOMAIN)) as store:
        runs = job(1, JobState.RUNNING, started_at=900, time_limit=60, memory={"nodes": 2, "holds": 1})
        resized = job(2, JobState.RUNNING, started_at=900, time_limit=60, memory={"nodes": 1}, **malleable)
        add(store, [runs, resized, job(3, JobState.HOLDING, memory={"nodes": 4})])
    execute(path, "DELETE FROM _sqlite_migrations WHERE name = '0018_allocations'")
    with closing(Store.open(path, DOMAIN)) as store:
        runs, resized, holds = store.active_jobs()
    assert (runs.job.holds, runs.allocation) == (1, Allocation(2, 900, 960))
    assert (runs.node_count, resized.node_count, holds.node_count) == (2, 3, 4)
    assert resized.sizing == '{"names": ["n0"]}'


def test_how_jobs_of_an_older_database_change_their_size_is_kept(path):
    with closing(Store.open(path, DOMAIN)) as store:
        add(store, [job(number, JobState.RUNNING, started_at=900) for number in range(1, 4)])
    predicted = [[1.5, 1.0, 0.5, 2.0], [1.0, 0.5, 0.5, 0.0]]
    first = {"least": 1, "parabolic": False, "fixed": 0, "data": 0, "table": None}
    second = {"least": 2, "parabolic": True, "fixed": 3, "data": 9, "table": None, "predictions": predicted}
    sized = enumerate(map(json.dumps, (first, second)), 1)
    execute(
        path,
        "DELETE FROM _sqlite_migrations WHERE name = '0019_columns'",
        *(f"ALTER TABLE jobs DROP COLUMN {name}" for name in ("columns", "predictions")),
        "ALTER TABLE jobs ADD COLUMN malleable TEXT",
        *(f"UPDATE jobs SET malleable = '{kept}' WHERE id = {id}" for id, kept in sized),
    )
    with closing(Store.open(path, DOMAIN)) as store:
        one, other, rigid = store.active_jobs()
    assert columns_of(one, FLUID, said_of(one)) == Malleable(1)
    assert columns_of(other, FLUID, said_of(other)) == Malleable(2, True, 3, 9, counted(as_told(other.predictions)))
    assert [list(told) for told in as_told(other.predictions)] == predicted
    assert (columns_of(rigid, FLUID, said_of(rigid)), rigid.columns, rigid.predictions) == (None, None, None)


def test_pairs_of_an_older_database_have_no_slot_and_ask_anew(path):
    """The calls by which pairs alone agreed on slots have ended; a call that may start the mate is repeated."""
    slot = {
        "slot": 5000,
        "slot_generation": 2,
        "proposes": True,
        "confirmed": True,
        "scheduler": {"slot": 5000, "guard": 1},
    }
    calls = {
        JobState.READY: ["TryStartMate", "a/2/1", "7", "2", 0, None],
        JobState.HOLDING: ["StartJob", "a/3/1", "7", "3", 4, None, 0],
        JobState.QUEUED: ["SettleStart", "a/4/1", "7", "4", 2, True],
    }
    pair, group = ("b", "p", "7", None, None), (None, None, None, "g", "b")
    jobs = [(JobState.QUEUED, pair, {**slot, "or_alone": True})]
    jobs += [(state, pair, {"call": call}) for state, call in calls.items()]
    jobs += [(JobState.READY, pair, {**slot, "call": ["StartJob", "a/5/1", "7", "5", 0, None, 2]})]
    jobs += [(JobState.QUEUED, group, {"slot": 9, "group": {"slot": "b/7/1"}})]
    names = ("state", "peer", "pair", "mate", "group_name", "group_with", "memory")
    plain = {"name": "j", "owner": "u", "nodes": 4, "time_limit": 60, "submitted_at": 10}
    rows = [dict(zip(names, (int(state), *named, json.dumps(memory)), strict=True)) for state, named, memory in jobs]
    older(path, "0020_pairs", DOMAIN, [plain | row for row in rows])
    execute(
        path,
        "INSERT INTO answers VALUES ('b', '7', 'b/7/1', 'Proposed', 0, '[]')",
        "INSERT INTO answers VALUES ('b', '8', 'b/8/1', 'MateTried', 0, '[]')",
    )
    with closing(Store.open(path, DOMAIN)) as store:
        booked, ready, holds, queued, at_slot, member = store.active_jobs()
        assert (store.answer("b", "7"), store.answer("b", "8") is None) == (None, False)
    assert (booked.job.slot_generation, booked.job.slot, booked.scheduled) == (2, None, {"guard": 1})
    assert booked.named == named_mate("b", "p", "7", or_alone=True)
    assert ready.job.call == TryStartMate("a/2/1", "7", "2", 0)
    assert holds.job.call == StartJob("a/3/1", "7", "3", 4)
    assert queued.kept["memory"] == {}
    assert (at_slot.job.call, at_slot.job.in_doubt) == (None, True)
    assert (member.job.slot, member.job.group.slot) == (9, "b/7/1")


def test_jobs_of_an_older_database_start_with_the_same_and_look_the_same(path):
    """Pairs had columns of their own, and of groups the others' ids were elsewhere. The jobs are those of a domain in
    histories with pairs, groups and windows: they queue, are ready, hold, have slots, run or have ended, with calls,
    proposals and promises under way.
    """
    jobs = json.loads(JOBS.read_text())
    older(path, "0021_mates", "a", [job.pop("row") for job in jobs])
    with closing(Store.open(path, "a")) as store:
        records = store.jobs(None, None, paired_only=False, after_id=-1, limit=-1)
        cluster = open_cluster(ClusterSettings(10, parse_ordering("fcfs"), BACKFILLING["easy"], slots=True))
        domain = LiveDomain("a", CoschedulingSettings(slots=True), cluster, store, STOPPED, Metrics("older"))
        views = Views(domain, STOPPED)
        assert [_told(record, views) for record in records] == jobs
        columns = store._execute("SELECT mates, is_pair, group_name FROM jobs")
        with store.transaction():
            store.save_jobs(records)
        assert store._execute("SELECT mates, is_pair, group_name FROM jobs") == columns
        for ended in (record for record in records if record.state.final and record.paired):
            assert (_last_ended(store, ended).ended_at or 0) >= ended.ended_at


def test_jobs_of_a_database_in_which_copies_were_kept_of_what_the_core_knows_look_the_same(path):
    """They queue, are ready, hold, run or have completed, with calls, proposals, promises and slots; also once more."""
    jobs = json.loads(KEPT.read_text())
    older(path, "0027_kept", "a", [job["row"] for job in jobs])
    for _ in range(2):
        with closing(Store.open(path, "a")) as store:
            records = store.jobs(None, None, paired_only=False, after_id=-1, limit=-1)
            cluster = open_cluster(ClusterSettings(10, parse_ordering("fcfs"), BACKFILLING["easy"], slots=True))
            domain = LiveDomain("a", CoschedulingSettings(slots=True), cluster, store, STOPPED, Metrics("kept"))
            views = Views(domain, STOPPED)
            assert [MessageToDict(views.job(record)) for record in records] == [job["shown"] for job in jobs]
            before = [json.loads(job["row"]["memory"]) for job in jobs]
            assert [record.job.call is not None for record in records] == ["call" in kept for kept in before]
            groups = [(record.job.group, kept.get("group", {})) for record, kept in zip(records, before, strict=True)]
            assert [bool(group and group.promise) for group, _ in groups] == ["booking" in kept for _, kept in groups]
            assert [bool(group and group.proposal) for group, _ in groups] == ["proposal" in kept for _, kept in groups]
            assert [record.scheduled for record in records] == [kept.get("scheduler", {}) for kept in before]
            with store.transaction():
                store.save_jobs(records)


def _told(record: JobRecord, views: Views) -> Any:
    """What a job names, knows, keeps and shows, as JSON has it."""
    is_pair, *group = record.named.is_pair, *record.named._replace(is_pair=False)
    others, name, _, or_alone, _, windows, at, _ = group
    pair = "MateName", record.named.peer, record.named.pair, record.named.mate, or_alone
    found = pair if is_pair else ("GroupName", name, others, or_alone, windows, at)  # as they were named then
    named, mates, memory = json.loads(json.dumps([found, record.mates, record.kept["memory"]]))
    return {"named": named, "mates": mates, "memory": memory, "shown": MessageToDict(views.job(record))}


def _last_ended(store: Store, of: JobRecord) -> JobRecord:
    mate = of.mate
    found = store.ended_mate(mate.peer, of.owner, mate.pair, mate.mate) if of.is_pair else None
    return found or store.ended_member(of.owner, of.group_name)


def test_a_migration_that_fails_changes_nothing(path, monkeypatch):
    make(path)

    def fail(database):
        database.execute("DELETE FROM jobs")
        database.execute("DELETE FROM nowhere")

    with monkeypatch.context() as patch:
        patch.setattr(MIGRATIONS, "_migrations", [*MIGRATIONS._migrations])
        MIGRATIONS(name="0002_fail")(fail)
        with pytest.raises(StoreError, match="no such table: nowhere"):
            Store.open(path, DOMAIN)
    with closing(Store.open(path, DOMAIN)) as store:
        assert store.job(1) is not None
