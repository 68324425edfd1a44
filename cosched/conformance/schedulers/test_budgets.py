"""What an event costs: with twice the jobs in the queue at most 2.5 times as many instructions.

Instructions are counted, and not time: so this does not depend on the machine. A call of compiled code is one, whatever
that does: these tests are about what is left in Python, which is a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from cosched.conformance.instructions import instructions
from cosched.conformance.schedulers.subject import NODES, Subject
from cosched.core.job import JobState
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler

QUEUED = 64  # jobs, or twice as many
BUDGET = 2.5

Event = Callable[[OpenScheduler], object]


def job(subject: Subject, scheduler: OpenScheduler, number: int, nodes: int) -> ClusterJob:
    """Return a job that may have a mate, of at least so many nodes."""
    says, nodes = subject.of_size(nodes), scheduler.rounded(nodes)
    return ClusterJob(str(number), nodes, 10 if number % 2 else 1000, 0, paired=number % 3 == 0, columns=says)


def iterate(scheduler: OpenScheduler, now: int) -> None:
    """Start what is ready."""
    scheduler.enter(now)
    while (turn := scheduler.next(now)) is not None:
        scheduler.start(turn.job, now)


def crowded(subject: Subject, queued: int) -> OpenScheduler:
    """Return a scheduler with one job on the whole machine, and so many in the queue."""
    scheduler = subject.open()
    scheduler.enter(0)
    scheduler.submit(job(subject, scheduler, 1, NODES))
    iterate(scheduler, 0)
    for number in range(2, queued + 2):
        scheduler.submit(job(subject, scheduler, number, (1, 2, 4, 8)[number % 4]))
    iterate(scheduler, 0)
    scheduler.enter(1)
    return scheduler


EVENTS: Mapping[str, Event] = {
    "a try of a mate": lambda scheduler: scheduler.try_start("40", 1, 100),
    "a proposal to a member": lambda scheduler: scheduler.try_ready("45", 1) and scheduler.reschedule(),
    "a cancellation": lambda scheduler: scheduler.leave("50", 1, JobState.CANCELLED),
    "a look at the queue": lambda scheduler: (scheduler.in_order(1), scheduler.used()),
    "an end": lambda scheduler: scheduler.leave("1", 1, JobState.COMPLETED),
}


def _act_and_iterate(act: Event, scheduler: OpenScheduler) -> None:
    act(scheduler)
    iterate(scheduler, 1)


def check(subject: Subject, events: Mapping[str, Event]) -> None:
    """Fail if an event, with the iterations that follow, costs more than its budget."""

    def counted(queued: int) -> dict[str, int]:
        scheduler = crowded(subject, queued)
        return {what: instructions(partial(_act_and_iterate, act, scheduler)) for what, act in events.items()}

    counted(QUEUED)  # what is called once, such as the loading of kernels, belongs to no event
    few, many = counted(QUEUED), counted(2 * QUEUED)
    assert {what: (few[what], many[what]) for what in few if many[what] > BUDGET * few[what]} == {}


def test_twice_the_jobs_cost_in_proportion(subject: Subject) -> None:
    submission = {"a submission": lambda scheduler: scheduler.submit(job(subject, scheduler, 10_000, 2))}
    check(subject, submission | dict(EVENTS))
