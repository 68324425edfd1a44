"""Blocks, and independent tasks: the two other users of the protocols."""

import math
from itertools import combinations

import pytest

from cosched.planning.application import Box, NoMapError
from cosched.planning.blocks import BLOCKS, borders
from cosched.planning.loading import applications
from cosched.planning.master_worker import MASTER_WORKER
from cosched.planning.search import Search
from cosched.planning.sites import by_name
from tests.planning.testbeds import drawn, grid, paper


def made(application, machines, size, **settings):
    return application.make(size, application.keys(**settings), machines, by_name(machines))


def touching(one: Box, other: Box) -> int:
    """Elements of a border by looking at every element."""
    cells = {(row, column) for row in range(one.top, one.top + one.height)
             for column in range(one.left, one.left + one.width)}  # fmt: skip
    return sum(
        (row + down, column + right) in cells
        for row in range(other.top, other.top + other.height)
        for column in range(other.left, other.left + other.width)
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1))
    )


def test_blocks_cover_the_grid_once_and_have_the_borders_that_are_counted():
    tried = 0
    for seed in range(30):
        machines = drawn(seed, 7, 3, 24)
        _, mapper = made(BLOCKS, machines, 24)
        try:
            found = mapper.map(machines.machines)
        except NoMapError:
            continue
        tried += 1
        cells = [(row, column) for box in found.boxes for row in range(box.top, box.top + box.height)
                 for column in range(box.left, box.left + box.width)]  # fmt: skip
        assert len(cells) == len(set(cells)) == 24 * 24
        assert found.shares == tuple(box.height * box.width for box in found.boxes)
        expected = {
            (one, other): common
            for one, other in combinations(range(len(found.boxes)), 2)
            if (common := touching(found.boxes[one], found.boxes[other]))
        }
        assert {(one, other): common for one, other, common in borders(found.boxes)} == expected
    assert tried > 5


def test_four_equal_machines_have_a_quarter_each():
    """A block of 50 x 50: 2 borders of 50 elements of 8 bytes, there and back over 64 Mb/s: 2 x 2 x 50 us."""
    names = "abcd"
    machines = grid([(name, 100, 100) for name in names], [(a, b, 64, 0.0) for a, b in combinations(names, 2)])
    model, mapper = made(BLOCKS, machines, 100, cycles=40)
    found = mapper.map(machines.machines)
    assert found.boxes == (Box(0, 0, 50, 50), Box(50, 0, 50, 50), Box(0, 50, 50, 50), Box(50, 50, 50, 50))
    assert model.predict(found).costs[0] == pytest.approx((0.001, 0.0002))


def test_tasks_follow_speed_and_links():
    """1 s of computing a task on each; the worker also spends 1 s on its data, so it gets half as many."""
    machines = grid([("master", 1000, 100), ("worker", 1000, 100)], [("master", "worker", 16, 0.0)])
    model, mapper = made(MASTER_WORKER, machines, 9)
    found = mapper.map(machines.machines)
    assert found.shares == (6, 3)
    assert model.predict(found).time == pytest.approx(6)
    assert model.predict(found).costs[1] == pytest.approx((3, 3))


def test_a_worker_that_cannot_be_reached_takes_no_part():
    machines = grid([("master", 1000, 100), ("worker", 1000, 100), ("small", 1000, 1)])
    assert made(MASTER_WORKER, machines, 9)[1].map(machines.machines).shares == (9,)


@pytest.mark.parametrize("application", [BLOCKS, MASTER_WORKER])
def test_what_is_left_out_of_a_search_is_not_better(application):
    """Against a mapper that leaves out nothing."""
    for seed in range(25):
        machines = drawn(seed, 8, 3, 24)
        sites = by_name(machines)
        model, mapper = made(application, machines, 24)

        class Patient:
            map = mapper.map

            def promising(self, _order, sizes, _limit):
                return list(sizes)

        search = Search(machines.machines, sites)
        found, expected = search.best(model, mapper), search.best(model, Patient())
        assert (found and (found.map, found.metric)) == (expected and (expected.map, expected.metric))


def test_even_shares_are_in_the_order_given():
    machines = paper()
    for name, application in applications().items():
        model, mapper = made(application, machines, 1000)
        found = mapper.even(machines.machines[:7])
        assert found.machines == machines.machines[:7]
        whole = sum(found.shares)
        assert all(abs(share - whole / 7) <= 0.02 * whole for share in found.shares), name
        assert 0 < model.predict(found).time < math.inf
