"""Hold-hold that would go on for ever (coscheduling.md, Release timer): why wanted jobs come first."""

from decimal import Decimal

import pytest

from cosched.core.settings import ReleaseOrder
from tests.sim.core.replays import Replay

# "four pairs of jobs, each of 6 of 10 nodes. Domain A gets a1, a3, a2, a4 at 0 to 3 s; domain B gets b2, b4, b1, b3 at
# 400 to 403 s; all run 100 s"
FOUR = (
    {f"a{i}": (t, 100, 6) for t, i in enumerate((1, 3, 2, 4))},
    {f"b{i}": (400 + t, 100, 6) for t, i in enumerate((2, 4, 1, 3))},
    [(f"a{i}", f"b{i}") for i in (1, 2, 3, 4)],
)


@pytest.mark.parametrize("cap", ["0.6", "1"])
def test_with_the_papers_rule_alone_holds_are_exchanged_for_ever(cap):
    """ "With that alone two holding domains can exchange holds for ever" "A alternates between a1 and a3, B between
    b2 and b4" """
    run = Replay(*FOUR, release_order=ReleaseOrder.LAST, max_held_fraction=Decimal(cap))
    assert run.engine.stalled
    assert set(run.starts().values()) == {None}
    assert {name for name in run.starts() if run.job(name).holds} == {"a1", "a3", "b2", "b4"}
    a1, a3 = run.times("a1", "holds"), run.times("a3", "holds")
    assert a1[:3] == [0, 2400, 4800]
    assert a3[:3] == [1200, 3600, 6000]


@pytest.mark.parametrize("cap", ["0.6", "1"])
def test_with_wanted_jobs_first_they_end(cap):
    """ "(ours ends at 1600 s)" """
    starts = Replay(*FOUR, max_held_fraction=Decimal(cap)).starts()
    assert max(starts.values()) + 100 == 1600
    assert all(starts[a] == starts[b] for a, b in FOUR[2])


def test_under_the_default_cap_they_cannot_hold():
    run = Replay(*FOUR, max_held_fraction=Decimal("0.5"), release_order=ReleaseOrder.LAST)
    assert sum(run.job(name).holds for name in run.starts()) == 0
    assert None not in run.starts().values()


def eight(side: str, run_time: int, later: int) -> dict[str, tuple[int, int, int, int]]:
    """ "jobs of 4 and 1 nodes at 0, 4 and 1 at 600, requested 5000 s; four of 7 nodes at 901 to 904" """
    small = [(0, 4), (0, 1), (600, 4), (600, 1)]
    large = [(901 + i, 7) for i in range(4)]
    return {f"{side}{i}": (t + later, run_time, n, 5000) for i, (t, n) in enumerate(small + large, 1)}


@pytest.mark.parametrize("run_time", [100, 5000])
@pytest.mark.parametrize("cap", ["0.5", "1"])
@pytest.mark.parametrize("jitter", ["0", "0.25"])
def test_the_order_for_the_rest_of_the_instant_ends_the_eight_pairs(run_time, cap, jitter):
    """ "B gets the same 300 s later. A's small jobs are paired with B's large ones and the reverse. No job would ever
    start" if the order held for one iteration only."""
    pairs = [(f"a{i}", f"b{(i + 3) % 8 + 1}") for i in range(1, 9)]
    a, b = eight("a", run_time, 0), eight("b", run_time, 300)
    starts = Replay(a, b, pairs, max_held_fraction=Decimal(cap), release_jitter=Decimal(jitter)).starts()
    assert None not in starts.values()
    assert all(starts[one] == starts[other] for one, other in pairs)
