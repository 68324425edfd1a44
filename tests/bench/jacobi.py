"""Prophet's cost models beside measured runs of the Jacobi example: `python -m tests.bench.jacobi` (fluid.md).

One process is measured, which gives `arch_cost`, and iterations with nothing to compute, which give a message's time.
From these follow the times on more processes. Some may share a processor: `cpu_avail` is then the share of those that
have least, since all wait for the slowest.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

from cosched_papers.fluid.costs import DataParallel, Network, exec_time

sys.path.append(str(Path(__file__).resolve().parents[2] / "deploy" / "examples" / "malleable"))
import jacobi

NOTHING = 3  # points on each side of a grid with nearly nothing to compute
WARM = 5  # iterations that are not counted


def names(processes: int) -> list[str]:
    """Nodes for so many processes."""
    return [str(number) for number in range(processes)]


@contextmanager
def team(size: int, processes: int) -> Iterator[jacobi.Team]:
    """So many processes on a grid of this size."""
    memory = SharedMemory(create=True, size=2 * size**2 * 8)
    both = jacobi.grids(memory, size)
    jacobi.edges(both)
    made = jacobi.Team(memory, size)
    made.move(names(processes))
    try:
        yield made
    finally:
        made.move(())
        del both
        memory.close()
        memory.unlink()


def measured(size: int, processes: int, iterations: int) -> float:
    """Median seconds of an iteration."""
    times = []
    with team(size, processes) as made:
        for number in range(WARM + iterations):
            began = time.perf_counter()
            made.iterate(number % 2)
            times.append(time.perf_counter() - began)
    return statistics.median(times[WARM:])


def calibrated(size: int, message: float, iterations: int) -> DataParallel:
    """The model from one process, all of whose time counts as computation: "one processor sends no messages"."""
    alone = measured(size, 1, iterations)
    model = jacobi.model(size, iterations, jacobi.Times(alone, alone, 1))
    return replace(model, network=Network(message, per_byte=0))


def cpu(processes: int) -> float:
    """cpu_avail."""
    return 1 / -(-processes // (os.cpu_count() or 1))


def adaptation(size: int, before: int, after: int) -> float:
    """Seconds from a change of nodes to the first answer on the new ones; from nothing: to the first of all."""
    with team(size, before) as made:
        if before:
            made.iterate(0)
        began = time.perf_counter()
        made.move(names(after))
        made.iterate(1)
        return time.perf_counter() - began


def run(size: int, processes: Sequence[int], iterations: int) -> list[tuple[float, float]]:
    """Predicted and measured seconds of an iteration, for each number of processes, with a calibration of its own."""
    idle = [measured(NOTHING, count, iterations) for count in (1, 2)]
    model = calibrated(size, max(0.0, idle[1] - idle[0]), iterations)
    times = []
    for count in processes:
        available = replace(model.network, cpu=cpu(count))
        predicted = exec_time(replace(model, network=available), count)
        times.append((predicted, measured(size, count, iterations)))
    return times


def main() -> None:
    """Print predicted and measured times (medians of all rounds), and the ratios in these rounds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="*", default=[300, 600, 1200])
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2, 3, 4])
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{os.cpu_count()} processors; milliseconds of an iteration, predicted / measured")
    for size in options.sizes:
        rounds = [run(size, options.processes, options.iterations) for _ in range(options.rounds)]
        print(f"{size} x {size} points")
        for processes, times in zip(options.processes, zip(*rounds, strict=True), strict=True):
            predicted, found = (1e3 * statistics.median(column) for column in zip(*times, strict=True))
            ratios = sorted(one / other for one, other in times)
            shared = "" if cpu(processes) == 1 else "  more processes than processors"
            print(
                f"{processes:6} processes {predicted:8.3f} / {found:.3f}  "
                f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}){shared}"
            )
    print("seconds of an adaptation; the example predicts the last one that it has measured")
    for before, after in ((0, 1), (1, 2), (2, 4), (4, 1)):
        times = sorted(adaptation(options.sizes[-1], before, after) for _ in range(options.rounds))
        print(f"{before:6} to {after} processes {statistics.median(times):.3f} ({times[0]:.3f} to {times[-1]:.3f})")


if __name__ == "__main__":
    main()
