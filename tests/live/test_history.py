"""Histories of two and three live domains: kills, stops, restarts, freezes, cuts of networks, clocks that are set.

By the jobs' own notes none is lost and none runs twice. With a grace for peers that outlasts the faults no pair is
half. Without one none is half but where a fault was in force on that pair at that moment.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, product
from pathlib import Path

import pytest

from tests.live.history.plan import ClockSet, Cut, Down, Frozen, plan
from tests.live.history.verdict import Verdict
from tests.live.history.work import Submitters, has_jobs
from tests.live.history.world import World
from tests.live.services import wait_until
from tests.live.workloads import RUN_PATIENCE
from tests.tiers import SEED

TWO = [*product(("hold", "yield"), repeat=2), ("meet", "meet"), ("meet", "hold")]
THREE = [("hold",) * 3, ("yield",) * 3, ("meet",) * 3, ("hold", "yield", "meet"), ("yield", "hold", "yield")]
# A grace that is longer than any fault, however slow the machine. Calls time out in most faults then; without a grace
# in none, so that a pair is half at once or not at all.
PATIENT = {"peer_grace": "30m", "peer_timeout": 2, "peer_patience": "10s"}
IMPATIENT = {"peer_grace": 0, "peer_timeout": 60, "peer_patience": "5m"}
COMMON = {"release_interval": 3, "max_held_fraction": "0.7"}
HISTORIES = list(enumerate(product((PATIENT, IMPATIENT), TWO + THREE)))
LONG = 600 / len(HISTORIES)  # seconds of faults: ten minutes in all


def live(folder: Path, schemes: tuple[str, ...], seed: int, seconds: float, patience: dict[str, object]) -> Verdict:
    """Let the domains work for so long, while the plan of this seed is carried out, and see all jobs to their end."""
    print(f"{schemes=} {seed=} {patience=}")
    with World(folder, schemes, **COMMON, **patience) as world:
        work = Submitters(world, seed)
        with ThreadPoolExecutor(len(schemes)) as pool:
            submitting = [pool.submit(work.run, service) for service in world.services]
            try:
                carry_out(world, seed, seconds)
            finally:
                work.stop()
            for done in submitting:
                done.result()
        wait_until(lambda: not any(map(has_jobs, world.services)), "all jobs have ended", RUN_PATIENCE)
        verdict = Verdict(world, work.submitted)
        assert not [fault for service in world.services for fault in service.faults()]
    print(verdict.summary())
    return verdict


def carry_out(world: World, seed: int, seconds: float) -> None:
    """The first steps of the plan, for so long."""
    end = time.monotonic() + seconds
    for step in plan(seed, list(world.places)):
        if time.monotonic() > end:
            return
        print(f"{time.time():.1f}", step)
        world.go_through(step)


def test_a_seed_gives_one_plan_with_troubles_of_all_kinds():
    first, again = (list(islice(plan(7, "abc"), 100)) for _ in range(2))
    assert first == again
    assert {type(trouble) for step in first for trouble in step.troubles} == {ClockSet, Cut, Down, Frozen}


@pytest.mark.soak
@pytest.mark.parametrize(("number", "patience", "schemes"), [(number, *what) for number, what in HISTORIES], ids=str)
def test_ten_minutes(tmp_path, number, patience, schemes):
    verdict = live(tmp_path, schemes, 1000 * SEED + number, LONG, patience)
    assert verdict.wrong() == []
    assert [half for half in verdict.half().values() if patience is PATIENT or not verdict.excuses(*half)] == []
