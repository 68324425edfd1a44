"""Large pairs under an endless load (coscheduling.md, "What must always hold", 4)."""

from decimal import Decimal

from cosched.core.settings import Scheme
from tests.sim.core.replays import Replay

LOAD_END = 20_000


def under_load(**settings: object) -> Replay:
    """A pair of whole machines that yield. A gets free for an instant at 100, 200, ..., and B at 150, 250, ..."""
    a = {"a1": (5, 9, 10), "x": (0, 100, 10), **{f"x{i}": (10, 100, 10) for i in range(LOAD_END // 100)}}
    b = {"b1": (5, 9, 10), "y": (0, 150, 10), **{f"y{i}": (10, 100, 10) for i in range(LOAD_END // 100)}}
    return Replay(a, b, [("a1", "b1")], scheme=Scheme.YIELD, **settings)


def test_two_large_jobs_yield_past_each_other_as_long_as_the_load_lasts():
    """ "Under an endless load two large jobs can yield past each other for ever, since no reservation survives a
    yield" """
    run = under_load()
    assert run.start("a1") == run.start("b1") > LOAD_END
    assert run.job("a1").yields == LOAD_END // 100 + 1


def test_the_yield_limit_with_a_cap_above_their_size_bounds_it():
    """ "A yield limit together with a cap above the size of the job bounds it" """
    run = under_load(max_yields=3)
    assert run.start("a1") == run.start("b1") == 450
    assert run.times("a1", "yields") == [100, 200, 300]
    assert run.times("a1", "holds") == [400]


def test_the_yield_limit_with_a_smaller_cap_does_not():
    """ "and a job larger than the cap can never hold" """
    run = under_load(max_yields=3, max_held_fraction=Decimal("0.9"))
    assert run.start("a1") > LOAD_END
    assert run.times("a1", "holds") == []
