"""Months cut from two real job logs, one in the place of Intrepid and one in that of Eureka."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from cosched.words.errors import InputError
from cosched_papers.studies.tang2011.setup import LOADS, MACHINES, MEDIUM, GeneratedMonths, Settings
from cosched_sim.configuration import replay_config
from cosched_sim.replaying import read_machine
from cosched_sim.workload import traces
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.log_options import LogOptions

DAY_S = 86_400
KEYS = ("trace", "nodes", "procs_per_node", "format", "cut", *(field.name for field in fields(LogOptions)))
"""The settings of a log, as in --domain."""
RACKS_NODES = 40_960  # the nodes of Intrepid, whose partitions are known


@dataclass(frozen=True, slots=True)
class Log:
    """A cleaned job log and the nodes of its machine."""

    jobs: Workload
    nodes: int


def read_log(option: str, settings: Mapping[str, str], say: Callable[[str], None]) -> Log:
    """Read the log of a domain's settings ("trace", "nodes", ...); InputError names the option."""
    wrong = next((key for key in settings if key not in KEYS), None)
    if wrong:
        raise InputError(option, wrong, f"no key of a log; there are {', '.join(KEYS[1:])}")
    config = replay_config(lambda _, key: (option, key), {"domains": [{"name": "log", **settings}]})
    try:
        jobs, nodes = read_machine(config.domains[0], config)
    except InputError as error:
        source = option if error.source == "--domain log" else error.source
        raise InputError(source, error.where, error.reason) from None
    for message in (*traces.left_out_messages(jobs), *jobs.remarks):
        say(message)
    return Log(rows_of(jobs, np.argsort(jobs.submit, kind="stable")), nodes)


@dataclass(frozen=True)
class LogMonths(GeneratedMonths):
    """The windows that `cut_months` has written: a file for each machine, purpose and replication."""

    folder: Path
    nodes: tuple[int, int]

    longer = generated = False

    @property
    def partitioned(self) -> bool:  # type: ignore[override]
        """Whether the log is from a machine like Intrepid."""
        return self.nodes[0] == RACKS_NODES

    def intrepid(self, replication: int, days: float) -> Settings:  # noqa: ARG002  (all windows have these days)
        """Return Intrepid's jobs; all windows have the same length in days."""
        return self._settings(0, "month", replication)

    def eureka(self, replication: int, load: float, days: float) -> Settings:  # noqa: ARG002
        """Return as much of Eureka's log as makes this load, packed into the length of a window."""
        return self._settings(1, f"{load:g}", replication)

    def eureka_of_many(self, replication: int, days: float, load: float = MEDIUM) -> Settings:  # noqa: ARG002
        """Return as many jobs as Intrepid's window has, in the same span, with scaled run times."""
        return self._settings(1, "many", replication)

    def file(self, machine: int, purpose: str, replication: int) -> Path:
        """Return the path of a window."""
        return self.folder / f"{MACHINES[machine]}-{purpose}-{replication:02}.swf.gz"

    def _settings(self, machine: int, purpose: str, replication: int) -> Settings:
        return {"trace": str(self.file(machine, purpose, replication)), "nodes": self.nodes[machine]}


def cut_months(logs: Sequence[Log], replications: int, days: float, folder: Path) -> tuple[LogMonths, int]:
    """Write windows of both logs, spread evenly over the logs, to `folder`; return them and their number.

    A log that is no longer than a window gives only one. OSError.
    """
    intrepid, eureka = logs
    folder.mkdir(parents=True, exist_ok=True)
    months = LogMonths(folder.resolve(), (intrepid.nodes, eureka.nodes))
    span_s = round(days * DAY_S)
    if _span(intrepid.jobs) <= span_s:
        replications = 1
    for replication, month in enumerate(_months(intrepid.jobs, span_s, replications), 1):
        share = Fraction(replication - 1, max(replications - 1, 1))
        write_log(months.file(0, "month", replication), month, intrepid.nodes)
        for load in LOADS:
            write_log(months.file(1, f"{load:g}", replication), _packed(eureka, load, span_s, share), eureka.nodes)
        many = _of_many(eureka, len(month), span_s, share)
        write_log(months.file(1, "many", replication), many, eureka.nodes)
    return months, replications


def windows_overlap(logs: Sequence[Log], count: int, days: float) -> bool:
    """Return whether `count` windows of Intrepid's log share jobs, or those of Eureka's log at a high load do."""
    intrepid, eureka = logs
    work = int((eureka.jobs.run * eureka.jobs.nodes).sum())
    needed = max(LOADS) * eureka.nodes * days * DAY_S
    return count > 1 and (count * days * DAY_S > _span(intrepid.jobs) or count * needed > work)


def _months(jobs: Workload, span_s: int, count: int) -> Iterator[Workload]:
    """Yield windows in time; the first begins at the first submission, the last ends at the last submission."""
    first, spare = int(jobs.submit[0]), max(_span(jobs) - span_s, 0)
    for number in range(count):
        start = first + spare * number // max(count - 1, 1)
        yield from_zero(traces.cut(jobs, start, start + span_s + 1))


def _packed(log: Log, load: float, span_s: int, share: Fraction) -> Workload:
    """Return jobs that make a load in a span; they start at `share` of the way to the last possible start."""
    work = np.cumsum(log.jobs.run * log.jobs.nodes)
    needed = round(load * log.nodes * span_s)
    latest = int(np.searchsorted(work, int(work[-1]) - needed)) if work[-1] > needed else 0
    begin = _place(log.jobs, latest, share)
    before = int(work[begin - 1]) if begin else 0
    end = max(int(np.searchsorted(work, before + needed)) + 1, begin + 2)
    return from_zero(traces.scale_to_load(rows_of(log.jobs, slice(begin, end)), log.nodes, str(load)))


def _of_many(log: Log, count: int, span_s: int, share: Fraction) -> Workload:
    """Return `count` jobs (or all) in a span, with run and requested times scaled to a medium load."""
    count = min(count, len(log.jobs))
    begin = _place(log.jobs, len(log.jobs) - count, share)
    window = rows_of(log.jobs, slice(begin, begin + count))
    window = traces.scale(window, Fraction(span_s, max(_span(window), 1)))
    factor = MEDIUM * log.nodes * span_s / int((window.run * window.nodes).sum())
    run = np.maximum(np.rint(window.run * factor), 1).astype(np.int64)
    requested = np.maximum(np.ceil(window.requested * factor).astype(np.int64), run)
    return from_zero(replace(window, run=run, requested=requested))


def _place(jobs: Workload, latest: int, share: Fraction) -> int:
    """Return the row at which `share` of the time up to the row `latest` has passed."""
    first, last = int(jobs.submit[0]), int(jobs.submit[latest])
    return min(int(np.searchsorted(jobs.submit, first + int((last - first) * share))), latest)


def _span(jobs: Workload) -> int:
    return int(jobs.submit[-1] - jobs.submit[0])


def rows_of(jobs: Workload, rows: slice | np.ndarray) -> Workload:
    """Return some jobs of a workload."""
    columns = {name: getattr(jobs, name)[rows] for name in ("job_id", "submit", "run", "nodes", "requested")}
    return replace(jobs, **columns)


def from_zero(jobs: Workload) -> Workload:
    """Return the same jobs, of which the first one is submitted at 0."""
    return replace(jobs, submit=jobs.submit - jobs.submit[0])


def write_log(path: Path, jobs: Workload, nodes: int) -> None:
    """Write the jobs of a machine of so many nodes; OSError."""
    traces.write_swf(jobs, path, {"MaxNodes": str(nodes), "MaxProcs": str(nodes)})
