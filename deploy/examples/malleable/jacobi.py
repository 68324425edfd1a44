#!/usr/bin/env python3
"""Solves Laplace's equation on a square by Jacobi's method, on as many processes as it has nodes.

    cosched submit --nodes 4 --least 1 jacobi.py --size 200 --iterations 2000

Its domain may give it other nodes while it runs. From the first iterations on some nodes it predicts how long one takes
on other numbers of nodes. In the end it compares its result with that of a serial solve. It needs coscheduling[papers].
"""

import argparse
import time
from collections.abc import Sequence
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from struct import Struct
from typing import NamedTuple

import numpy as np

from cosched.client import ClientError
from cosched.client.adaptive import AdaptiveJob
from cosched_papers.fluid.costs import BROADCAST, DataParallel, Network, Phase, Requirements, exec_time

PROCESSES = get_context("spawn")  # those of a fork would share the connection to the domain
TASK, ANSWER = Struct("3q"), Struct("d")  # which grid is the old one, from and to which row; seconds that it took
MEASURED = 10  # iterations from which others are predicted


def grids(memory: SharedMemory, size: int) -> np.ndarray:
    """Two grids: each iteration computes one from the other."""
    return np.ndarray((2, size, size), float, memory.buf)


def update(old: np.ndarray, new: np.ndarray, first: int, last: int) -> None:
    """Compute the rows from `first` to before `last`: each point is the mean of its neighbours."""
    above, below, left, right = old[first - 1 : last - 1], old[first + 1 : last + 1], old[first:last], old[first:last]
    new[first:last, 1:-1] = (above[:, 1:-1] + below[:, 1:-1] + left[:, :-2] + right[:, 2:]) / 4


def work(pipe: Connection, memory: SharedMemory, size: int) -> None:
    """One process: it computes the rows that it is told, until it is told nothing."""
    both = grids(memory, size)
    while task := pipe.recv_bytes():
        old, first, last = TASK.unpack(task)
        began = time.monotonic()
        update(both[old], both[1 - old], first, last)
        pipe.send_bytes(ANSWER.pack(time.monotonic() - began))


def bounds(size: int, processes: int) -> list[int]:
    """Return the first row of each process, and the row after the last."""
    rows: list[int] = np.linspace(1, size - 1, processes + 1).astype(int).tolist()
    return rows


class Team:
    """The processes, one for each node. On a real machine each would run on its node."""

    def __init__(self, memory: SharedMemory, size: int) -> None:
        self._memory, self._size = memory, size
        self._members: dict[str, tuple[SpawnProcess, Connection]] = {}

    def move(self, nodes: Sequence[str]) -> None:
        """Use these nodes from now on, and no others."""
        for node in [node for node in self._members if node not in nodes]:
            process, pipe = self._members.pop(node)
            pipe.send_bytes(b"")
            process.join()
        for node in nodes:
            if node not in self._members:
                ours, theirs = PROCESSES.Pipe()
                process = PROCESSES.Process(target=work, args=(theirs, self._memory, self._size), name=node)
                process.start()
                self._members[node] = (process, ours)

    def iterate(self, old: int) -> float:
        """Compute the other grid from the grid `old`, each process some rows; the longest time that took, in s."""
        pipes = [pipe for _, pipe in self._members.values()]
        rows = bounds(self._size, len(pipes))
        for pipe, (first, last) in zip(pipes, pairwise(rows), strict=True):
            pipe.send_bytes(TASK.pack(old, first, last))
        seconds: list[float] = [ANSWER.unpack(pipe.recv_bytes())[0] for pipe in pipes]
        return max(seconds)


class Times(NamedTuple):
    """Seconds that so many iterations on so many processes took, on the whole and in computing."""

    total: float = 0.0
    comp: float = 0.0
    iterations: int = 0
    processes: int = 1

    def and_one(self, total: float, comp: float, processes: int) -> "Times":
        """Return those with one more iteration, on as many processes."""
        return Times(self.total + total, self.comp + comp, self.iterations + 1, processes)

    def means(self) -> tuple[float, float]:
        """Return the mean seconds of computation, and of communication, in an iteration."""
        count = max(1, self.iterations)
        return self.comp / count, (self.total - self.comp) / count


def phase(size: int, iterations: int | None, arch: float = 0.0) -> Phase:
    """Return what the cost models ask of this program.

    A point costs three additions and a division. Each further process gets one more task and gives one more answer;
    borders are read where they are, in the memory that all share.
    """
    return Phase(
        numDEs=(size - 2) ** 2,
        comp=4,
        arch=arch,
        topology=BROADCAST,
        comm=TASK.size + ANSWER.size,
        iterations=iterations,
        least=Requirements(1, memory=2 * size**2 * 8),
    )


def model(size: int, iterations: int | None, times: Times) -> DataParallel:
    """Return the model of an iteration; the cost of an instruction and of a message are those that were measured."""
    known = phase(size, iterations)
    instructions = known.comp * known.numDEs * times.iterations / times.processes
    message = (times.total - times.comp) / (times.processes * times.iterations)
    return DataParallel(phase(size, iterations, 1e6 * times.comp / instructions), Network(message, per_byte=0))


def edges(both: np.ndarray) -> None:
    """Set the values at the edges, which stay; all else is 0."""
    both[:] = 0
    both[:, 0, :] = 1


def serial(size: int, iterations: int) -> np.ndarray:
    """Return the result after so many iterations."""
    both = np.empty((2, size, size))
    edges(both)
    for number in range(iterations):
        update(both[number % 2], both[1 - number % 2], 1, size - 1)
    result: np.ndarray = both[iterations % 2]
    return result


def predict(job: AdaptiveJob, found: DataParallel, starting: float) -> None:
    """Tell what follows from the model; `starting`: how many seconds the first iteration took, with starts before."""
    try:
        job.predict(lambda nodes: exec_time(found, nodes), found.comp, found.comm, lambda _: starting)
    except ClientError as refusal:  # as a domain with slots does
        print(refusal)


def solve(options: argparse.Namespace, memory: SharedMemory) -> bool:
    """Iterate, and follow what the domain gives; whether the result is that of a serial solve."""
    job, team, both = AdaptiveJob(), Team(memory, options.size), grids(memory, options.size)
    edges(both)
    team.move(job.nodes)
    sizes, done, times, starting = [len(job.nodes)], 0, Times(), None
    while done < options.iterations or (options.until is not None and not options.until.exists()):
        began = time.monotonic()
        computing = team.iterate(done % 2)
        took, done = time.monotonic() - began, done + 1
        if starting is None:
            starting = took
        else:
            times = times.and_one(took, computing, sizes[-1])
            if times.iterations == MEASURED:
                predict(job, model(options.size, options.iterations, times), starting)
        if job.boundary(*times.means()):
            team.move(job.nodes)
            sizes.append(len(job.nodes))
            times, starting = Times(), None
            job.adapted()
    team.move(())
    same = np.array_equal(both[done % 2], serial(options.size, done))
    print(f"{done} iterations on {sizes} processes: {'the same as' if same else 'NOT THE SAME as'} a serial solve")
    return same


def main() -> None:
    """Solve as the arguments say; the exit code is 1 if the result is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=100, help="points on each side")
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--until", type=Path, help="go on until this file exists")
    options = parser.parse_args()
    memory = SharedMemory(create=True, size=2 * options.size**2 * 8)
    try:
        raise SystemExit(not solve(options, memory))
    finally:
        memory.unlink()


if __name__ == "__main__":
    main()
