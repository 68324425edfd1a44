"""What one replay measures: of the jobs between the first and the last 5 %, all and by class. Times are in hours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched_papers.molding.kernels.times import MEDIUM, SHORT
from cosched_papers.studies.barsanti2006.setup import ALPHA_1, DOWNEY, trace_of
from cosched_sim.results.result import DomainResult
from cosched_sim.studies.cases import StudyCase, replayed
from cosched_sim.sweeps.case import Row
from cosched_sim.workload.generated import read_generated
from cosched_sim.workload.jobs import Ints

Floats = NDArray[np.floating[Any]]
Bools = NDArray[np.bool_]

CUT = 20  # 5.2: "the first and last 5% of the jobs in the schedule"
BOUND_S = 30  # 5.1: "We have set the bound to 30 seconds."
HOUR = 3600

# Measures; those of a class are called "CLASS MEASURE".
RESPONSE, WAIT, SLOWDOWN = OF_JOBS = ("response", "wait", "slowdown")
SHRUNK, EXPANDED, FACTOR, ASKED = ("shrunk", "expanded", "size / N_opt", "size / submitted size")
SHRUNK_TO = "shrunk to"  # the mean of size / N_opt of those that were shrunk
NODES, PART = "N_opt", "part of the jobs"
UTILISATION, LOAD, CPU = "utilisation", "offered load", "CPU-s"
CLASSES = ("short", "medium", "long")
BINS = (0, 60, 600, HOUR, 4 * HOUR, 12 * HOUR, 24 * HOUR, 48 * HOUR, np.inf)  # of responses, in s; 0 is left out
BIN_NAMES = ("1 min", "10 min", "1 h", "4 h", "12 h", "1 d", "2 d", "more")


def measures(case: StudyCase) -> Row:
    """Replay a case."""
    result = replayed(case.settings)
    domain = result.domains["machine"]
    asked = None
    if case.labels["experiment"] == DOWNEY:
        asked = read_generated(trace_of(len(domain.workload), ALPHA_1), case.settings["seed"], DOWNEY).allocated
    return {**of_jobs(domain, asked), CPU: result.timing["simulate_cpu_s"]}


def of_jobs(domain: DomainResult, asked: Ints | None = None) -> Row:
    """Measure a domain; `asked`: the sizes that jobs were drawn with, if these are not N_opt."""
    work, jobs = domain.workload, domain.jobs
    count = len(work)
    kept = np.zeros(count, bool)
    kept[count // CUT : count - count // CUT] = True
    size = work.nodes.copy()
    if domain.allocations is not None:
        size[domain.allocations.row] = domain.allocations.nodes
    response = jobs.end - work.submit
    found: dict[str, Floats] = {
        RESPONSE: response / HOUR,
        WAIT: (jobs.start - work.submit) / HOUR,
        SLOWDOWN: slowdowns(response, work.run),
        SHRUNK: 100.0 * (size < work.nodes),
        EXPANDED: 100.0 * (size > work.nodes),
        FACTOR: size / work.nodes,
        NODES: work.nodes.astype(float),
    }
    if asked is not None:
        found[ASKED] = size / asked
    first, last = work.submit[kept].min(), work.submit[kept].max()
    used = (np.clip(jobs.end, first, last) - np.clip(jobs.start, first, last)) * size
    row: Row = {
        UTILISATION: 100 * float(used.sum()) / (domain.nodes * max(int(last - first), 1)),
        LOAD: 100 * domain.metrics["offered_load"],
    }
    for name, rows in of_classes(work.run):
        there = rows & kept
        if there.any():
            row |= {f"{name}{measure}": float(values[there].mean()) for measure, values in found.items()}
        smaller = there & (size < work.nodes)
        row |= {f"{name}{SHRUNK_TO}": float(found[FACTOR][smaller].mean())} if smaller.any() else {}
        row |= {f"{name}{PART}": 100 * float(there.sum() / kept.sum())} if name else {}
        row |= dict(_histogram(name, response[there]) if name and there.any() else ())
    return row


def slowdowns(response: Ints, run: Ints) -> Floats:
    """Return bounded slowdowns by 5.1: of a job of 30 s or more its response / run(N_opt), which can be below 1."""
    found = response / np.maximum(run, BOUND_S)
    return np.asarray(np.where(run < BOUND_S, np.maximum(found, 1), found))


def of_classes(run: Ints) -> Iterator[tuple[str, Bools]]:
    """Yield which jobs there are in all (""), and in each class ("short ")."""
    yield "", np.ones(len(run), bool)
    for name, low, high in zip(CLASSES, (0, SHORT, MEDIUM), (SHORT, MEDIUM, np.inf), strict=True):
        yield f"{name} ", (run >= low) & (run < high)


def of_class(name: str, measure: str) -> str:
    """Return the measure of a class; "": of all jobs."""
    return f"{name} {measure}".strip()


def bin_of(name: str, upto: str) -> str:
    """Return the measure that is the share of a class's jobs with responses up to this, and no shorter ones' (%)."""
    return f"{name} response {upto}"


def _histogram(name: str, response: Ints) -> Iterator[tuple[str, float]]:
    """Figure 7: "label value of the preceding category < result values ≤ label value of the current category"."""
    for (low, high), upto in zip(pairwise(BINS), BIN_NAMES, strict=True):
        yield bin_of(name.strip(), upto), 100 * float(((response > low) & (response <= high)).mean())
