"""Cases per second: a sweep by two workers against the same cases one by one in a single process."""

import statistics
import tempfile
import time
from pathlib import Path

from cosched_sim.sweeps.case import run_case
from cosched_sim.sweeps.grid import Sweep
from cosched_sim.sweeps.local_workers import local_workers
from cosched_sim.sweeps.running import run_cases
from cosched_sim.warm_up import run_all_kernels

ROUNDS = 3
CASES = 432
SWEEP = Sweep(
    base={
        "domains": [
            {"name": "intrepid", "trace": "generated:intrepid/jobs=2000"},
            {"name": "eureka", "trace": "generated:eureka/jobs=500"},
        ],
        "pair_window": "2m",
    },
    grid={"schemes": ["HH", "HY", "YH", "YY"], "eureka.load": [0.25, 0.5, 0.75]},
    replications=CASES // 12,
    seed=1,
)


def alone() -> float:
    """Seconds for all cases one by one in this process."""
    began = time.perf_counter()
    for case in SWEEP:
        assert run_case(case)["error"] is None
    return time.perf_counter() - began


def main() -> None:
    """Workers are started before and stay; each sweep writes its results to a folder of its own."""
    run_all_kernels()
    with tempfile.TemporaryDirectory() as folder, local_workers(2) as workers:

        def swept(number: int) -> float:
            began = time.perf_counter()
            target = Path(folder) / str(number)
            run_cases(SWEEP, len(SWEEP), target, workers, resume=False, tell=lambda _: None)
            return time.perf_counter() - began

        swept(-1)
        times = [(swept(number), alone()) for number in range(ROUNDS)]
    two, one = (len(SWEEP) / statistics.median(column) for column in zip(*times, strict=True))
    print(f"\nSweep of {len(SWEEP)} replays of 2,500 jobs, by two workers: {two:.1f} cases/s")
    print(f"the same one by one in a single process: {one:.1f} cases/s; the sweep is {two / one:.2f} times as fast")


if __name__ == "__main__":
    main()
