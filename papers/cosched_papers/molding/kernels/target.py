"""Which size the first job should have: by figure 2, or by SCOJO's one factor for all (molding.md, The target)."""

from __future__ import annotations

from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.molding.kernels.sizes import downey_speed_up, size_of, time_on
from cosched_papers.molding.kernels.state import (
    DELTA,
    IDEAL,
    LEAST,
    MOLDABLE,
    MOST,
    NEVER,
    NODES,
    QUEUE,
    RUN,
    RUN_END,
    RUN_NODES,
    RUN_ROW,
    SCOJO,
    SCOJO_P,
    SIGMA,
    WHOLE_DAY,
    A,
    Molds,
)
from cosched_papers.molding.kernels.times import DAY, HALF_HOUR, HALF_HOURS


@kernel
def modifier_of(f: Molds, world: int, first: int) -> float:
    """Return the modifier of all sizes, while this job is the first one."""
    sizing = f.machine[world].sizing
    if sizing == SCOJO_P:
        return figure_2(f, world, first)
    return _share(f, world) if sizing == SCOJO else 1.0


@kernel
def _share(f: Molds, world: int) -> float:
    """Return the factor by which all jobs together would just fit on the machine."""
    machine, lists, needed = f.machine[world], f.lists[world], 0
    for i in range(machine.running):
        needed += f.jobs[lists[RUN_ROW, i]].ideal
    for i in range(machine.queued):
        needed += f.jobs[lists[QUEUE, i]].ideal
    return machine.nodes / needed


@shared_kernel
def figure_2(f: Molds, world: int, first: int) -> float:
    """Return the modifier that brings the load nearest to the ideal one, while the first job runs."""
    ideal, max_bad = f.rules[IDEAL], f.machine[world].max_bad
    modifier, best, best_load, bad = 1.0, 1.0, float(NEVER), 0
    while True:
        found = load(f, world, first, modifier)
        if abs(found - ideal) < abs(best_load - ideal):
            best, best_load, bad = modifier, found, 0
        else:
            bad += 1
        if abs(found - ideal) <= f.rules[DELTA] or bad == max_bad:
            return best
        previous, modifier = modifier, modifier * (ideal / found)
        if modifier == previous:
            return best


@kernel
def load(f: Molds, world: int, first: int, modifier: float) -> float:
    """Return the mean load of a node while the first job runs, if all that wait start now on modified sizes.

    Node-seconds are exact up to 2^53.
    """
    machine, lists = f.machine[world], f.lists[world]
    nodes = size_of(f, first, modifier)
    window = time_on(f, first, nodes)
    work = float(nodes * window)
    for i in range(machine.running):
        work += min(max(lists[RUN_END, i] - machine.now, 0), window) * lists[RUN_NODES, i]
    for i in range(machine.queued):
        other = lists[QUEUE, i]
        if other != first:
            size = size_of(f, other, modifier)
            work += min(time_on(f, other, size), window) * size
    return (work + _future(f, machine.now, window, modifier)) / (machine.nodes * window)


@kernel
def _future(f: Molds, now: int, window: int, modifier: float) -> float:
    """Return the work of jobs that are expected within so many seconds, in node-seconds (Prediction)."""
    found = 0.0
    for each in range(len(f.arrivals)):
        found += _arrivals(f, each, now, window) * _work(f, each, modifier, window)
    return found


@kernel
def _arrivals(f: Molds, each: int, now: int, window: int) -> float:
    """Return how many jobs of a class come in (now, now + window], pro rata in parts of half hours."""
    found = (window // DAY) * f.arrivals[each, WHOLE_DAY]
    at = now % DAY
    end = at + window % DAY
    while at < end:
        upto = min(end, (at // HALF_HOUR + 1) * HALF_HOUR)
        found += f.arrivals[each, at // HALF_HOUR % HALF_HOURS] * ((upto - at) / HALF_HOUR)
        at = upto
    return found


@kernel
def _work(f: Molds, each: int, modifier: float, window: int) -> float:
    """Return the mean work of one job of a class within so many seconds; the rigid keep their size."""
    ideal, run, moldable = f.means[each, NODES], f.means[each, RUN], f.means[each, MOLDABLE]
    rigid = min(run, float(window)) * ideal
    if moldable == 0:
        return rigid
    size = min(max(modifier * ideal, f.means[each, LEAST]), f.means[each, MOST])
    molded = min(_mean_time(f, each, size), float(window)) * size
    return moldable * molded + (1 - moldable) * rigid


@kernel
def _mean_time(f: Molds, each: int, size: float) -> float:
    """Return for how long a job of a class runs on so many nodes, by its means."""
    ideal, run, a, sigma = f.means[each, NODES], f.means[each, RUN], f.means[each, A], f.means[each, SIGMA]
    if a > 0:
        return run * downey_speed_up(a, sigma, ideal) / downey_speed_up(a, sigma, size)
    speed = 3 * ideal + 10 * size if size <= ideal else 10 * ideal + 3 * size
    return 13 * ideal * run / speed
