#!/usr/bin/env python3
"""Solves Laplace's equation on a square by Jacobi's method, on as many processes as it has nodes.

    cosched submit --nodes 4 --least 1 jacobi.py --size 200 --iterations 2000

Its domain may give it other nodes while it runs. In the end it compares its result with that of a serial solve.
"""

import argparse
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from cosched.client.adaptive import AdaptiveJob

PROCESSES = get_context("spawn")  # those of a fork would share the connection to the domain


def grids(memory: SharedMemory, size: int) -> np.ndarray:
    """Two grids: each iteration computes one from the other."""
    return np.ndarray((2, size, size), float, memory.buf)


def update(old: np.ndarray, new: np.ndarray, first: int, last: int) -> None:
    """Compute the rows from `first` to before `last`: each point is the mean of its neighbours."""
    above, below, left, right = old[first - 1 : last - 1], old[first + 1 : last + 1], old[first:last], old[first:last]
    new[first:last, 1:-1] = (above[:, 1:-1] + below[:, 1:-1] + left[:, :-2] + right[:, 2:]) / 4


def work(pipe: Connection, memory: SharedMemory, size: int) -> None:
    """One process: it computes the rows that it is told, until it is told None."""
    both = grids(memory, size)
    while (task := pipe.recv()) is not None:
        old, first, last = task
        update(both[old], both[1 - old], first, last)
        pipe.send(None)


class Team:
    """The processes."""

    def __init__(self, memory: SharedMemory, size: int) -> None:
        self._memory, self._size = memory, size
        self._members: list[tuple[SpawnProcess, Connection]] = []

    def resize(self, processes: int) -> None:
        """Have so many processes from now on."""
        while len(self._members) > processes:
            process, pipe = self._members.pop()
            pipe.send(None)
            process.join()
        while len(self._members) < processes:
            ours, theirs = PROCESSES.Pipe()
            process = PROCESSES.Process(target=work, args=(theirs, self._memory, self._size))
            process.start()
            self._members.append((process, ours))

    def iterate(self, old: int) -> None:
        """Compute the other grid from the grid `old`, each process some rows."""
        bounds = np.linspace(1, self._size - 1, len(self._members) + 1).astype(int).tolist()
        for (_, pipe), first, last in zip(self._members, bounds[:-1], bounds[1:], strict=True):
            pipe.send((old, first, last))
        for _, pipe in self._members:
            pipe.recv()


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


def solve(options: argparse.Namespace, memory: SharedMemory) -> bool:
    """Iterate, and follow what the domain gives; whether the result is that of a serial solve."""
    job, team, both = AdaptiveJob(), Team(memory, options.size), grids(memory, options.size)
    edges(both)
    team.resize(len(job.nodes))
    sizes, done, computing = [len(job.nodes)], 0, 0.0
    while done < options.iterations or (options.until is not None and not options.until.exists()):
        began = time.monotonic()
        team.iterate(done % 2)
        done, computing = done + 1, time.monotonic() - began
        if job.boundary(exec_time_comp=computing):
            team.resize(len(job.nodes))
            sizes.append(len(job.nodes))
            job.adapted()
    team.resize(0)
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
