"""What the runs of one trace measure. Times are means over the jobs, in minutes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched_papers.fluid.machine import FluidJobs, FluidTrace
from cosched_papers.fluid.settings import FluidSettings
from cosched_papers.studies.weissman2004 import setup
from cosched_papers.studies.weissman2004.setup import BEST, column
from cosched_sim.configuration import replay_config
from cosched_sim.replaying import read_machine, run, setup_of
from cosched_sim.sweeps.case import Row

Ints = NDArray[np.int64]

# Measures of a policy; their columns are called "POLICY M MEASURE".
WAIT, EXEC, TOTAL, RATE = "wait", "run", "total", "jobs an hour"
SUCCESS, EVENTS, BETTER = "harvests that succeed", "harvests a job", "= or better"  # %, a number, %
MINUTE, HOUR = 60, 3600

BATCH = {setup.IDEAL_ONLY: "none", setup.BACKFILL: "conservative", setup.EASY: "easy"}


def jobs_of(settings: Mapping[str, Any]) -> tuple[FluidJobs, int]:
    """Return the jobs of a fluid domain, and its processors; InputError."""
    config = replay_config("case", dict(settings))
    domain = config.domains[0]
    workload, nodes = read_machine(domain, config)
    return setup_of(domain, workload, nodes).jobs, nodes


def on_ideal(trace: str) -> Row:
    """Measure the schedulers that give every job its ideal."""
    row: Row = {}
    for name, backfill in BATCH.items():
        domain = run(replay_config("case", setup.batch(trace, backfill))).domains["machine"]
        row |= _named(name, times(domain.workload.submit, domain.jobs.start, domain.jobs.end))
    return row


def final(jobs: FluidJobs, nodes: int) -> Row:
    """Measure MOLDABLE and the best policy."""
    ran = {setup.MOLDABLE: FluidSettings(nodes, resizes=False), BEST: setup.rules(*setup.ALL_RULES[BEST], nodes)}
    return {k: v for name, of in ran.items() for k, v in _named(name, _times_of(jobs, played(jobs, of))).items()}


def policies(jobs: FluidJobs, nodes: int) -> Row:
    """Measure all policies at all levels, beside the same rules without harvests, and MOLDABLE."""
    row = _named(setup.MOLDABLE, _times_of(jobs, played(jobs, FluidSettings(nodes, resizes=False))))
    unharvested: dict[tuple[object, int | None], Ints] = {}
    for name, (policy, level) in setup.ALL_RULES.items():
        without = setup.rules(policy, level, nodes, harvests=False)
        key = without.distribution, without.level
        if key not in unharvested:
            unharvested[key] = played(jobs, without).state.jobs["end"].copy()
        trace = played(jobs, setup.rules(policy, level, nodes))
        machine, ended = trace.state.machine[0], trace.state.jobs["end"]
        tried, had = int(machine["tried"]), int(machine["had"])
        row |= _named(name, _times_of(jobs, trace))
        row |= {
            column(name, measure=SUCCESS): 100 * had / tried if tried else None,
            column(name, measure=EVENTS): float(trace.state.jobs["harvests"].mean()),
            column(name, measure=BETTER): 100 * float((ended <= unharvested[key]).mean()),
        }
    return row


def played(jobs: FluidJobs, settings: FluidSettings) -> FluidTrace:
    """Run all jobs by some rules."""
    trace = FluidTrace(settings, jobs)
    trace.run()
    return trace


def _times_of(jobs: FluidJobs, trace: FluidTrace) -> Row:
    return times(jobs.submit, trace.state.jobs["start"], trace.state.jobs["end"])


def times(submit: Ints, start: Ints, end: Ints) -> Row:
    """Return the mean wait, run and total time in minutes, and the throughput."""
    return {
        WAIT: float((start - submit).mean()) / MINUTE,
        EXEC: float((end - start).mean()) / MINUTE,
        TOTAL: float((end - submit).mean()) / MINUTE,
        RATE: HOUR * len(submit) / int(end.max() - submit.min()),
    }


def _named(name: str, row: Row) -> Row:
    return {column(name, measure=measure): value for measure, value in row.items()}
