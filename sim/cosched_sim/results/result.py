"""The result of a replay: every job's times, the metrics of each domain, the outcome of each pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosched.core.job import JobState
from cosched.schedulers.kind import Ended
from cosched.words.plain_json import json_value
from cosched_sim.configuration import Domain
from cosched_sim.holds_and_yields import HoldEnd, Holds, Yields
from cosched_sim.results import metrics
from cosched_sim.results.columns import Known, Table, frame_of
from cosched_sim.workload.allocations import AllocationEnd, Allocations, no_allocations
from cosched_sim.workload.jobs import UNKNOWN, Ints, JobIds, Workload, node_seconds
from cosched_sim.workload.pairing import TOGETHER, Pairing

if TYPE_CHECKING:
    import polars

STATES = {  # how a job ended
    JobState.COMPLETED: "completed",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
}
NEVER_STARTED, UNFINISHED = "never_started", "unfinished"
_STATES = np.array([*(STATES.get(state, "") for state in JobState), NEVER_STARTED, UNFINISHED], object)
_IS_TOLD = _STATES != ""


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """Outcomes of one domain's jobs: one row a job in trace order; seconds, UNKNOWN (-1) if there is no value.

    `pair` is the row of the pairs file, `mate` the row of the mate in `mate_domain`'s jobs (a member of a group has
    none), `state` a JobState.
    """

    ready: Ints
    start: Ints
    end: Ints
    run: Ints
    holds: Ints
    yields: Ints
    held_node_seconds: Ints
    state: Ints
    pair: Ints
    mate_domain: Ints
    mate: Ints


@dataclass(frozen=True, eq=False)
class DomainResult:
    """One policy domain after a replay; `holds` and `yields` are None if they were not recorded one by one.

    `allocations`: None if every job that started had what it asked for, from its start to its end.
    """

    settings: Domain
    nodes: int
    workload: Workload
    jobs: Jobs
    releases: int
    last_event: int
    holds: Holds | None = None
    yields: Yields | None = None
    allocations: Allocations | None = None
    counts: Mapping[str, Any] = field(default_factory=dict)  # what its scheduler has counted
    restarts: Mapping[int, int] = field(default_factory=dict)  # see `last_start`

    @property
    def started(self) -> NDArray[np.bool_]:
        """Which jobs started."""
        return np.not_equal(self.jobs.start, UNKNOWN)

    @property
    def last_start(self) -> Ints:
        """When jobs began the runs that count for their pairs: jobs that were queued again, by a script or with their
        mates, have begun another one then. What the domain's own scheduler preempts goes on."""
        if not self.restarts:
            return self.jobs.start
        starts = self.jobs.start.copy()
        starts[list(self.restarts.keys())] = list(self.restarts.values())
        return starts

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """The domain's part of summary.json (docs/simulator.md), without its name."""
        work, jobs = self.workload, self.jobs
        span = self.last_event - int(work.submit.min())
        capacity = self.nodes * span
        held = int(jobs.held_node_seconds.sum())
        paired = jobs.pair != UNKNOWN
        everybody = np.ones(len(work), bool)
        return {
            "nodes": self.nodes,
            "scheme": str(self.settings.scheme),
            **self.settings.meeting_texts,
            **self._scheduler,
            "jobs": len(work),
            "rejected": dict(work.rejected),
            "utilisation": self._used() / capacity if capacity else 0.0,
            "offered_load": self._offered_load(),
            "makespan_s": span,
            "held_node_seconds": held,
            "held_share": held / capacity if capacity else 0.0,
            "holds": int(jobs.holds.sum()),
            "yields": int(jobs.yields.sum()),
            "releases": self.releases,
            "never_started": int((~self.started).sum()),
            **self._lost,
            "queue_length": metrics.queue_length(work.submit, self._left_queue, self.last_event),
            "all": self._group(everybody),
            "paired": self._group(paired),
            "unpaired": self._group(~paired),
        }

    @property
    def _scheduler(self) -> dict[str, Any]:
        """How jobs are scheduled, as plain values, whatever the kind of scheduler tells."""
        ended, submit = self.jobs.end != UNKNOWN, self.workload.submit
        of = Ended(submit[ended], self.jobs.run[ended], self.jobs.end[ended], int(submit.min()))
        told: dict[str, Any] = json_value(self.settings.scheduler_kind.facts(self.settings, self.counts, of))
        return told

    @property
    def _lost(self) -> dict[str, int]:
        """How many jobs failed, or were cancelled, if any: only what-if events make them so."""
        lost = (JobState.FAILED, JobState.CANCELLED)
        counts = {STATES[state]: int((self.jobs.state == state).sum()) for state in lost}
        return counts if any(counts.values()) else {}

    @property
    def queue(self) -> polars.DataFrame:
        """How many jobs waited (queued or holding) from each `time` on: columns time, waiting."""
        import polars

        times, waiting = metrics.queue_over_time(self.workload.submit, self._left_queue)
        return polars.DataFrame({"time": times, "waiting": waiting})

    @property
    def _left_queue(self) -> Ints:
        return np.where(self.started, self.jobs.start, self.jobs.end)

    def _used(self) -> int:
        """Return the node-seconds of running jobs."""
        had = self.allocations
        if had is not None:
            return node_seconds(had.nodes, had.end - had.start)
        return node_seconds(self.workload.nodes[self.started], (self.jobs.end - self.jobs.start)[self.started])

    def _offered_load(self) -> float | None:
        """Return the work in node-seconds, divided by the machine's between the first and the last submission.

        None: there is no such time, or logs need not say how long jobs run.
        """
        if "run" in self.settings.scheduler_kind.implied:
            return None
        span = int(self.workload.submit.max() - self.workload.submit.min())
        return node_seconds(self.workload.nodes, self.workload.run) / (self.nodes * span) if span else None

    def _group(self, chosen: Any) -> dict[str, Any]:
        work, jobs = self.workload, self.jobs
        ran = chosen & self.started
        waits = jobs.start[ran] - work.submit[ran]
        completed = ~np.isin(jobs.state[ran], (JobState.FAILED, JobState.CANCELLED))
        synchronised = ran & (jobs.pair != UNKNOWN)
        sync = jobs.start[synchronised] - jobs.ready[synchronised]
        return {"jobs": int(chosen.sum()), **metrics.group(waits, completed, jobs.run[ran], sync)}


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """The result of a replay, with `domains` by name. `stalled`: holds would have changed places for ever."""

    domains: Mapping[str, DomainResult]
    pairing: Pairing
    stalled: bool
    events: list[dict[str, Any]] | None
    timing: dict[str, float]
    script: Sequence[dict[str, Any]] = ()  # the what-if events, as the summary lists them

    @cached_property
    def pairs(self) -> dict[str, Any]:
        """How many pairs started together, apart (with the gaps, in seconds) or not at all."""
        starts = self.pairing.of_pairs([domain.last_start for domain in self.domains.values()])
        both = (starts != UNKNOWN).all(axis=1)
        gaps = np.abs(starts[:, 0] - starts[:, 1])[both]
        return {
            "pairs": len(self.pairing.row),
            "together": int((gaps == 0).sum()),
            "desynchronised": int((gaps > 0).sum()),
            "never": int((~both).sum()),
            "dropped": self.pairing.dropped,
            "gap_s": metrics.spread(gaps[gaps > 0]),
        }

    @cached_property
    def groups(self) -> dict[str, Any]:
        """How many groups started together, apart (with the gaps, in seconds) or not at all; pairs are none.

        A group with windows has started together if each job has started within its own, and else is apart by as many
        seconds as the windows would have to be longer.
        """
        last = [domain.last_start for domain in self.domains.values()]
        starts = [np.array([last[domain][job] for domain, job in group.members]) for group in self.pairing.groups]
        windows = [np.array(group.windows or [TOGETHER]) for group in self.pairing.groups]
        with_windows = sum(bool(group.windows) for group in self.pairing.groups)
        started = [(of, given) for of, given in zip(starts, windows, strict=True) if (of != UNKNOWN).all()]
        gaps = np.array([max(0, (of - to[:, 1]).max() - (of - to[:, 0]).min()) for of, to in started], np.int64)
        return {
            "groups": len(starts),
            "members": sum(map(len, starts)),
            **({"with_windows": with_windows} if with_windows else {}),
            "together": int((gaps == 0).sum()),
            "desynchronised": int((gaps > 0).sum()),
            "never": len(starts) - len(gaps),
            "gap_s": metrics.spread(gaps[gaps > 0]),
        }

    def summary(self) -> dict[str, Any]:
        """Return the content of summary.json, without version, command and seed."""
        return {
            "timing": self.timing,
            "stalled": self.stalled,
            **({"script": list(self.script)} if self.script else {}),
            "domains": {name: domain.metrics for name, domain in self.domains.items()},
            "pairs": self.pairs,
            **({"groups": self.groups} if self.pairing.groups else {}),
        }

    @cached_property
    def jobs(self) -> polars.DataFrame:
        """All jobs as a data frame with the columns of jobs.csv, and `wait_s`, from submission to start."""
        import polars

        jobs = polars.concat(self.frame(name, slice(None)) for name in self.domains)
        return jobs.with_columns(wait_s=polars.col("start") - polars.col("submit"))

    def frame(self, name: str, rows: slice) -> polars.DataFrame:
        """Return some rows of one domain's jobs as a data frame."""
        return frame_of(self.job_columns(name, rows))

    def job_columns(self, name: str, rows: slice) -> Table:
        """Return some rows of one domain's jobs, with the columns of jobs.csv."""
        domain = self.domains[name]
        work, jobs = domain.workload, domain.jobs
        return {
            "domain": [name] * len(work.job_id[rows]),
            "job_id": _texts(work.job_id[rows]),
            "submit": work.submit[rows],
            **{key: Known(getattr(jobs, key)[rows]) for key in ("ready", "start", "end")},
            "nodes": work.nodes[rows],
            "requested_s": work.requested[rows],
            "run_s": work.run[rows],
            "pair": Known(jobs.pair[rows]),
            "mate_job_id": self._mate_ids(name, rows),
            **{key: getattr(jobs, key)[rows] for key in ("holds", "yields", "held_node_seconds")},
            "state": _states(jobs.state[rows], jobs.start[rows]),
        }

    def allocation_columns(self, name: str) -> Table:
        """Return the allocations of one domain's jobs, with the columns of allocations.csv."""
        domain = self.domains[name]
        had = domain.allocations or no_allocations()
        return {
            "domain": [name] * len(had.row),
            "job_id": _texts(domain.workload.job_id[had.row]),
            "allocation": had.number,
            **{key: getattr(had, key) for key in ("nodes", "start", "end")},
            "ended": _names(AllocationEnd, had.ended),
            **{key: getattr(had, key).tolist() for key in self._given_names},
        }

    @cached_property
    def _given_names(self) -> list[str]:
        """Columns of names that some scheduler has given: to nodes, or to all nodes of a job."""
        had = [domain.allocations for domain in self.domains.values() if domain.allocations is not None]
        return [key for key in ("where", "resource") if any(getattr(each, key).any() for each in had)]

    def hold_columns(self, name: str) -> Table:
        """Return the holds of one domain, which must have been recorded, with the columns of holds.csv."""
        domain = self.domains[name]
        holds = domain.holds
        assert holds is not None
        return {
            "domain": [name] * len(holds.row),
            "job_id": _texts(domain.workload.job_id[holds.row]),
            "nodes": domain.workload.least_nodes[holds.row],
            "begin": holds.begin,
            "end": holds.end,
            "ended": _names(HoldEnd, holds.ended),
        }

    def yield_columns(self, name: str) -> Table:
        """Return the yields of one domain, which must have been recorded, with the columns of yields.csv."""
        yields = self.domains[name].yields
        assert yields is not None
        return {"domain": [name] * len(yields.time), "time": yields.time, "yields": yields.count}

    def _mate_ids(self, name: str, rows: slice) -> list[str | None]:
        jobs, ids = self.domains[name].jobs, self._ids
        found = [
            None if mate == UNKNOWN else str(ids[domain][mate])
            for domain, mate in zip(jobs.mate_domain[rows].tolist(), jobs.mate[rows].tolist(), strict=True)
        ]
        for place, row in enumerate(range(*rows.indices(len(jobs.mate)))) if self.pairing.groups else ():
            found[place] = self._others.get((name, row), found[place])
        return found

    @cached_property
    def _ids(self) -> list[JobIds]:
        return [domain.workload.job_id for domain in self.domains.values()]

    @cached_property
    def _others(self) -> dict[tuple[str, int], str]:
        """For each member of a group, by its domain and its row there, the other members: `DOMAIN:ID DOMAIN:ID`."""
        names, ids, others = list(self.domains), self._ids, {}
        for group in self.pairing.groups:
            told = {domain: f"{names[domain]}:{ids[domain][job]}" for domain, job in group.members}
            for domain, job in group.members:
                others[names[domain], job] = " ".join(text for other, text in told.items() if other != domain)
        return others


def _states(state: Ints, start: Ints) -> list[str]:
    """Return how jobs ended; one that has started and not ended was queued again."""
    not_ended = np.where(start == UNKNOWN, len(JobState), len(JobState) + 1)
    told: list[str] = _STATES[np.where(_IS_TOLD[state], state, not_ended)].tolist()
    return told


def _names(kind: type[IntEnum], numbers: Ints) -> list[str]:
    """Return the names that these numbers have."""
    return [kind(number).name.lower() for number in numbers.tolist()]


def _texts(ids: JobIds) -> list[str]:
    return list(map(str, ids.tolist()))
