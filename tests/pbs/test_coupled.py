"""Pairs of PBS with PBS, Slurm and local processes: all schemes, deadlock, contention. Nothing is left after any."""

from __future__ import annotations

import pytest

from tests.live.coupled import known, story
from tests.live.coupled_labs import Coupled
from tests.live.workloads import SCHEMES, Work
from tests.pbs.laboratory import laboratory

pytestmark = pytest.mark.soak

NODES, LARGE = 4, 3
HOLD = {"release_interval": 0, "max_held_fraction": 1, "max_yields": 0, "try_patience": 2}
PAIRS, ALONE = 40, 6
P, Q = Work("p", LARGE, 0.5), Work("q", LARGE, 0.5)


running, coupled = laboratory(("pbs", "pbs"), ("pbs", "slurm"), ("pbs", "local"), nodes=NODES, **HOLD)


@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_a_pair_starts_together_whichever_is_ready_first(coupled: Coupled, schemes: tuple[str, str]) -> None:
    coupled.lab.serve(schemes, **HOLD)
    for reverse in (False, True):
        coupled.check_pair(P, reverse=reverse)


def test_a_deadlock_lasts_without_a_release_timer_and_is_broken_by_one(coupled: Coupled) -> None:
    """Figure 2 of Tang et al.: each of the first jobs holds most of a machine, and its mate waits for the other's."""
    coupled.lab.serve(("hold", "hold"), **HOLD)
    here, there = coupled.here, coupled.there
    ids = [[coupled.submit(here, P)], [coupled.submit(there, Q)]]
    for domain, (first,) in zip(coupled.lab, ids, strict=True):
        coupled.until_state(domain, first, "holding")
    for domain, work, mine in ((here, Q, ids[0]), (there, P, ids[1])):
        mine.append(coupled.submit(domain, work))
        coupled.until_state(domain, mine[1], "queued")
    assert [known(domain)[mine[0]].state for domain, mine in zip(coupled.lab, ids, strict=True)] == ["holding"] * 2
    coupled.lab.serve(release_interval=1)
    coupled.check_started_together(*ids)
    assert any("its hold is over" in event.text for event in story(here))


@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_under_contention_every_pair_starts_together(coupled: Coupled, schemes: tuple[str, str]) -> None:
    coupled.lab.serve(schemes, release_interval=3, max_held_fraction=0.75, backoff=1)
    coupled.check_contention(PAIRS, ALONE)
