"""`python -m tests.bench.planning`: how long the search for machines takes, and against one that leaves out nothing.

Machines are drawn at random; the medians of several draws are shown, in CPU seconds.
"""

import random
import statistics
import time

from cosched.planning.grid import Grid, Machine
from cosched.planning.search import Schedule, Search
from cosched.planning.sites import by_name
from cosched.planning.strips import JACOBI

DRAWS = 5
CASES = ((24, 3, 16_800, 0.1), (1000, 8, 16_800, 5.0), (1000, 8, 60_000, 5.0))  # machines, sites, N, seconds at most
COMPARED = (60, 4, 16_800)


def drawn(seed: int, machines: int, sites: int) -> Grid:
    """Machines with the speeds, memories and loads of Dail et al. 2002, and links by site, from 0.5 to 50 Mb/s."""
    draw = random.Random(seed)
    made = [
        Machine(
            f"m{number}.s{number % sites}",
            f"s{number % sites}",
            draw.choice((266, 400, 450, 550, 1000)),
            draw.choice((1, 1, 0.5, 0.33)) * draw.uniform(0.93, 1),
            draw.choice((128, 256, 512)) * draw.uniform(0.88, 0.95),
        )
        for number in range(machines)
    ]
    pairs = [(f"s{one}", f"s{other}") for one in range(sites) for other in range(one, sites)]
    bandwidth = {(a, b): draw.uniform(60, 80) if a == b else draw.uniform(0.5, 50) for a, b in pairs}
    return Grid(made, [bandwidth], [{(a, b): 0.0005 if a == b else 0.035 for a, b in pairs}])


class Patient:
    """A mapper that leaves out no candidate."""

    def __init__(self, mapper) -> None:
        self.map = mapper.map

    def promising(self, _order, sizes, _limit) -> list[int]:
        """All of them."""
        return list(sizes)


def searched(grid: Grid, size: int, *, patient: bool = False) -> tuple[float, Schedule | None]:
    """CPU seconds of a search, and what it has found."""
    began = time.process_time()
    sites = by_name(grid)
    model, mapper = JACOBI.make(size, JACOBI.keys(), grid, sites)
    best = Search(grid.machines, sites).best(model, Patient(mapper) if patient else mapper)
    return time.process_time() - began, best


def main() -> None:
    """Measure, and print the table."""
    print("\nSearch for machines: CPU seconds")
    for machines, sites, size, most in CASES:
        median = statistics.median(searched(drawn(seed, machines, sites), size)[0] for seed in range(DRAWS))
        missed = "" if median <= most else "  MISSED"
        print(f"{machines:5,} machines, {sites} sites, N = {size:,}: {median:7.3f} (at most {most:g}){missed}")
    ratios = []
    for seed in range(DRAWS):
        grid = drawn(seed, *COMPARED[:2])
        (fast, found), (slow, expected) = (searched(grid, COMPARED[2], patient=patient) for patient in (False, True))
        assert found is not None
        assert expected is not None
        assert (found.map, found.metric) == (expected.map, expected.metric)
        ratios.append(slow / fast)
    machines, sites, size = COMPARED
    print(f"{machines} machines, {sites} sites: {statistics.median(ratios):.1f} times as long if nothing is left out")


if __name__ == "__main__":
    main()
