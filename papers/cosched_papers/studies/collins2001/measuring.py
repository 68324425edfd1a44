"""What the cases measure: how long calls take (study 1), job times at the site (2 to 4), and algorithms on tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from cosched.core.settings import CoschedulingSettings
from cosched_papers.heterogeneous.algorithms import ALGORITHMS
from cosched_papers.heterogeneous.calls import CANNOT, Call, Ints, Placement, total
from cosched_papers.heterogeneous.jobs import Classed, Priority
from cosched_papers.heterogeneous.kind import HETEROGENEOUS
from cosched_papers.heterogeneous.settings import Algorithm, HeterogeneousSettings
from cosched_papers.studies.collins2001.site import CLASSES, site_of, times_of
from cosched_sim.configuration import Domain
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.playing import Run
from cosched_sim.replaying import NO_PAIRS
from cosched_sim.results.result import DomainResult
from cosched_sim.studies.cases import StudyCase
from cosched_sim.sweeps.case import Row
from cosched_sim.workload.jobs import Workload

# Measures
SJS_CPU, PJS_CPU, RATIO, PARALLEL = "SJS (ms)", "PJS (ms)", "PJS / SJS", "jobs on clusters"
TIME, SUM, SHARE, PREEMPTED = "job time", "sum", "on clusters", "preempted"  # mean and sum in s, %, preemptions
COMPLETION, MAKESPAN = "completion", "makespan"  # of tables, s

QUANTUM = 10  # s (5.4)
HIGH, MEDIUM, LOW = PRIORITIES = tuple(priority.name.lower() for priority in Priority)
PER_CENT: Mapping[str, tuple[float, ...]] = {  # of high, medium and low priority (5.3)
    "none": (0, 100, 0), "10/10/80": (10, 10, 80), "25/25/50": (25, 25, 50), "50/25/25": (50, 25, 25)
}  # fmt: skip
NEXT = "pjs, next"  # with on_failure=next
LEAST_CALLS, LEAST_CPU = 3, 0.02  # calls are repeated so often, and for so many s


def of_priority(priority: str, measure: str) -> str:
    """Return the name of a measure of the jobs of a priority; "": all."""
    return f"{priority} {measure}".strip()


def measures(case: StudyCase) -> Row:
    """Carry out a case."""
    said = case.settings
    return MEASURES[said["what"]](said, default_rng(said["seed"]))


# Study 1


def overhead(said: Mapping[str, Any], draw: Generator) -> Row:
    """Time calls on random tables: each job has times of its own (5.1)."""
    jobs, machines = said["jobs"], said["machines"]
    members = [np.arange(4 * cluster, 4 * cluster + 4) for cluster in range(said["clusters"])]
    par = draw.integers(1, 334, (jobs, len(members)))
    par[draw.permutation(jobs) >= round(jobs * said["parallel"] / 100)] = CANNOT
    seq = draw.integers(1, 1001, (jobs, machines))
    call = Call(range(jobs), seq, par, members, np.zeros(machines, np.int64))
    sjs, _ = _timed(Algorithm.SJS, call)
    if not members:
        return {SJS_CPU: sjs}
    pjs, placed = _timed(Algorithm.PJS, call)
    return {SJS_CPU: sjs, PJS_CPU: pjs, RATIO: pjs / sjs, PARALLEL: sum(of.resource >= machines for of in placed)}


def _timed(algorithm: Algorithm, call: Call) -> tuple[float, list[Placement]]:
    """Return the CPU time of a call, in ms, and what it places: the least of some calls, as others disturb them."""
    taken: list[float] = []
    while len(taken) < LEAST_CALLS or sum(taken) < LEAST_CPU:
        began = time.process_time()
        placed = ALGORITHMS[algorithm](call)
        taken.append(time.process_time() - began)
    return 1000 * min(taken), placed


# Studies 2 to 4


def at_site(said: Mapping[str, Any], draw: Generator) -> Row:
    """Let the scheduler play: jobs that are there at 0 (5.2, 5.3), or that arrive, and preempt each other (5.4)."""
    jobs, rate = said["jobs"], said["rate"]
    site = site_of(preemptive=rate > 0, quantum=QUANTUM if rate else 0)
    times = times_of(said["table"], site, said["seed"])
    goes_on = said["algorithm"] == NEXT
    algorithm = Algorithm.PJS if goes_on else Algorithm(said["algorithm"])
    settings = HeterogeneousSettings(site, times, algorithm, goes_on)
    says, submit = (arriving if rate else all_at_once)(jobs, PER_CENT[said["priorities"]], rate, draw)
    one = np.ones(jobs, np.int64)
    workload = Workload("site", np.arange(1, jobs + 1), submit, one, one, one)
    setup = DomainSetup("site", workload, settings, CoschedulingSettings(), HETEROGENEOUS, says)
    run = Run([setup], NO_PAIRS)
    run.run()
    domain = run.result([Domain(name="site", trace=".", nodes=settings.nodes)], {}).domains["site"]
    return _of_jobs(domain, np.array([of.priority for of in says]))


def all_at_once(jobs: int, per_cent: tuple[float, ...], _: float, __: Generator) -> tuple[list[Classed], Ints]:
    """Return jobs that are submitted at 0: in each queue the classes have their turn."""
    bounds = [round(jobs * sum(per_cent[:end]) / 100) for end in range(len(per_cent) + 1)]
    says = [
        Classed(CLASSES[turn % len(CLASSES)], priority)
        for priority in Priority for turn in range(bounds[priority + 1] - bounds[priority])
    ]  # fmt: skip
    return says, np.zeros(jobs, np.int64)


def arriving(jobs: int, per_cent: tuple[float, ...], rate: float, draw: Generator) -> tuple[list[Classed], Ints]:
    """Return jobs, so many at each quantum in the mean; class and priority are drawn."""
    counts = draw.poisson(rate, 20 * jobs)
    submit = np.repeat(QUANTUM * np.arange(len(counts)), counts)[:jobs]
    classes, priorities = draw.integers(len(CLASSES), size=jobs), 100 * draw.random(jobs)
    bounds = np.cumsum(per_cent)[:-1]
    says = [
        Classed(CLASSES[of], Priority(priority))
        for of, priority in zip(classes, np.searchsorted(bounds, priorities, side="right"), strict=True)
    ]
    return says, submit


def _of_jobs(domain: DomainResult, priority: Ints) -> Row:
    """Return job times, how many jobs ran on clusters in the end, and how often jobs were preempted."""
    job_time = domain.jobs.end - domain.workload.submit
    assert domain.allocations is not None
    on_cluster = np.zeros(len(job_time), np.bool_)
    on_cluster[domain.allocations.row] = domain.allocations.nodes > 1  # the last run of each job counts
    row: Row = {PREEMPTED: domain.counts[PREEMPTED]}
    for name, which in [("", priority >= 0), *((name, priority == of) for of, name in enumerate(PRIORITIES))]:
        if which.any():
            row[of_priority(name, TIME)] = float(job_time[which].mean())
            row[of_priority(name, SUM)] = int(job_time[which].sum())
            row[of_priority(name, SHARE)] = 100 * float(on_cluster[which].mean())
    return row


# Tables


def on_table(said: Mapping[str, Any], draw: Generator) -> Row:
    """Place jobs by an algorithm on a table of the usual kind, as Braun et al. (2001) draw them."""
    jobs, machines = said["jobs"], said["machines"]
    lengths = draw.uniform(1, said["job range"], (jobs, 1))
    table = lengths * draw.uniform(1, said["machine range"], (jobs, machines))
    ordered = slice(None, None, {"consistent": 1, "semi-consistent": 2}.get(said["kind"], machines))
    table[:, ordered] = np.sort(table[:, ordered], axis=1)
    seq = np.maximum(1, np.rint(table)).astype(np.int64)
    call = Call(range(jobs), seq, np.empty((jobs, 0), np.int64), [], np.zeros(machines, np.int64))
    placed = ALGORITHMS[Algorithm(said["algorithm"])](call)
    return {COMPLETION: total(placed) / jobs, MAKESPAN: max(of.end for of in placed)}


MEASURES: Mapping[str, Callable[[Mapping[str, Any], Generator], Row]] = {
    "overhead": overhead, "site": at_site, "table": on_table
}  # fmt: skip
