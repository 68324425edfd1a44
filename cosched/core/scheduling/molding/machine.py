"""The nodes, the queue and the running jobs, as one iteration sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from cosched.core.protocol import FOREVER
from cosched.core.scheduling.molding.jobs import Molded


class Running(NamedTuple):
    """A job has so many nodes until `end`; FOREVER: nobody knows. `ideal` is its N_opt."""

    end: int
    nodes: int
    ideal: int


class Place(NamedTuple):
    """When a job can start, on how many nodes, and how many others are free then."""

    start: int
    nodes: int
    extra: int


@dataclass(slots=True)
class Machine:
    """A machine at one instant. `queued`: all jobs that wait; `turns`: those that have their turn, in order."""

    nodes: int
    now: int
    free: int
    running: list[Running]
    queued: list[Molded]
    turns: Sequence[Molded]
    guarantees: list[Molded] = field(default_factory=list)  # jobs whose guaranteed sizes have changed

    def take(self, job: Molded, nodes: int, end: int) -> None:
        """A job has its nodes."""
        self.free -= nodes
        self.queued.remove(job)
        self.running.append(Running(end, nodes, job.ideal))

    def guarantee(self, job: Molded, nodes: int) -> None:
        """The job will have so many nodes, or more."""
        if job.guaranteed != nodes:
            job.guaranteed = nodes
            self.guarantees.append(job)

    def releases(self) -> Iterator[tuple[int, int]]:
        """Yield the instants at which running jobs end, and how many nodes are free then.

        A job that is past its end ends now.
        """
        free, known = self.free, [job for job in self.running if job.end < FOREVER]
        ends = sorted((job._replace(end=max(job.end, self.now)) for job in known), key=attrgetter("end"))
        for instant, jobs in groupby(ends, attrgetter("end")):
            free += sum(job.nodes for job in jobs)
            yield instant, free

    def first_place(self, nodes: int) -> Place:
        """Return when so many nodes are free: EASY's shadow."""
        if nodes <= self.free:
            return Place(self.now, nodes, self.free - nodes)
        fitting = ((instant, free) for instant, free in self.releases() if free >= nodes)
        instant, free = next(fitting, (FOREVER, nodes))
        return Place(instant, nodes, free - nodes)
