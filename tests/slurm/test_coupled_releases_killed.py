"""A service is killed while a hold of its job ends by force, on two real clusters; Slurm offers the job again."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from cosched.core.job import JobState
from deploy.slurm.lab import Domain
from tests.live.coupled import known
from tests.live.disk_faults import build_shim
from tests.live.workloads import Work
from tests.slurm.coupled_checks import Served, check_cosched_agrees, check_nothing_is_left, hold
from tests.slurm.killing import AFTER, BEFORE, CALLER, OF_RELEASES, Killer
from tests.slurm.test_coupled_slots_killed import PATIENCE, KillersLab, coupled, lab, running

__all__ = ["coupled", "lab", "running"]  # fixtures

pytestmark = pytest.mark.soak
SOON, LATER = 3, 45  # seconds that a hold lasts, a quarter more with its jitter
WAITING = {"on_peer_unreachable": "hold", "peer_grace": 600}


def on_record(domain: Domain, job: str) -> JobState:
    """A job's state in the database, whether that is on disk or not; a service answers only once it is."""
    with closing(sqlite3.connect(f"file:{domain.service.state}?mode=ro", uri=True)) as database:
        return JobState(database.execute("SELECT state FROM jobs WHERE id = ?", (job,)).fetchone()[0])


@pytest.mark.parametrize("when", [BEFORE, AFTER])
@pytest.mark.parametrize("step", OF_RELEASES)
def test_a_kill_between_the_end_of_a_hold_and_the_next_offer_loses_no_job(
    lab: KillersLab, coupled: Served, step: str, when: str
) -> None:
    here, there = coupled.here, coupled.there
    killer = Killer(lab.folder, step, when, CALLER)
    coupled.serve(**WAITING, release_interval=SOON)
    work = Work(f"{step}-{when}".replace(" ", "-"), 2, 0.1)
    held = hold(coupled, here, work)
    killer.arm()
    here.cluster.wait_for(lambda: killer.has_killed, "the kill", PATIENCE)
    here.service.kill()
    here.service.start()
    check_cosched_agrees(coupled)
    coupled.check_started_together([held], [coupled.submit(there, work)])
    check_nothing_is_left(coupled)


def test_the_end_of_a_hold_that_was_due_at_a_restart_and_comes_late_leaves_the_next_hold_alone(
    lab: KillersLab, coupled: Served, tmp_path: Path
) -> None:
    """The order waits for the disk; meanwhile the job's hook calls again."""
    here, there = coupled.here, coupled.there
    Killer(lab.folder, "keep back", BEFORE, CALLER)  # which is never armed: Slurm's commands must be there
    coupled.serve(**WAITING, release_interval=LATER)
    work = Work("late", 2, 0.1)
    held = hold(coupled, here, work)
    first = known(here)[held].holds.generation
    here.service.kill()
    time.sleep(1.25 * LATER)
    slow = tmp_path / "slow"
    slow.touch()
    here.service._environment |= {"LD_PRELOAD": str(build_shim(tmp_path)), "SLOW_DISK": str(slow)}
    here.service.start()
    here.cluster.wait_for(lambda: on_record(here, held) is JobState.READY, "its next offer", PATIENCE)
    slow.unlink()
    coupled.until_job(here, held, lambda job: job.holds.generation > first and job.state == "holding", "to hold anew")
    mate = coupled.submit(there, work)
    coupled.until_state(there, mate, "running", "completed")
    assert here.cluster.job(int(held))["Restarts"] == "0"
    coupled.check_started_together([held], [mate])
    check_nothing_is_left(coupled)
