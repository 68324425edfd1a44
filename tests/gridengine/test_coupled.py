"""Pairs of Grid Engine with local processes and with Slurm, under hold and yield. Nothing is left after any."""

from __future__ import annotations

import pytest

from tests.live.coupled_labs import Coupled
from tests.live.workloads import SCHEMES, Work
from tests.pbs.laboratory import laboratory

NODES, LARGE = 4, 3
HOLD = {"release_interval": 0, "max_held_fraction": 1, "max_yields": 0, "try_patience": 5, "poll_interval": 1}
PAIRS, ALONE = 10, 4
P = Work("p", LARGE, 0.5)


ON_SLURM = pytest.param(("gridengine", "slurm"), marks=pytest.mark.soak)
running, coupled = laboratory(("gridengine", "local"), ON_SLURM, nodes=NODES, **HOLD)


def test_a_pair_starts_together(coupled: Coupled) -> None:
    coupled.check_pair(P, reverse=False)


@pytest.mark.soak
@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_a_pair_starts_together_under_each_scheme_whichever_is_submitted_first(
    coupled: Coupled, schemes: tuple[str, str]
) -> None:
    coupled.lab.serve(schemes, **HOLD)
    for reverse in (False, True):
        coupled.check_pair(P, reverse=reverse)


@pytest.mark.soak
@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_under_contention_every_pair_starts_together(coupled: Coupled, schemes: tuple[str, str]) -> None:
    coupled.lab.serve(schemes, **HOLD | {"release_interval": 3, "max_held_fraction": 0.75, "backoff": 1})
    coupled.check_contention(PAIRS, ALONE)
