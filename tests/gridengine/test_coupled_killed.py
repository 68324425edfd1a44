"""kill -9 of services, the qmaster and the execd while pairs of Grid Engine and Slurm start: none is lost or half."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from deploy.lab.coupled import GridEngine
from tests.live.coupled_labs import Coupled
from tests.live.workloads import contended
from tests.pbs.laboratory import laboratory
from tests.tiers import SEED

pytestmark = pytest.mark.soak

SETTINGS = {
    "release_interval": 10, "max_held_fraction": 0.75, "max_yields": 0, "backoff": 1, "try_patience": 5,
    "poll_interval": 1, "on_peer_unreachable": "hold", "peer_grace": 600,
}  # fmt: skip
PAIRS, ALONE = 12, 4


running, coupled = laboratory(("gridengine", "slurm"), **SETTINGS)


@pytest.mark.parametrize("schemes", [("hold", "hold"), ("yield", "hold"), ("yield", "yield")], ids="-".join)
def test_all_pairs_start_together_whatever_is_killed(coupled: Coupled, schemes: tuple[str, str]) -> None:
    coupled.lab.serve(schemes)
    assert isinstance(coupled.here, GridEngine)
    cluster = coupled.here.cluster
    daemons = [(cluster.kill_qmaster, cluster.start_qmaster), (cluster.kill_execd, cluster.start_execd)]
    killed: list[str] = []

    def kill_daemons(submitted: bool, chance: random.Random) -> None:
        """The qmaster, the execd, or both, one after the other or at once: qsub needs the qmaster."""
        if not submitted:
            return
        chosen = chance.sample(daemons, chance.randint(1, 2))
        for kill, _ in chosen:
            kill()
            killed.append(kill.__name__)
        for _, start in chosen:
            start()

    found = coupled.run_while_killed(contended(SEED, PAIRS, ALONE, most_nodes=2, seconds=1), SEED, kill_daemons)
    print(f"killed besides: {Counter(killed)}")
    assert killed
    assert found.states == {"completed": 2 * PAIRS}
    assert len(found.runs) == 2 * (PAIRS + ALONE)
    assert set(found.runs.values()) == {1}
    assert found.alone() == {}
