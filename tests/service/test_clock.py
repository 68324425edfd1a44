"""Service time against a wall clock that is set while the service runs."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.core.protocol import FOREVER
from cosched.service.clock import Clock, boottime


class Host:
    """A host whose clocks go as told."""

    def __init__(self) -> None:
        self.wall = 1_700_000_000.25
        self.steady = 1000.5

    def clock(self, shift: int = 0) -> Clock:
        return Clock(shift, wall=lambda: self.wall, steady=lambda: self.steady)

    def passes(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


HOUR = st.floats(-3600, 3600)
HISTORY = st.lists(st.tuples(st.floats(0, 100), HOUR, st.booleans()), max_size=30)


@given(HISTORY)
def test_steps_of_the_wall_clock_never_move_service_time(history: list[tuple[float, float, bool]]) -> None:
    host = Host()
    clock = host.clock()
    began, before = clock.exact(), clock.now()
    elapsed = 0.0
    for passing, step, looks in history:
        host.passes(passing)
        elapsed += passing
        host.wall += step
        if looks:
            clock.look()
        assert clock.now() >= before
        assert clock.exact() == pytest.approx(began + elapsed, abs=0.001)
        before = clock.now()


@given(HISTORY)
def test_after_a_look_service_time_and_shift_give_the_wall_clock(history: list[tuple[float, float, bool]]) -> None:
    host = Host()
    clock = host.clock()
    for passing, step, _ in history:
        host.passes(passing)
        host.wall += step
        shift = clock.shift
        assert clock.look() == clock.shift - shift
        assert abs(clock.exact() + clock.shift - host.wall) < 1
        assert clock.look() == 0


@given(st.integers(-(10**9), 10**9), st.floats(0, 10**6))
def test_the_next_run_goes_on_from_the_shift_of_the_last(step: int, pause: float) -> None:
    host = Host()
    first = host.clock()
    host.wall += step
    first.look()
    host.passes(pause)
    second = host.clock(first.shift)
    assert second.exact() == pytest.approx(first.exact(), abs=0.001)
    assert second.look() == 0


def test_less_than_a_second_is_no_step() -> None:
    host = Host()
    clock = host.clock()
    host.wall += 0.9
    assert (clock.look(), clock.shift) == (0, 0)
    host.wall += 0.2
    assert (clock.look(), clock.shift) == (1, 1)


def test_instants_are_shown_and_read_with_the_shift() -> None:
    host = Host()
    clock = host.clock()
    host.wall -= 3600
    assert clock.look() == -3600
    assert clock.to_wall(1_700_000_000) == 1_699_996_400
    assert clock.from_wall(1_699_996_400) == 1_700_000_000


@pytest.mark.parametrize("shift", [-3600, 0, 3600])
def test_no_instant_and_never_have_no_shift(shift: int) -> None:
    clock = Host().clock(shift)
    for instant in (0, FOREVER):
        assert clock.to_wall(instant) == clock.from_wall(instant) == instant
    assert Host().clock(3600).from_wall(5) == 1, "an instant near 1970 does not become none"


def test_a_pause_between_two_readings_is_no_step() -> None:
    host = Host()
    pauses = [0.0, 7.0]

    def wall() -> float:
        host.passes(pauses.pop() if pauses else 0.0)
        return host.wall

    clock = Clock(wall=wall, steady=lambda: host.steady)
    pauses.append(9.0)
    assert clock.look() == 0


def test_the_clocks_of_this_host() -> None:
    clock = Clock()
    assert clock.look() == 0
    before = time.time()
    assert before - 1 < clock.exact() < time.time() + 1
    assert clock.now() <= clock.exact()
    assert boottime() <= boottime()
