"""Groups that meet on three real clusters, while a service is killed at each step of a slot."""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.workloads import Work
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled_checks import START, Served, check_nothing_is_left, reservations_of
from tests.slurm.killing import AFTER, BEFORE, CALLER, STEPS, Killer
from tests.slurm.test_coupled_slots_killed import (
    FILLING,
    LIMIT,
    MEETING,
    NET,
    NODES,
    PATIENCE,
    SECONDS,
    SEED,
    SIZES,
    KillersLab,
    is_idle,
    restart,
)

pytestmark = pytest.mark.soak
NAMES = ("intrepid", "eureka", "mira")
GROUPS, ALONE = 8, 3


@pytest.fixture(scope="module")
def lab() -> Iterator[KillersLab]:
    check_for_compiler()
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        settings = {"schemes": ("meet",) * 3, "options": {"nodes": NODES}, "patience": PATIENCE, **START}
        lab = KillersLab(names=NAMES, services=False, gate=False, **settings)
        lab.folder = Path(folder)
        with lab:
            yield lab


@pytest.fixture(scope="module")
def running(lab: KillersLab) -> Served:
    return Served(lab)


@pytest.fixture
def coupled(running: Served) -> Iterator[Served]:
    """Afterwards nothing is left of the jobs."""
    yield running
    running.lab.clear()


@pytest.mark.parametrize("when", [BEFORE, AFTER])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_a_step_of_a_slot_leaves_no_reservation_and_parts_no_group(
    lab: KillersLab, coupled: Served, step: str, when: str
) -> None:
    here = coupled.here
    killer = Killer(lab.folder, step, when, CALLER)
    coupled.serve(("meet",) * 3, **MEETING)
    ids = submit_all(coupled, f"{step}-{when}".replace(" ", "-"))
    killer.arm()
    here.cluster.wait_for(lambda: killer.has_killed or is_idle(here), "the kill", PATIENCE)
    if not killer.has_killed:
        pytest.skip(f"no {step} was called for")
    restart(here, "service")
    outcome = coupled.outcome(*ids)
    assert outcome.states == {"completed": len(NAMES) * GROUPS}
    assert set(outcome.runs.values()) == {1}
    assert outcome.alone() == {}
    here.cluster.wait_for(lambda: not any(map(reservations_of, lab)), "no reservation", NET)
    check_nothing_is_left(coupled)


def submit_all(coupled: Served, prefix: str) -> list[list[str]]:
    """Groups and other jobs, more than there are nodes; the ids, by domain."""
    chance = random.Random(SEED)
    ids = []
    for domain in coupled.lab:
        domain.cluster.sbatch(FILLING, f"--nodes={NODES}", LIMIT, "--output=/dev/null")
        names = [*(f"{prefix}-{number}" for number in range(GROUPS)), *[None] * ALONE]
        chance.shuffle(names)
        works = [Work(name, chance.randint(*SIZES), round(chance.uniform(*SECONDS), 3)) for name in names]
        ids.append([coupled.submit(domain, work, LIMIT) for work in works])
    return ids
