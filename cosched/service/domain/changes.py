"""What one turn of a live domain changes: noted here, to be written in one transaction, and then to be done outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import add
from typing import Any, NamedTuple

from cosched.core.allocation import SizeChanged
from cosched.core.effects import Answer, Call, Start
from cosched.core.protocol import FOREVER, Domain, JobId, MutatingReply, Reply
from cosched.core.scheduling.run_times import Changed
from cosched.core.scheduling.scheduler import Order as SchedulersOrder
from cosched.core.scheduling.starts import Starts
from cosched.core.story import What
from cosched.service.clock import Clock
from cosched.service.domain.charges import Charge, Cost
from cosched.service.domain.story import KINDS, Noted
from cosched.service.store import AuditRecord, EventRecord, JobRecord, Store


class Cancel(NamedTuple):
    """End a job; until that is done the order is on the job's record (`cancelled_by`)."""

    job: JobId


class Preempt(NamedTuple):
    """End a job's run, as it is queued again, or is to be; until then the order is on record (`preempted_at`)."""

    job: JobId
    keeps_work: bool = False  # told to a manager that plays jobs: others start them anew, and what they keep is theirs


LauncherOrder = Start | SizeChanged | Preempt  # what is told to a manager that runs what our scheduler has chosen
SystemOrder = Start | Preempt | SchedulersOrder  # to a batch system
Order = LauncherOrder | SystemOrder | Cancel


@dataclass(slots=True)
class DoneRequest:
    """A user's request that was carried out: a repetition of it changes nothing more."""

    who: str
    request_id: str
    method: str
    job: int | None
    refused: str = ""  # why it was refused after the job was recorded


@dataclass(slots=True)
class Changes:
    """Written in this order: jobs, events, starts, answers, requests, audit, run times, charges, values; then refused
    jobs are deleted. Then done: looks, the timer, orders, calls, and replies.
    """

    found: list[JobRecord] = field(default_factory=list)  # new ones, of a resource manager that takes submissions
    jobs: dict[int, JobRecord] = field(default_factory=dict)
    events: list[EventRecord] = field(default_factory=list)
    answers: dict[tuple[Domain, JobId], tuple[str, MutatingReply]] = field(default_factory=dict)
    requests: list[DoneRequest] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    starts: dict[tuple[str, int], Starts] = field(default_factory=dict)  # by owner and hour
    run_times: list[Changed] = field(default_factory=list)
    charges: dict[Charge, Cost] = field(default_factory=dict)  # to be added
    values: dict[str, str] = field(default_factory=dict)  # by key
    refused: list[int] = field(default_factory=list)  # jobs that ended since they were: nothing of them stays

    looks: list[tuple[int, int]] = field(default_factory=list)  # when to look again, and how many looks were in vain
    awaited: JobId | None = None  # the iteration waits for this job's answers
    wake_at: float = FOREVER  # when the first timer is due
    orders: list[Order] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    decisions: list[Call] = field(default_factory=list)  # those by which groups start
    replies: list[Answer] = field(default_factory=list)  # to calls that change something
    reply: Reply | None = None  # the last answer to a peer's question

    @property
    def to_write(self) -> bool:
        """Whether anything is to be written."""
        kept = self.found, self.jobs, self.events, self.answers, self.requests, self.audits, self.starts, self.values
        return any((*kept, self.run_times, self.charges))

    def write(self, store: Store) -> None:
        """Write all of it in one transaction; StoreError."""
        with store.transaction():
            steps: tuple[tuple[Callable[[Any], None], Any], ...] = (
                (store.put_jobs, self.found),
                (store.save_jobs, self.jobs.values()),
                (store.add_events, self.events),
                (store.save_starts, self.starts),
            )
            for write, what in steps:
                if what:
                    write(what)
            for (peer, caller), (request_id, reply) in self.answers.items():
                store.save_answer(peer, caller, request_id, type(reply).__name__, reply)
            if self.requests or self.audits:
                self.write_requests(store)
            for changed in self.run_times:
                store.save_run_times(changed)
            if self.charges:
                store.add_charges(list(map(add, self.charges, self.charges.values())))
            for key, value in self.values.items():
                store.set_meta(key, value)
            if self.refused:
                store.drop_jobs(self.refused)

    def write_requests(self, store: Store) -> None:
        """Write what users requested, and the audit, in the present transaction; StoreError."""
        for request in self.requests:
            store.save_reply(request.who, request.request_id, request.method, request.job, request.refused)
        for audit in self.audits:
            store.add_audit(audit)


class Journal:
    """The notes of one domain; taken only in a turn."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.clock = clock
        self.now = clock.now()  # the instant of the present turn, or of the last one
        self.changes = Changes()
        self.calls_after = 0  # how many of the store's transactions must be on disk before a peer is called
        self._sequence = store.last_sequence()

    def save(self, record: JobRecord) -> None:
        """Write the record at the end of this turn."""
        self.changes.jobs[record.id] = record

    def note(self, job: JobId | None, what: What | Noted, **detail: object) -> None:
        """Tell something in the story."""
        self._sequence += 1
        told = {key: value for key, value in detail.items() if value is not None}
        number = int(job) if job is not None else None
        self.changes.events.append(EventRecord(self._sequence, self.now, KINDS[what], number, what, told))
