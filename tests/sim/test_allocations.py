"""Jobs that are resized, or stopped and started again: when they end, and what is noted of it."""

from fractions import Fraction

import pytest

from cosched.core.allocation import Allocation
from cosched.core.scheduling.primitives.tables import NEVER
from cosched_sim.workload.allocations import AllocationEnd, Runs

COMPLETED, RESIZED, REQUEUED, LASTS, _STOPPED = AllocationEnd


class Machine:
    """Runs of jobs whose speed is in proportion to their nodes, of which they want 4."""

    def __init__(self) -> None:
        self.runs = Runs()

    def give(self, row: int, nodes: int, now: int, cost: int = 0) -> None:
        self.runs.go_on(row, 100, Allocation(nodes, now, NEVER, Fraction(nodes, 4), now + cost), now)

    def ends(self) -> list[tuple[int, int]]:
        found = []
        while (now := self.runs.next_end) < NEVER:
            found.append((now, self.runs.complete(now)))
        return found

    def noted(self, now: int) -> list[tuple[int, ...]]:
        return [row[:-2] for row in self.runs.allocations(now).rows()]


def test_a_job_on_fewer_nodes_takes_longer():
    machine = Machine()
    machine.give(0, 4, now=0)
    machine.give(0, 2, now=10)
    machine.give(0, 4, now=70)
    assert machine.ends() == [(130, 0)]
    assert machine.noted(200) == [(0, 1, 4, 0, 10, RESIZED), (0, 2, 2, 10, 70, RESIZED), (0, 3, 4, 70, 130, COMPLETED)]


def test_a_resize_may_cost_time_and_only_the_end_is_rounded():
    machine = Machine()
    machine.give(0, 4, now=0)
    machine.give(0, 2, now=10, cost=7)
    machine.give(0, 4, now=60, cost=7)
    assert machine.ends() == [(136, 0)]  # 68.5 s are left at 60


def test_a_resize_before_the_cost_of_the_last_one_is_paid_undoes_nothing():
    machine = Machine()
    machine.give(0, 4, now=0)
    machine.give(0, 2, now=10, cost=7)
    machine.give(0, 4, now=12, cost=7)
    assert machine.ends() == [(19 + 90, 0)]


@pytest.mark.parametrize(("keeps_work", "end"), [(True, 170), (False, 200)])
def test_a_job_that_starts_again_ends_by_what_is_left_of_it(keeps_work, end):
    machine = Machine()
    machine.give(0, 4, now=0)
    machine.runs.requeue(0, 30, keeps_work=keeps_work)
    assert machine.runs.next_end == NEVER
    machine.give(0, 4, now=100)
    assert machine.ends() == [(end, 0)]
    assert machine.noted(200) == [(0, 1, 4, 0, 30, REQUEUED), (0, 2, 4, 100, end, COMPLETED)]


def test_a_job_has_no_size_for_no_time():
    machine = Machine()
    machine.give(0, 1, now=0)
    machine.give(0, 4, now=0)
    machine.give(1, 4, now=5)
    machine.give(1, 4, now=6)
    assert machine.noted(7) == [(0, 1, 4, 0, 7, LASTS), (1, 1, 4, 5, 7, LASTS)]
    assert machine.ends() == [(100, 0), (105, 1)]
