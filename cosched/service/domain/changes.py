"""What one turn of a live domain changed: to be written in one transaction, and then to be done outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from cosched.core.effects import Answer, Call, ClearTimer, PassOver, Release, Reschedule, SetTimer, Start, Try, Yield
from cosched.core.protocol import Domain, JobId, MateStarted, MateTried
from cosched.service.store import AuditRecord, EventRecord, JobRecord, Store


class Cancel(NamedTuple):
    """End a job; until that is done the order is on the job's record (`cancelled_by`)."""

    job: JobId


Order = Start | Yield | Release | Try | Reschedule | PassOver | Cancel  # what a resource manager is told


@dataclass(slots=True)
class DoneRequest:
    """A user's request that was carried out: a repetition of it changes nothing more."""

    who: str
    request_id: str
    method: str
    job: int | None


@dataclass(slots=True)
class Changes:
    """Written in this order: jobs, events, answers, requests, audit, values. Then done: timers, orders, calls, and
    replies.
    """

    touched: dict[JobId, None] = field(default_factory=dict)  # jobs that may have changed, in order
    found: list[JobRecord] = field(default_factory=list)  # new ones, of a resource manager that takes submissions
    jobs: dict[int, JobRecord] = field(default_factory=dict)
    events: list[EventRecord] = field(default_factory=list)
    answers: dict[tuple[Domain, JobId], tuple[str, MateTried | MateStarted]] = field(default_factory=dict)
    requests: list[DoneRequest] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)  # by key

    timers: list[SetTimer | ClearTimer] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    replies: list[Answer] = field(default_factory=list)  # to calls that change something

    @property
    def to_write(self) -> bool:
        """Whether anything is to be written."""
        return any((self.found, self.jobs, self.events, self.answers, self.requests, self.audits, self.values))

    def write(self, store: Store) -> None:
        """All of it in one transaction; StoreError."""
        with store.transaction():
            store.put_jobs(self.found)
            store.save_jobs(self.jobs.values())
            store.add_events(self.events)
            for (peer, caller), (request_id, reply) in self.answers.items():
                store.save_answer(peer, caller, request_id, type(reply).__name__, reply.started, reply.start_at)
            for request in self.requests:
                store.save_reply(request.who, request.request_id, request.method, request.job, "")
            for audit in self.audits:
                store.add_audit(audit)
            for key, value in self.values.items():
                store.set_meta(key, value)
