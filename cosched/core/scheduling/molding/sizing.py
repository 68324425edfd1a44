"""The rules by which sizes are chosen (molding.md): the traditional one, SCOJO's, SCOJO-P's."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.protocol import FOREVER
from cosched.core.scheduling.molding.jobs import Molded
from cosched.core.scheduling.molding.machine import Machine, Place
from cosched.core.scheduling.molding.settings import MoldingSettings


class Traditional:
    """Every job has one size."""

    def target(self, machine: Machine, job: Molded) -> tuple[float, int]:  # noqa: ARG002
        """Return the modifier of all sizes, and the size that the first job should have."""
        return 1.0, job.size(1.0)

    def place(self, machine: Machine, job: Molded, target: int) -> Place:  # noqa: ARG002
        """Return when the first job starts, and on how many nodes, if its target is not free."""
        return machine.first_place(target)

    def behind(self, job: Molded, modifier: float, free: int) -> int:  # noqa: ARG002
        """Return the size of a job behind the first one, which can start on what is free."""
        return job.size(modifier)


class Scojo(Traditional):
    """All jobs are made larger or smaller by one factor, so that together they would just fit on the machine."""

    def target(self, machine: Machine, job: Molded) -> tuple[float, int]:
        """See Traditional."""
        needed = sum(running.ideal for running in machine.running) + sum(queued.ideal for queued in machine.queued)
        modifier = machine.nodes / needed
        return modifier, job.size(modifier)

    def behind(self, job: Molded, modifier: float, free: int) -> int:
        """See Traditional: short and medium jobs shrink to what is free."""
        nodes = job.size(modifier)
        return nodes if job.is_long else max(job.smallest, min(nodes, free))


@dataclass(frozen=True, slots=True)
class ScojoP(Traditional):
    """The load is estimated over the run time of the first job."""

    rules: MoldingSettings

    def target(self, machine: Machine, job: Molded) -> tuple[float, int]:
        """See Traditional: figure 2."""
        rules, ideal = self.rules, self.rules.ideal_load
        modifier, best, best_load, bad = 1.0, 1.0, float(FOREVER), 0
        while True:
            found = self.load(machine, job, modifier)
            if abs(found - ideal) < abs(best_load - ideal):
                best, best_load, bad = modifier, found, 0
            else:
                bad += 1
            if abs(found - ideal) <= rules.load_delta or bad == rules.max_bad:
                break
            previous, modifier = modifier, modifier * (ideal / found)
            if modifier == previous:
                break
        return best, job.size(best)

    def load(self, machine: Machine, job: Molded, modifier: float) -> float:
        """Return the mean load of a node while the job runs, if all that wait start now on modified sizes."""
        nodes = job.size(modifier)
        window = job.time(nodes)
        work = nodes * window
        for running in machine.running:
            work += min(max(running.end - machine.now, 0), window) * running.nodes
        for other in machine.queued:
            if other is not job:
                size = other.size(modifier)
                work += min(other.time(size), window) * size
        rules, future = self.rules, self.rules.future
        if future is None:
            return work / (machine.nodes * window)
        expected = future.work(machine.now, window, modifier, machine.nodes, rules.sizes)
        return (work + expected) / (machine.nodes * window)

    def place(self, machine: Machine, job: Molded, target: int) -> Place:
        """See Traditional: figure 3. If it starts later its size is guaranteed."""
        best, best_response = Place(FOREVER, target, 0), FOREVER
        if machine.free >= job.smallest:
            best, best_response = Place(machine.now, machine.free, 0), job.time(machine.free)
        for start, free in machine.releases():
            size = min(target, free)
            response = start - machine.now + job.time(size)
            if size >= job.smallest and response < best_response:
                best, best_response = Place(start, size, free - size), response
            if free >= target:
                break
        if machine.free < best.nodes and best.start < FOREVER:
            machine.guarantee(job, best.nodes)
        return best
