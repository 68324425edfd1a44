"""One scheduling iteration (molding.md): the front of the queue, then jobs behind the first that has to wait."""

from __future__ import annotations

from collections.abc import Generator
from enum import StrEnum
from typing import NamedTuple

from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.molding.jobs import Molded
from cosched.core.scheduling.molding.machine import Machine, Place
from cosched.core.scheduling.molding.sizing import Traditional


class By(StrEnum):
    """How the size of a job came about."""

    TARGET = "target"  # it was the first job, and its target was free
    NOW = "now"  # it was the first job, and ends sooner on all free nodes than on its target later
    BEHIND = "behind"  # it was behind the first job, which waits
    CHOSEN = "chosen"  # it chose by itself when it was submitted


class Choice(NamedTuple):
    """A job can have so many nodes now, by figure 2's modifier. If it holds them until `hold_limit` or less, it delays
    no reserved job.
    """

    job: Molded
    nodes: int
    by: By
    modifier: float
    hold_limit: int = FOREVER


Choices = Generator[Choice, int | None, None]  # told: until when the job has its nodes; None: it was passed over


def turns(machine: Machine, rule: Traditional) -> Choices:
    """Yield the jobs that can start, one after the other, and be told what has come of each."""
    for position, first in enumerate(machine.turns):
        modifier, target = rule.target(machine, first)
        place = machine.first_place(target) if target <= machine.free else rule.place(machine, first, target)
        if place.nodes > machine.free:
            yield from _behind(machine, rule, modifier, place, position + 1)
            return
        by = By.TARGET if place.nodes == target else By.NOW
        until = yield Choice(first, place.nodes, by, modifier)
        if until is not None:
            machine.take(first, place.nodes, until)


def _behind(machine: Machine, rule: Traditional, modifier: float, reserved: Place, position: int) -> Choices:
    """EASY backfilling: what starts ends before the reserved job starts, or leaves it its nodes."""
    extra = reserved.extra
    for job in machine.turns[position:]:
        nodes = rule.behind(job, modifier, machine.free)
        in_extra = nodes <= extra
        if nodes > machine.free or not (in_extra or machine.now + job.time(nodes) <= reserved.start):
            continue
        forever = in_extra or reserved.start == FOREVER
        hold_limit = FOREVER if forever else reserved.start - job.time(nodes)
        until = yield Choice(job, nodes, By.BEHIND, modifier, hold_limit)
        if until is not None:
            machine.take(job, nodes, until)
            extra -= nodes if until > reserved.start else 0


def after(choices: Choices, until: int | None) -> Choice | None:
    """Return the choice that follows this answer (the first: None); None: the iteration is over."""
    try:
        return choices.send(until)
    except StopIteration:
        return None


def choice_of(machine: Machine, rule: Traditional, job: JobId) -> Choice | None:
    """Go through an iteration until it is this job's turn, and start those before it; None: it has none."""
    choices = turns(machine, rule)
    choice = after(choices, None)
    while choice is not None and choice.job.id != job:
        choice = after(choices, machine.now + choice.job.time(choice.nodes))
    return choice
