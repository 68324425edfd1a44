"""Two real Slurm clusters under load, with more work than nodes: every pair starts together under all schemes."""

import pytest

from tests.live.workloads import SCHEMES, contended
from tests.slurm.coupled import Coupled
from tests.slurm.laboratory import laboratory

SEED = 20110913
PAIRS, ALONE, NODES = 20, 6, 12  # some 50 nodes are asked for on each side
SETTINGS = {"release_interval": 3, "max_held_fraction": 0.75, "backoff": 1, "try_patience": 1.2}
running, coupled = laboratory(strict=False, services=False, options={"nodes": NODES}, **SETTINGS)


@pytest.mark.soak  # single pairs remain
@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_under_load_every_pair_starts_together_and_every_job_runs_once(
    coupled: Coupled, schemes: tuple[str, str]
) -> None:
    coupled.lab.restart(schemes)
    outcome = coupled.run(contended(SEED, PAIRS, ALONE))
    assert set(outcome.runs.values()) == {1}
    assert len(outcome.runs) == 2 * (PAIRS + ALONE)
    assert outcome.states == {"completed": 2 * PAIRS}
    assert len(outcome.whys) == len(outcome.times) == PAIRS
    assert outcome.alone() == {}
