"""The records of the store. Instants are seconds of the service's own time."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, NamedTuple

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.membership import Membership
from cosched.core.job import JobState
from cosched.core.kept import Plain, restore, to_plain
from cosched.core.protocol import Domain, JobId, Named
from cosched.core.scheduling.run_times import Origin, Runs
from cosched.core.scheduling.scheduler import WITH_NODES

SCHEDULER = "scheduler"  # the key of what a job's scheduler keeps of it, in the column memory
_FAST = 1  # zlib level: everything waits while scripts are compressed


@dataclass(slots=True)
class JobRecord:
    """A job of this domain: what its owner, its manager and its peers say of it, and `job`, what the core knows of it.

    `job` is the core's own, while the domain has the job. `ended_at` is set if and only if its state is final.
    """

    id: int
    name: str
    owner: str
    uid: int | None
    nodes: int
    time_limit: int  # seconds
    submitted_at: int
    job: PairedJob
    reason: str = ""
    user_hold: bool = False
    ended_at: int | None = None
    exit_code: int | None = None
    end_text: str = ""  # for people: why it ended
    lookup: int = 0  # cosched.v1.MateLookup
    mate_status: int = 0  # cosched.v1.MateStatus
    heard_at: int | None = None
    gap_s: int | None = None  # how much later it began than those that start with it, as was foreseen at its start
    cancelled_by: str | None = None  # who, or what, has ordered its end
    preempted_at: int | None = None  # since when the end of a run is awaited, for its job is queued again; else None
    account: str = ""  # which the batch system charges; empty: none
    columns: str | None = None  # JSON: what it says beside its size and time, as text; None: nothing
    predictions: str | None = None  # JSON: what a running one predicts of each of its sizes
    sizing: str | None = None  # JSON: the nodes that a running one has and was told of; see domain.sizing
    place: str | None = None  # JSON: where it can be reached, as it says: node list, host, port
    began_at: float | None = None  # when its manager began to run it; None: it has not, as far as is known
    apart_s: float | None = None  # the same, as measured; None: not known
    scheduled: Mapping[str, Any] = field(default_factory=dict)  # what its scheduler keeps of it (ClusterJob.to_keep)
    kept: Plain = field(default_factory=dict, repr=False, compare=False)  # what is on record of `job` and `scheduled`

    def is_up_to_date(self) -> bool:
        """Return whether all that is kept of the job is on record as it is now; from then on it is."""
        before, self.kept = self.kept, kept_of(self.job, self.scheduled)
        return self.kept == before

    @property
    def state(self) -> JobState:
        """Its state."""
        return self.job.state

    @property
    def started_at(self) -> int | None:
        """The instant of its start."""
        return self.job.started_at

    @property
    def is_starting(self) -> bool:
        """Whether its start was ordered, and its manager has not begun to run it yet."""
        return self.job.state is JobState.RUNNING and self.began_at is None

    @property
    def ran_from(self) -> float | None:
        """When it began; of one that has ended, as an earlier version recorded it: when that was ordered."""
        ordered = self.job.started_at
        if ordered is None or self.began_at is not None:
            return None if ordered is None else self.began_at
        return ordered if self.job.state.final else None

    @property
    def is_launched(self) -> bool:
        """Whether it runs in its manager now, or is about to: not while its last run, which was preempted, ends."""
        return self.job.state is JobState.RUNNING and self.preempted_at is None

    @property
    def allocation(self) -> Allocation | None:
        """What the job has, or had when it ended; None: it waits, or has had nothing."""
        state = self.job.state
        has = state in WITH_NODES or (state.final and self.job.started_at is not None)
        return self.job.allocation if has else None

    @property
    def node_count(self) -> int:
        """How many nodes the job has, or had when it ended; how many it needs, if it has had none."""
        allocation = self.allocation
        return self.nodes if allocation is None else allocation.nodes

    @property
    def paired(self) -> bool:
        """Whether it starts with others."""
        return self.job.group is not None

    @property
    def is_pair(self) -> bool:
        """Whether it has a mate, and no group of that name."""
        return self.job.is_pair

    @property
    def group_name(self) -> str | None:
        """The name of its pair or group; None: it has none."""
        return None if self.job.group is None else self.job.group.name or None

    @property
    def mates(self) -> dict[Domain, JobId | None]:
        """The others, by domain, in order; None: not known."""
        group = self.job.group
        return {} if group is None else {peer: group.jobs.get(peer) for peer in group.others}

    @property
    def named(self) -> Named:
        """The group, or the mate, that it names; the id of a mate may have been learnt. NO_MATE: it names nobody."""
        return self.job.named

    @property
    def starts_by(self) -> dict[str, int]:
        """By when the other members of its group start, by domain and their windows; empty before it has begun."""
        group, started = self.job.group, self.job.started_at
        if group is None or group.is_pair or started is None or not group.has_begun:
            return {}
        instant = started - group.window(group.own)[0]
        return {peer: instant + group.window(peer)[1] for peer in group.partners}

    @property
    def slot(self) -> int | None:
        """The slot of a queued job, if it has one."""
        return self.job.slot if self.job.state is JobState.QUEUED else None


@dataclass(frozen=True, slots=True)
class JobScript:
    """What a job runs. It may hold secrets, so `repr()` shows none of it."""

    script: bytes = field(repr=False)
    arguments: tuple[str, ...] = field(repr=False)
    directory: str = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class EventRecord:
    """Something that happened; `sequence` is its number in this domain, `what` a line for people."""

    sequence: int
    at: int
    kind: int  # cosched.v1.EventKind
    job: int | None
    what: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A call that changed something, or tried to."""

    at: int
    who: str
    via: str
    method: str
    job: str | None
    outcome: str  # OK, the name of the gRPC code, or NO_MATE
    detail: str
    times: int = 1  # equal refusals within a minute


