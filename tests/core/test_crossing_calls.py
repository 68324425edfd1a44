"""Crossing calls (coscheduling.md): two mates ready at one moment ask each other, in every order of delivery."""

import copy

import pytest

from cosched.core.job import JobState
from cosched.core.settings import Scheme
from tests.tiers import soaked

from .crossing import Crossing


def every_end(start: Crossing) -> list[Crossing]:
    """What comes of every order of events."""
    ends, seen, open_ = [], set(), [start]
    while open_:
        world = open_.pop()
        if not world.pending:
            ends.append(world)
        for index in range(len(world.pending)):
            after = copy.deepcopy(world)
            after.deliver(index)
            if after.key() not in seen:
                seen.add(after.key())
                open_.append(after)
    return ends


SCHEMES = [(a, b) for a in (Scheme.HOLD, Scheme.YIELD) for b in (Scheme.HOLD, Scheme.YIELD)]


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 2), ids="-".join)
def test_crossing_calls_start_both_exactly_once(schemes):
    """ "So crossing calls start both jobs exactly once, without locks and without waiting." """
    ends = every_end(Crossing(dict(zip("AB", schemes, strict=True)), fits_when_tried=True))
    assert len(ends) > 1
    for world in ends:
        assert sorted(world.starts) == ["a1", "b1"]
        assert {world.state(name) for name in "AB"} == {JobState.RUNNING}


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 2), ids="-".join)
def test_no_order_leaves_half_a_pair(schemes):
    """A job that is tried while it is queued has no nodes: it starts only while it is ready or holds."""
    for world in every_end(Crossing(dict(zip("AB", schemes, strict=True)), fits_when_tried=False)):
        assert sorted(world.starts) in ([], ["a1", "b1"])
        if Scheme.YIELD not in schemes:
            assert sorted(world.starts) == ["a1", "b1"]
