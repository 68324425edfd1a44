"""The genetic algorithm of Braun et al. (2001), A Comparison of Eleven Static Heuristics: jobs on machines.

Here, too, the sum of completions counts, for which the jobs of one machine run in order of their lengths.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from cosched_papers.heterogeneous.calls import CANNOT, Call, Ints, Placement
from cosched_papers.heterogeneous.greedy import min_min

POPULATION, GENERATIONS, UNCHANGED = 200, 1000, 150  # it ends after so many, or so many without an improvement
CROSSOVER, MUTATION = 0.6, 0.4  # which share of a population is crossed, and mutated
STREAM = 0x67656E65  # of random numbers, so that the same call has the same answer


def genetic(call: Call) -> list[Placement]:
    """A chromosome says on which machine each job runs. Min-min is one of the first, and the best always stays."""
    random = np.random.default_rng(STREAM)
    times = call.seq[list(call.classes)]
    chromosomes = _first(call, times, random)
    costs = _costs(chromosomes, times, call.avail)
    machines = [np.flatnonzero(row < CANNOT) for row in times]
    unchanged = 0
    for _ in range(GENERATIONS):
        best = chromosomes[costs.argmin()].copy()
        least = int(costs.min())
        chromosomes = _selected(chromosomes, costs, random)
        _cross(chromosomes, random)
        _mutate(chromosomes, machines, random)
        chromosomes[0] = best
        costs = _costs(chromosomes, times, call.avail)
        unchanged = unchanged + 1 if costs.min() == least else 0
        if unchanged == UNCHANGED:
            break
    return _placements(chromosomes[costs.argmin()], times, call.avail)


def _first(call: Call, times: Ints, random: Generator) -> Ints:
    chromosomes = np.stack([_machines(times, random) for _ in range(POPULATION)])
    for placement in min_min(call):
        chromosomes[0, placement.job] = placement.resource
    return chromosomes


def _machines(times: Ints, random: Generator) -> Ints:
    """Return for each job a machine where it can run."""
    machines: Ints = np.where(times < CANNOT, random.random(times.shape), -1.0).argmax(axis=1)
    return machines


def _costs(chromosomes: Ints, times: Ints, avail: Ints) -> Ints:
    """Return the sum of completions of each chromosome."""
    jobs = chromosomes.shape[1]
    # By chromosome, machine and length, as one number: each job ends after those of its machine before it.
    run = times[np.arange(jobs), chromosomes]
    span = int(run.max()) + 1
    machine, run = np.divmod(np.sort(chromosomes * span + run, axis=1), span)
    sums = run.cumsum(axis=1)
    begins = np.ones(machine.shape, np.bool_)
    begins[:, 1:] = machine[:, 1:] != machine[:, :-1]
    before = np.maximum.accumulate(np.where(begins, sums - run, 0), axis=1)
    costs: Ints = (sums - before + avail[machine]).sum(axis=1)
    return costs


def _selected(chromosomes: Ints, costs: Ints, random: Generator) -> Ints:
    """Return as many, drawn by their ranks: of two, the better is drawn more often."""
    ranks = np.arange(len(costs), 0, -1, dtype=np.float64)
    drawn = random.choice(len(costs), len(costs), p=ranks / ranks.sum())
    return chromosomes[costs.argsort(kind="stable")[drawn]]


def _cross(chromosomes: Ints, random: Generator) -> None:
    """Pairs of neighbours exchange what follows a place."""
    population, jobs = chromosomes.shape
    for row in range(0, population - 1, 2):
        if random.random() < CROSSOVER:
            place = random.integers(jobs)
            chromosomes[[row, row + 1], place:] = chromosomes[[row + 1, row], place:]


def _mutate(chromosomes: Ints, machines: Sequence[Ints], random: Generator) -> None:
    """Give one job of some chromosomes another machine, of those where it can run."""
    for row in np.flatnonzero(random.random(len(chromosomes)) < MUTATION):
        job = int(random.integers(len(machines)))
        chromosomes[row, job] = random.choice(machines[job])


def _placements(chromosome: Ints, times: Ints, avail: Ints) -> list[Placement]:
    run = times[np.arange(len(times)), chromosome]
    avail, placed = avail.copy(), []
    for job in np.argsort(run, kind="stable").tolist():
        machine = int(chromosome[job])
        start = int(avail[machine])
        avail[machine] += run[job]
        placed.append(Placement(job, machine, start, int(avail[machine])))
    return placed
