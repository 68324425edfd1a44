"""Shares that end as early as possible (Dail et al. 2002, IV.A): by hand, against HiGHS, and against all whole maps."""

import random
from itertools import product

import numpy as np
import pytest

from cosched.planning.balancing import Load, in_proportion, least_time, shared


def by_highs(loads: list[Load], units: int) -> float:
    """IV.A: "We frame work-allocation constraints as a constrained optimization problem". T is the last variable."""
    from scipy.optimize import linprog  # the service needs no SciPy, and is tested where there is none

    bounds = [(1, load.most) for load in loads] + [(None, None)]
    ends = np.hstack([np.diag([load.unit for load in loads]), -np.ones((len(loads), 1))])
    whole = [[1.0] * len(loads) + [0.0]]
    found = linprog(
        [0.0] * len(loads) + [1.0], ends, [-load.fixed for load in loads], whole, [units], bounds, method="highs"
    )
    assert found.status == 0
    return float(found.fun)


def ends_at(loads: list[Load], shares: list[int]) -> float:
    return max(load.time(share) for load, share in zip(loads, shares, strict=True))


def drawn(draw: random.Random, machines: int, most: int) -> tuple[list[Load], int]:
    loads = [
        Load(draw.choice((0.5, 1, 1, 2, draw.uniform(0.1, 3))), draw.choice((0, 0, 1, draw.uniform(0, 30))),
             draw.randint(1, most))
        for _ in range(machines)
    ]  # fmt: skip
    return loads, draw.randint(machines, sum(load.most for load in loads))


@pytest.mark.sim
def test_the_closed_form_is_the_optimum_of_highs():
    draw = random.Random(5)
    for _ in range(300):
        loads, units = drawn(draw, draw.randint(1, 12), draw.choice((3, 50, 4000)))
        assert least_time(loads, units) == pytest.approx(by_highs(loads, units), rel=1e-6)


def test_no_whole_map_is_better():
    draw = random.Random(6)
    for _ in range(300):
        loads, units = drawn(draw, draw.randint(1, 4), 6)
        whole = product(*(range(1, load.most + 1) for load in loads))
        best = min(ends_at(loads, shares) for shares in whole if sum(shares) == units)
        found = shared(loads, units)
        assert sum(found) == units
        assert all(1 <= share <= load.most for share, load in zip(found, loads, strict=True))
        assert ends_at(loads, found) == best >= least_time(loads, units) * (1 - 1e-12)


def test_what_can_be_done_within_a_time_is_what_ends_within_it():
    draw = random.Random(7)
    for _ in range(2000):
        load = Load(draw.choice((0.1, 0.3, draw.random())), draw.choice((0.0, 0.7, 100.1)), draw.randint(1, 1000))
        units = draw.randint(1, load.most)
        assert load.within(load.time(units)) == units
        assert load.within(np.nextafter(load.time(units), 0)) == units - 1


SLOW, FAST, SMALL = Load(2, 0, 99), Load(1, 0, 99), Load(1, 0, 4)


@pytest.mark.parametrize(
    ("loads", "units", "shares", "time"),
    [
        ([FAST, SLOW], 9, [6, 3], 6), ([FAST, SLOW], 10, [7, 3], 7), ([SMALL, SLOW], 9, [4, 5], 10),
        ([FAST, Load(1, 4, 99)], 10, [7, 3], 7), ([FAST, Load(1, 20, 99)], 10, [9, 1], 21),
    ],
)  # fmt: skip
def test_cases_by_hand(loads, units, shares, time):
    assert shared(loads, units) == shares
    assert ends_at(loads, shares) == time


def test_proportions_are_whole_and_at_least_one_each():
    assert in_proportion(10, [1, 1, 1]) == [4, 3, 3]
    assert in_proportion(10, [1, 2, 7]) == [1, 2, 7]
    assert in_proportion(3, [1000, 1, 1]) == [1, 1, 1]
    draw = random.Random(8)
    for _ in range(500):
        weights = [draw.randint(1, 100) for _ in range(draw.randint(1, 8))]
        units = draw.randint(len(weights), 60)
        shares = in_proportion(units, weights)
        assert (sum(shares), min(shares) >= 1) == (units, True)
        exact = [units * weight / sum(weights) for weight in weights]
        assert all(abs(share - wish) < 1 or wish < 1 or share < wish for share, wish in zip(shares, exact, strict=True))
