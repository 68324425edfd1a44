"""How long a job runs on how many nodes, which sizes it can have, and when it has its turn (molding.md, Jobs)."""

from __future__ import annotations

import numpy as np

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.molding.kernels.state import NEVER, QUEUE, TURNS, Molds
from cosched_papers.molding.kernels.times import MEDIUM, SHORT

AGED = 5  # times as long as it runs
LEVELS = 3


@kernel
def simple_time(ideal: int, run: int, nodes: int) -> int:
    """Return the run time of a job that runs for `run` s on `ideal` nodes: its speed-up is linear between three sizes.

    It is 0.4 ideal on half of `ideal`, 0.65 ideal on `ideal`, and 0.8 ideal on twice as many.
    """
    work = 13 * ideal * run
    speed = 3 * ideal + 10 * nodes if nodes <= ideal else 10 * ideal + 3 * nodes
    return max(1, (2 * work + speed) // (2 * speed))


@kernel
def downey_speed_up(a: float, sigma: float, nodes: float) -> float:
    """Return how much faster a job with this curve of Downey's is on so many nodes than on one."""
    if sigma > 1:
        return nodes * a * (sigma + 1) / (sigma * (nodes + a - 1) + a) if nodes <= a + a * sigma - sigma else a
    if nodes <= a:
        return a * nodes / (a + sigma * (nodes - 1) / 2)
    return a * nodes / (sigma * (a - 0.5) + nodes * (1 - sigma / 2)) if nodes <= 2 * a - 1 else a


@kernel
def time_on(f: Molds, row: int, nodes: int) -> int:
    """Return for how many seconds a job runs on so many nodes: T(n)."""
    job = f.jobs[row]
    if job.times == NONE or nodes == job.ideal:
        return simple_time(job.ideal, job.requested, nodes)
    return f.times[job.times + nodes - 1]


@kernel
def smallest(f: Molds, row: int) -> int:
    """Return the least size that a job can be given now."""
    return max(f.jobs[row].least, f.jobs[row].guaranteed)


@kernel
def size_of(f: Molds, row: int, modifier: float) -> int:
    """Return N_opt times the modifier, within the bounds."""
    job = f.jobs[row]
    wanted = np.floor(modifier * job.ideal + 0.5)
    return job.most if wanted >= job.most else min(max(np.int64(wanted), smallest(f, row)), job.most)


@kernel
def level(f: Molds, row: int, now: int) -> int:
    """Return which jobs come before it: lower ones do. Those that have waited long move up, once."""
    asked = f.jobs[row].requested
    return (asked >= SHORT) + (asked >= MEDIUM) - (now >= ages_at(f, row))


@kernel
def ages_at(f: Molds, row: int) -> int:
    """Return from when on a job has waited long; NEVER: it is short, nobody comes before it."""
    job = f.jobs[row]
    return job.submit + AGED * job.requested if job.requested >= SHORT else NEVER


@shared_kernel
def sort(f: Molds, world: int) -> None:
    """All that are queued have their turn: by level, then by submission."""
    machine, lists = f.machine[world], f.lists[world]
    turns = 0
    for each in range(LEVELS):
        for i in range(machine.queued):
            if level(f, lists[QUEUE, i], machine.now) == each:
                lists[TURNS, turns] = lists[QUEUE, i]
                turns += 1
    machine.turns = turns