@dataclass(slots=True)
class EstimateRecord:
    """A start that was expected; its fields are the columns of the table estimates, in their order."""

    job: int
    kind: int
    lead: int
    made_at: int
    start_at: int
    late: int | None = None  # seconds by which it started later; None: it has not


class Sample(NamedTuple):
    """What nodes and jobs did at an instant."""

    at: int
    idle: int
    busy: int
    held: int
    queued: int
    holding: int
    running: int


# Columns of what is kept of a job, and of what others say of it.
_OF_JOB = ("state", "ready_at", "started_at", "group_name", "is_pair", "mates", "memory")
_SAID = tuple(column.name for column in fields(JobRecord) if column.name not in ("job", "scheduled", "kept"))
JOB_COLUMNS = (*_SAID, *_OF_JOB)
EVENT_COLUMNS = tuple(column.name for column in fields(EventRecord))
AUDIT_COLUMNS = tuple(column.name for column in fields(AuditRecord))
ESTIMATE_COLUMNS = tuple(column.name for column in fields(EstimateRecord))

_said = attrgetter(*_SAID)
_plain_event_values = attrgetter(*EVENT_COLUMNS[:-1])
audit_row = attrgetter(*AUDIT_COLUMNS)
estimate_row = attrgetter(*ESTIMATE_COLUMNS)

_to_json = json.JSONEncoder(separators=(",", ":")).encode
_mates_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode  # as json_object() of SQLite


def kept_of(job: PairedJob, scheduled: Mapping[str, Any]) -> Plain:
    """Return what the database keeps of a job, by the names of its columns."""
    group, memory = job.group, to_plain(job)
    if scheduled:
        memory[SCHEDULER] = scheduled
    kept: Plain = {"state": job.state, "ready_at": job.ready_at, "started_at": job.started_at, "memory": memory}
    if group is not None:
        kept["mates"] = {**dict.fromkeys(group.others), **group.jobs}
        kept["group_name"], kept["is_pair"] = group.name or None, group.is_pair
    return kept


def job_row(job: JobRecord) -> tuple[Any, ...]:
    """Return the job's values of JOB_COLUMNS, as they were when it was up to date last."""
    kept = job.kept or kept_of(job.job, job.scheduled)
    mates = _mates_to_json(kept["mates"]) if "mates" in kept else None
    of_group = kept.get("group_name"), kept.get("is_pair", False), mates
    return *_said(job), kept["state"], kept["ready_at"], kept["started_at"], *of_group, _to_json(kept["memory"])


def job_of(domain: Domain, row: tuple[Any, ...]) -> JobRecord:
    """Return the job of this domain with these values of JOB_COLUMNS; ValueError if they are not a job's."""
    *said, state, ready_at, started_at, group_name, is_pair, mates, memory = row
    others: dict[Domain, JobId | None] = json.loads(mates or "{}")
    plain: Plain = json.loads(memory or "{}")
    job = PairedJob(str(said[0]), said[2], None, JobState(state), ready_at=ready_at, started_at=started_at)
    if others:
        job.group = Membership.of(domain, tuple(others), group_name or "", bool(is_pair))
        job.group.jobs = {peer: mate for peer, mate in others.items() if mate is not None}
    scheduled = plain.pop(SCHEDULER, {})
    record = JobRecord(*(*said[:7], restore(job, plain), *said[7:], scheduled))
    record.user_hold = bool(record.user_hold)
    record.kept = kept_of(job, scheduled)
    return record


def runs_row(origin: Origin, runs: Runs) -> tuple[Any, ...]:
    """Return the row of these runs in the table runs."""
    return *origin, runs.count, runs.total, str(runs.squares), _to_json(runs.histogram)


def runs_of(row: tuple[Any, ...]) -> tuple[Origin, Runs]:
    """Return the runs of such a row; ValueError if it is none."""
    *origin, count, total, squares, histogram = row
    counted = Counter({int(value): int(times) for value, times in json.loads(histogram).items()})
    return Origin(*origin), Runs(count, total, int(squares), counted)


def event_row(event: EventRecord) -> tuple[Any, ...]:
    """Return the event's values of EVENT_COLUMNS."""
    return *_plain_event_values(event), _to_json(event.detail)


def event_of(row: tuple[Any, ...]) -> EventRecord:
    """Return the event with these values of EVENT_COLUMNS; ValueError if they are not an event's."""
    sequence, at, kind, job, what, detail = row
    return EventRecord(sequence, at, kind, job, what, json.loads(detail))


def script_row(job: int, script: JobScript) -> tuple[int, bytes, bytes]:
    """Return the row of the job's script."""
    context = _to_json([script.arguments, script.directory, dict(script.environment)])
    return job, zlib.compress(script.script, _FAST), zlib.compress(context.encode(), _FAST)


def script_of(row: tuple[bytes, bytes]) -> JobScript:
    """Return the script with these values of the columns script and context; ValueError if they are not a script's."""
    try:
        script, context = map(zlib.decompress, row)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    arguments, directory, environment = json.loads(context)
    return JobScript(script, tuple(arguments), directory, environment)
