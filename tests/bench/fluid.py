"""CPU time of the fluid scheduler beside the slow model, and beside one EASY domain: 10,000 jobs on 128 processors.

.venv/bin/python -m tests.bench.fluid
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

import numpy as np

import cosched_sim  # noqa: F401  (sets the kernels' cache folder)
from cosched_papers.fluid.machine import FluidJobs, FluidTrace
from cosched_papers.fluid.settings import Distribution, FluidSettings, Harvesting
from cosched_sim.workload.jobs import Workload
from tests.bench.bench import setup, simulate
from tests.reference.fluid import Job, Machine, Rules

PROCESSORS, JOBS, LOAD, LEAST = 128, 10_000, 0.654, 0.3
SHAPE, SCALE = 0.408, 2503  # of the Weibull distribution of run times


def workload(seed: int) -> FluidJobs:
    """Jobs like those of SDSC's SP2: many small and short ones."""
    random = np.random.default_rng(seed)
    ideal = 2 ** random.choice(7, JOBS, p=[0.35, 0.1, 0.13, 0.15, 0.13, 0.09, 0.05])
    run = np.ceil(SCALE * random.weibull(SHAPE, JOBS)).astype(np.int64)
    gap = (ideal * run).sum() / LOAD / PROCESSORS / JOBS
    submit = random.exponential(gap, JOBS).cumsum().astype(np.int64)
    least = np.maximum(1, np.floor(ideal * LEAST + 0.5).astype(np.int64))
    zero = np.zeros(JOBS, np.int64)
    return FluidJobs(submit, least, ideal, run, run, np.zeros(JOBS, bool), zero, zero)


def fluid(jobs: FluidJobs, settings: FluidSettings) -> float:
    """CPU seconds of a run."""
    began = time.process_time()
    FluidTrace(settings, jobs).run()
    return time.process_time() - began


def slow(jobs: FluidJobs) -> float:
    """CPU seconds of the slow model, Even-H-FR."""
    columns = (jobs.submit, jobs.least, jobs.ideal, jobs.run)
    rows = [Job(*map(int, row)) for row in zip(*columns, strict=True)]
    machine = Machine(PROCESSORS, rows, Rules(favor_running=True))
    began = time.process_time()
    machine.simulate()
    return time.process_time() - began


def easy(jobs: FluidJobs) -> float:
    """CPU seconds of an EASY domain, on ideal sizes."""
    work = Workload("fluid", np.arange(1, JOBS + 1), jobs.submit, jobs.run, jobs.ideal, jobs.requested)
    return simulate([setup("a", work, PROCESSORS, "fcfs")])[0]


def main() -> None:
    """Print a table."""
    jobs = workload(1)
    easy_s = statistics.median(easy(jobs) for _ in range(6))
    print(f"EASY on ideal sizes            {1e3 * easy_s:8.1f} ms")
    base = FluidSettings(PROCESSORS, Harvesting.EVEN, Distribution.FAVOR_RUNNING)
    for name, settings in {
        "Even-H-FR": base,
        "Even-H-FR, M = 6": replace(base, level=6),
        "Low-Imp-FR": replace(base, harvesting=Harvesting.LOW_IMPACT),
        "short": replace(base, harvesting=Harvesting.SHORT),
        "Even-H-FR with benefit": replace(base, benefit=True),
        "MOLDABLE": replace(base, resizes=False),
    }.items():
        seconds = statistics.median(fluid(jobs, settings) for _ in range(6))
        print(f"{name:30} {1e3 * seconds:8.1f} ms  {seconds / easy_s:6.1f} times EASY")
    seconds = slow(jobs)
    print(f"{'slow model, Even-H-FR':30} {1e3 * seconds:8.1f} ms  {seconds / easy_s:6.1f} times EASY")


if __name__ == "__main__":
    main()
