"""What one replay measures, beside a replay of the same jobs without coscheduling. Times are in minutes."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched_papers.studies.meet.schemes import under
from cosched_papers.studies.tang2011.setup import BASE
from cosched_sim.results.metrics import Bools, Floats, slowdown
from cosched_sim.results.result import DomainResult, ReplayResult
from cosched_sim.studies.cases import StudyCase, on_same_jobs
from cosched_sim.sweeps.case import Row
from cosched_sim.workload.jobs import UNKNOWN, Ints, Workload

if TYPE_CHECKING:
    from cosched_sim.replaying import Replay

# Of the pairs.
PAIR_WAIT = "pair wait"  # from the later submission to the start of the mate that starts last
PAIR_P95, PAIR_LONGEST = f"{PAIR_WAIT} p95", f"{PAIR_WAIT} longest"
PAIRS, TOGETHER = "pairs", "pairs together"
CALLS, PROPOSALS = "calls per pair", "proposals per pair"  # of all pairs that were submitted, whoever calls

# Of a machine; their columns are called "MACHINE MEASURE". "Unpaired": of the jobs without mates.
WAIT, SLOWDOWN, SYNC = "unpaired wait", "unpaired slowdown", "sync time"
P95, P99, LONGEST = f"{WAIT} p95", f"{WAIT} p99", f"{WAIT} longest"
PAIRED_LONGEST = "paired wait longest"
HELD = "held"  # per cent of the node-time
IDLE = "idle while unpaired jobs wait"  # or held; per cent of the node-time between first and last submission
NEVER = "never started"
LOSERS, LOSS, MOST_LOST = "losers", "loss of losers", "greatest loss"  # unpaired jobs beside the base; per cent
WINNERS, GAIN = "winners", "gain of winners"

MINUTE = 60
NOTABLE = 1.0  # a job loses or wins that waits a minute longer or shorter


def measured(case: StudyCase) -> Row:
    """Replay a case, and compare it with the same jobs without coscheduling.

    `more`: how many times the run time users request (0: what the log says), and whether calls are counted.
    """
    requested, counts_calls = case.more
    jobs, here = on_same_jobs(case, under(dict(case.settings), BASE), events=counts_calls)
    here.workloads, base = _without_coscheduling(jobs, requested)
    return measures(base if case.labels["schemes"] == BASE else here.run(), base)


@lru_cache(maxsize=1)  # one after another, the cases of a workload share it
def _without_coscheduling(jobs: Replay, requested: float) -> tuple[list[Workload], ReplayResult]:
    here = copy.copy(jobs)
    if requested:
        here.workloads = [replace(of, requested=np.ceil(of.run * requested).astype(np.int64)) for of in jobs.workloads]
    return here.workloads, here.run()


def measures(result: ReplayResult, base: ReplayResult) -> Row:
    """Return the measures of a replay; `base` had the same jobs and no coscheduling."""
    found = of_pairs(result)
    for name, domain in result.domains.items():
        here = _of_machine(domain) | _beside_base(domain, base.domains[name])
        found |= {f"{name} {measure}": value for measure, value in here.items()}
    return found


def of_pairs(result: ReplayResult) -> Row:
    """Return the measures of the pairs."""
    domains = result.domains.values()
    submits = result.pairing.of_pairs([domain.workload.submit for domain in domains])
    starts = result.pairing.of_pairs([domain.jobs.start for domain in domains])
    started = (starts != UNKNOWN).all(axis=1)
    waits = (starts.max(axis=1) - submits.max(axis=1))[started] / MINUTE
    together = started & (starts[:, 0] == starts[:, 1])
    mean, p95, longest = spread(waits, 95)
    row: Row = {PAIR_WAIT: mean, PAIR_P95: p95, PAIR_LONGEST: longest}
    row |= {PAIRS: len(starts), TOGETHER: int(together.sum()), CALLS: None, PROPOSALS: None}
    if result.events is not None and len(starts):
        calls = [event for event in result.events if "to" in event]
        proposals = sum(event["event"] == "ProposeGroupStart" and "not_before" in event for event in calls)
        row |= {CALLS: len(calls) / len(starts), PROPOSALS: proposals / len(starts)}
    return row


def _of_machine(domain: DomainResult) -> Row:
    work, jobs = domain.workload, domain.jobs
    waits = (jobs.start - work.submit) / MINUTE
    paired = jobs.pair != UNKNOWN
    alone = domain.started & ~paired
    mean, p95, p99, longest = spread(waits[alone], 95, 99)
    whole = domain.metrics
    return {
        WAIT: mean, P95: p95, P99: p99, LONGEST: longest,
        SLOWDOWN: spread(slowdown((jobs.start - work.submit)[alone], jobs.run[alone]))[0],
        PAIRED_LONGEST: spread(waits[domain.started & paired])[-1],
        SYNC: spread(sync_times(domain) / MINUTE)[0],
        HELD: 100 * whole["held_share"],
        IDLE: _idle(domain),
        NEVER: whole["never_started"]
    }  # fmt: skip


def sync_times(of: DomainResult) -> Ints:
    """Return for how many seconds each job with a mate waited from when it was ready first to its start."""
    synchronised: Bools = of.started & (of.jobs.pair != UNKNOWN) & (of.jobs.ready != UNKNOWN)
    return (of.jobs.start - of.jobs.ready)[synchronised]


def _beside_base(domain: DomainResult, base: DomainResult) -> Row:
    both: Bools = domain.started & base.started & (domain.jobs.pair == UNKNOWN)
    more = (domain.jobs.start - base.jobs.start)[both] / MINUTE
    lost, won = more[more > NOTABLE], -more[more < -NOTABLE]
    count = max(len(more), 1)
    return {
        LOSERS: 100 * len(lost) / count, LOSS: spread(lost)[0], MOST_LOST: spread(lost)[-1],
        WINNERS: 100 * len(won) / count, GAIN: spread(won)[0]
    }  # fmt: skip


def _idle(domain: DomainResult) -> float | None:
    """Return which share of the node-time no job used although unpaired ones waited, in per cent."""
    work, jobs, started = domain.workload, domain.jobs, domain.started
    alone = jobs.pair == UNKNOWN
    submits, begun = np.sort(work.submit[alone]), np.sort(jobs.start[alone & started])
    first, last = int(work.submit.min()), int(work.submit.max())
    if first == last:
        return None
    starts, ends = jobs.start[started], jobs.end[started]
    times = np.unique(np.concatenate((work.submit, starts, ends)))
    times = times[times <= last]
    changes = np.zeros(len(times) + 1, np.int64)
    np.add.at(changes, np.searchsorted(times, starts), work.nodes[started])
    np.subtract.at(changes, np.searchsorted(times, ends), work.nodes[started])
    busy = np.cumsum(changes[:-1])
    waiting = np.searchsorted(submits, times, "right") - np.searchsorted(begun, times, "right")
    idle = ((domain.nodes - busy) * (waiting > 0))[:-1]
    return float(100 * (idle * np.diff(times)).sum() / (domain.nodes * (last - first)))


def spread(values: Floats | Ints, *percentiles: int) -> list[Any]:
    """Return the mean, these percentiles and the maximum; None without values."""
    if not len(values):
        return [None] * (len(percentiles) + 2)
    return [float(values.mean()), *map(float, np.percentile(values, percentiles)), float(values.max())]
