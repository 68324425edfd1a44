"""The records of the store. Instants are seconds of the service's own time."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, NamedTuple

from cosched.core.job import JobState
from cosched.core.protocol import NO_MATE, Domain, JobId, Named, Window, named_group, named_mate
from cosched.core.scheduling.run_times import Origin, Runs

_FAST = 1  # zlib level: everything waits while scripts are compressed


@dataclass(slots=True)
class JobRecord:
    """A job of this domain; its fields are the columns of the table jobs, in their order.

    `ended_at` is set if and only if `state` is final.
    """

    id: int
    name: str
    owner: str
    uid: int | None
    nodes: int
    time_limit: int  # seconds
    submitted_at: int
    state: JobState
    reason: str = ""
    user_hold: bool = False
    ready_at: int | None = None
    started_at: int | None = None
    ended_at: int | None = None
    exit_code: int | None = None
    end_text: str = ""  # for people: why it ended
    lookup: int = 0  # cosched.v1.MateLookup
    mate_status: int = 0  # cosched.v1.MateStatus
    heard_at: int | None = None
    gap_s: int | None = None
    cancelled_by: str | None = None  # who cancelled it while it ran
    preempted_at: int | None = None  # since when the end of its last run is awaited; None: nothing of it is left
    group_name: str | None = None  # of its pair or group; None: it has none
    is_pair: bool = False  # it has a mate, and no group of that name
    account: str = ""  # which the batch system charges; empty: none
    columns: str | None = None  # JSON: what it says beside its size and time, as text; None: nothing
    predictions: str | None = None  # JSON: what a running one predicts of each of its sizes
    sizing: str | None = None  # JSON: the nodes that a running one has and was told of; see domain.sizing
    place: str | None = None  # JSON: where it can be reached, as it says: node list, host, port
    mates: dict[Domain, JobId | None] = field(default_factory=dict)  # the others, by domain, in order; None: not known
    memory: dict[str, Any] | None = None  # the coscheduler's own state of the job, as JSON

    @property
    def is_launched(self) -> bool:
        """Whether it runs in its manager now, or is about to: not while its last run, which was preempted, ends."""
        return self.state is JobState.RUNNING and self.preempted_at is None

    @property
    def paired(self) -> bool:
        """Whether it starts with others."""
        return bool(self.mates)

    @property
    def mate(self) -> Named:
        """Its mate in a pair, whose id may have been learnt; NO_MATE: it is in no pair."""
        if not self.is_pair:
            return NO_MATE
        [(peer, job)] = self.mates.items()
        return named_mate(peer, self.group_name, job, (self.memory or {}).get("group", {}).get("or_alone", False))

    @property
    def named(self) -> Named:
        """The group, or the mate, that it names."""
        if self.is_pair or not self.mates:
            return self.mate
        kept = (self.memory or {}).get("group", {})
        windows = tuple(Window(domain, *window) for domain, window in sorted(kept.get("windows", {}).items()))
        or_alone, at, ids = kept.get("or_alone", False), kept.get("at"), tuple(kept.get("ids", {}).items())
        return named_group(self.group_name or "", tuple(self.mates), or_alone, windows, at, ids)

    @property
    def starts_by(self) -> dict[str, int]:
        """By when the other members of its group start, by domain and their windows; empty before it has begun."""
        named, kept = self.named, (self.memory or {}).get("group", {})
        if named.is_pair or self.started_at is None or not kept.get("started_by"):
            return {}
        instant = self.started_at - next((own.earliest for own in named.windows if own.domain not in named.others), 0)
        latest, without = {window.domain: window.latest for window in named.windows}, kept.get("without", ())
        return {peer: instant + latest.get(peer, 0) for peer in named.others if peer not in without}

    @property
    def adoptable(self) -> bool:
        """Whether its owner lets a job that names it have it: it names nobody."""
        return bool((self.memory or {}).get("adoptable")) and not self.paired

    @property
    def slot(self) -> int | None:
        """The slot of a queued job, if it has one."""
        return (self.memory or {}).get("slot") if self.state is JobState.QUEUED else None


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


JOB_COLUMNS = tuple(column.name for column in fields(JobRecord))
EVENT_COLUMNS = tuple(column.name for column in fields(EventRecord))
AUDIT_COLUMNS = tuple(column.name for column in fields(AuditRecord))
ESTIMATE_COLUMNS = tuple(column.name for column in fields(EstimateRecord))

_plain_job_values = attrgetter(*JOB_COLUMNS[:-2])
_plain_event_values = attrgetter(*EVENT_COLUMNS[:-1])
audit_row = attrgetter(*AUDIT_COLUMNS)
estimate_row = attrgetter(*ESTIMATE_COLUMNS)

_to_json = json.JSONEncoder(separators=(",", ":")).encode
_mates_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode  # as json_object() of SQLite


def job_row(job: JobRecord) -> tuple[Any, ...]:
    """Return the job's values of JOB_COLUMNS."""
    mates = _mates_to_json(job.mates) if job.mates else None
    return *_plain_job_values(job), mates, None if job.memory is None else _to_json(job.memory)


def job_of(row: tuple[Any, ...]) -> JobRecord:
    """Return the job with these values of JOB_COLUMNS; ValueError if they are not a job's."""
    job = JobRecord(*row)
    job.state = JobState(job.state)
    job.user_hold, job.is_pair = bool(job.user_hold), bool(job.is_pair)
    job.mates = {} if row[-2] is None else json.loads(row[-2])
    if row[-1] is not None:
        job.memory = json.loads(row[-1])
    return job


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
