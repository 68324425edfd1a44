"""Cirne and Berman: a job chooses its size when it is submitted, by the schedules to which its sizes lead."""

from __future__ import annotations

from copy import copy

from cosched.core.protocol import FOREVER
from cosched.core.scheduling.molding.iteration import choice_of
from cosched.core.scheduling.molding.jobs import Molded
from cosched.core.scheduling.molding.machine import Machine
from cosched.core.scheduling.molding.sizing import Traditional


def earliest_size(machine: Machine, job: Molded) -> int:
    """Return the size on which a job that is queued here would end first, the smaller one of two."""
    best, best_end = job.least, FOREVER
    for nodes in range(job.least, job.most + 1):
        tried = copy(job)
        tried.keep_to(nodes)
        queued = [tried if other is job else other for other in machine.queued]
        free = Machine(machine.nodes, machine.now, machine.free, [*machine.running], queued, ())
        end = _end(free, tried, tried.time(nodes), best_end)
        if end < best_end:
            best, best_end = nodes, end
    return best


def _end(machine: Machine, job: Molded, time: int, before: int) -> int:
    """Return when the job ends if no other is submitted; FOREVER: not before that instant."""
    while machine.now + time < before:
        ended = [running for running in machine.running if running.end <= machine.now]
        machine.running = [running for running in machine.running if running.end > machine.now]
        machine.free += sum(running.nodes for running in ended)
        machine.turns = sorted(machine.queued, key=lambda queued: queued.level(machine.now))
        if choice_of(machine, Traditional(), job.id) is not None:
            return machine.now + time
        machine.now = min((running.end for running in machine.running), default=FOREVER)
    return FOREVER
