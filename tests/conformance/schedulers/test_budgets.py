"""What an event costs: with twice the jobs in the queue at most 2.5 times as many instructions, for each kind.

Instructions are counted, and not time: so this does not depend on the machine. A call of compiled code is one, whatever
that does: these tests are about what is left in Python, which is a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from cosched.core.job import JobState
from cosched.core.scheduling.heterogeneous.jobs import Classed, Priority
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler
from tests.conformance.schedulers.kinds import HETEROGENEOUS_SETTINGS, NODES, SCHEDULERS, of_size
from tests.instructions import instructions

QUEUED = 64  # jobs, or twice as many
BUDGET = 2.5
ALIKE = ("batch-easy-part", "batch-cons", "batch-none", "fluid-")  # settings of kernels alone: one of each will do
KINDS = [name for name in SCHEDULERS if not name.startswith(ALIKE)] + ["fluid-even", "fluid-even-slots"]
URGENT = [name for kind in HETEROGENEOUS_SETTINGS if (name := f"heterogeneous-{kind}") in SCHEDULERS]

Event = Callable[[OpenScheduler], object]


def job(scheduler: OpenScheduler, number: int, nodes: int, priority: Priority = Priority.LOW) -> ClusterJob:
    says, nodes = of_size(type(scheduler).__name__.lower(), nodes), scheduler.rounded(nodes)
    if isinstance(says, Classed):
        says = Classed(says.job_class, priority)
    requested = 10 if number % 2 else 1000
    return ClusterJob(str(number), nodes, requested, 0, paired=number % 3 == 0, columns=says)


def iterate(scheduler: OpenScheduler, now: int) -> None:
    """Start what is ready."""
    scheduler.enter(now)
    while (turn := scheduler.next(now)) is not None:
        scheduler.start(turn.job, now)


def crowded(name: str, queued: int) -> OpenScheduler:
    """One job on the whole machine, and so many in the queue."""
    scheduler = SCHEDULERS[name]()
    scheduler.enter(0)
    scheduler.submit(job(scheduler, 1, NODES))
    iterate(scheduler, 0)
    for number in range(2, queued + 2):
        scheduler.submit(job(scheduler, number, (1, 2, 4, 8)[number % 4]))
    iterate(scheduler, 0)
    scheduler.enter(1)
    return scheduler


EVENTS: Mapping[str, Event] = {
    "a submission": lambda scheduler: scheduler.submit(job(scheduler, 10_000, 2)),
    "a try of a mate": lambda scheduler: scheduler.try_start("40", 1, 100),
    "a proposal to a member": lambda scheduler: scheduler.try_ready("45", 1) and scheduler.reschedule(),
    "a cancellation": lambda scheduler: scheduler.leave("50", 1, JobState.CANCELLED),
    "a look at the queue": lambda scheduler: (scheduler.in_order(1), scheduler.used()),
    "an end": lambda scheduler: scheduler.leave("1", 1, JobState.COMPLETED),
}


def check(name: str, events: Mapping[str, Event]) -> None:
    """Each event, and the iterations that follow, is within its budget."""

    def counted(queued: int) -> dict[str, int]:
        scheduler = crowded(name, queued)
        return {
            what: instructions(lambda act=act: (act(scheduler), iterate(scheduler, 1)))  # type: ignore[misc]
            for what, act in events.items()
        }

    counted(QUEUED)  # what is called once, such as the loading of kernels, belongs to no event
    few, many = counted(QUEUED), counted(2 * QUEUED)
    assert {what: (few[what], many[what]) for what in few if many[what] > BUDGET * few[what]} == {}


@pytest.mark.parametrize("name", KINDS)
def test_twice_the_jobs_cost_in_proportion(name):
    check(name, EVENTS)


@pytest.mark.parametrize("name", URGENT)
def test_a_job_of_high_priority_costs_in_proportion_to_those_of_low_priority(name):
    urgent = {"an urgent one": lambda scheduler: scheduler.submit(job(scheduler, 10_001, 2, Priority.HIGH))}
    check(name, urgent)
