"""How far a peer's clock is ahead, by comparisons over a network whose delays nobody knows."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.service.peers.clock_offset import DRIFT, KEPT, MAX_AGE, ClockOffset, Offset, compare

TICK = 2.0**-20  # seconds; sums of readings that are whole ticks are exact
WALL, OFFSET = 1_800_000_000.0, 1234.5


def ticks(most: float, least: float = 0.0) -> st.SearchStrategy[float]:
    return st.integers(round(least / TICK), round(most / TICK)).map(lambda count: count * TICK)


delays = st.tuples(ticks(2.0), ticks(0.5), ticks(2.0))  # there, at the peer, back
short_delays = st.tuples(ticks(0.25), ticks(0.5), ticks(0.25))


class Clocks:
    """Ours and a peer's, which the test moves on; `drift`: the peer's in a second of ours."""

    def __init__(self, ahead: float, drift: float = 0.0) -> None:
        self.time, self.wall, self.ahead, self.drift = 0.0, WALL, ahead, drift
        self.offset = ClockOffset(lambda: self.wall + self.time, lambda: self.time)

    @property
    def true(self) -> float:
        return self.ahead + self.drift * self.time

    def peer(self) -> float:
        return WALL + self.time + self.true

    def compare(self, there: float, inside: float, back: float) -> None:
        asked = self.time
        self.time += there
        received = self.peer()
        self.time += inside
        answered = self.peer()
        self.time += back
        self.offset.add(asked, received, answered)

    def known(self) -> Offset:
        return self.offset.now


@given(st.lists(delays, min_size=1, max_size=12), ticks(10_000, -10_000), ticks(10, 0))
def test_the_true_offset_is_within_the_uncertainty_whatever_the_delays(comparisons, ahead, later):
    clocks = Clocks(ahead)
    for delay in comparisons:
        clocks.compare(*delay)
        known = clocks.known()
        assert abs(known.ahead - ahead) <= known.uncertainty
    clocks.time += later
    known = clocks.known()
    assert abs(known.ahead - ahead) <= known.uncertainty


@given(st.lists(st.tuples(delays, ticks(30)), min_size=1, max_size=12), st.floats(-0.9 * DRIFT, 0.9 * DRIFT))
def test_it_is_so_too_if_the_clocks_drift_apart(comparisons, drift):
    clocks = Clocks(OFFSET, drift)
    for delay, pause in comparisons:
        clocks.compare(*delay)
        clocks.time += pause
        known = clocks.known()
        assert abs(known.ahead - clocks.true) <= known.uncertainty + 1e-6  # what floats of this size round by


@given(delays, ticks(10_000, -10_000))
def test_one_comparison_is_reckoned_as_in_rfc_5905(delay, ahead):
    there, inside, back = delay
    asked, received = 100.0, 100.0 + there + ahead
    found = compare(asked, received, received + inside, asked + there + inside + back)
    assert (found.ahead, found.half_trip) == (ahead + (there - back) / 2, (there + back) / 2)


def test_the_comparison_with_the_smallest_round_trip_counts():
    clocks = Clocks(OFFSET)
    for delay in (0.5, 0.03125, 0.25):
        clocks.compare(delay, 0.0, 0.0)
    assert clocks.known().ahead == OFFSET + 0.03125 / 2
    assert clocks.known().uncertainty == pytest.approx(0.03125 / 2, rel=0.01)


def test_the_uncertainty_grows_until_there_is_a_better_comparison():
    clocks = Clocks(OFFSET)
    clocks.compare(TICK, 0.0, TICK)
    grown = []
    for _ in range(3):
        clocks.time += 10
        grown.append(clocks.known().uncertainty)
    assert [b - a for a, b in pairwise(grown)] == pytest.approx([10 * DRIFT] * 2)
    clocks.compare(10 * TICK, 0.0, 10 * TICK)
    assert clocks.known().uncertainty < grown[0]


def test_only_the_last_comparisons_count():
    clocks = Clocks(OFFSET)
    clocks.compare(0.0, 0.0, 0.0)
    for _ in range(KEPT):
        assert clocks.known().ahead == OFFSET
        clocks.compare(0.25, 0.0, 0.0)
    assert clocks.known().ahead == OFFSET + 0.125


def test_nothing_is_known_before_the_first_comparison_nor_when_it_is_too_old():
    clocks = Clocks(OFFSET)
    assert clocks.offset.now is None
    clocks.compare(0.0, 0.0, 0.0)
    clocks.time += MAX_AGE
    assert clocks.known().ahead == OFFSET
    clocks.time += TICK
    assert clocks.offset.now is None


@given(ticks(5000, -5000))
def test_a_step_of_our_clock_is_seen_at_once(step):
    clocks = Clocks(OFFSET)
    clocks.compare(0.25, 0.0, 0.25)
    clocks.wall += step
    known = clocks.known()
    assert abs(known.ahead - (OFFSET - step)) <= known.uncertainty


def test_a_step_of_our_clock_while_a_peer_is_asked_spoils_nothing():
    clocks = Clocks(OFFSET)
    asked = clocks.time
    clocks.wall += 3600
    clocks.time += 0.25
    clocks.offset.add(asked, clocks.peer(), clocks.peer())
    assert abs(clocks.known().ahead - (OFFSET - 3600)) <= clocks.known().uncertainty


@given(ticks(5000, 1) | ticks(-1, -5000), short_delays)
def test_after_a_step_of_the_peer_s_clock_what_was_known_before_is_forgotten(step, delay):
    clocks = Clocks(OFFSET)
    for _ in range(KEPT):
        clocks.compare(TICK, 0.0, TICK)
    clocks.ahead += step
    clocks.compare(*delay)
    known = clocks.known()
    assert abs(known.ahead - clocks.true) <= known.uncertainty


@pytest.mark.parametrize("answered", [99.0, 102.0])
def test_a_peer_whose_clock_was_set_while_it_answered_is_not_believed(answered):
    clocks = Clocks(OFFSET)
    clocks.time = 1.0
    clocks.offset.add(0.0, 100.0, answered)
    assert clocks.offset.now is None


def test_a_pause_between_the_readings_of_our_clocks_is_part_of_the_uncertainty():
    steady = iter([0.0, 0.0, 1.0])
    offset = ClockOffset(lambda: 50.0, lambda: next(steady))
    offset.add(0.0, 70.0, 70.0)
    assert offset.now == (pytest.approx(20.5), pytest.approx(0.5 + DRIFT))
