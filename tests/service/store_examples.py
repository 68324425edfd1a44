"""Records to store, and stores to keep them in."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from cosched.core.job import JobState
from cosched.service.store import AuditRecord, EventRecord, JobRecord, JobScript, Store
from cosched.service.store.records import kept_of
from tests.service.job_records import queued

DOMAIN = "intrepid"
SCRIPT = JobScript(b"#!/bin/sh\nsleep 1\n", ("one", "two words"), "/home/alice", {"TOKEN": "hunter2", "LANG": "C"})


def job(id: int, state: JobState = JobState.QUEUED, **fields) -> JobRecord:
    """A job; if its state is final it ended at the instant 100 unless `fields` says otherwise.

    `memory`: what its database keeps of it, as another version wrote it.
    """
    if state.final:
        fields = {"ended_at": 100, **fields}
    memory = fields.pop("memory", None)
    plain = {"name": f"job {id}", "owner": "alice", "domain": DOMAIN, "uid": 1000}
    record = queued(id, fields.pop("nodes", 4), fields.pop("time_limit", 3600), 10, state=state, **{**plain, **fields})
    if memory is not None:
        record.kept = kept_of(record.job, {}) | {"memory": memory}
    return record


def event(sequence: int, job: int | None = None, at: int = 50, kind: int = 1) -> EventRecord:
    return EventRecord(sequence, at, kind, job, f"event {sequence}", {"nodes": "4", "why": "Grüße\n"})


def audit(at: int, outcome: str = "OK") -> AuditRecord:
    return AuditRecord(at, "alice", "socket uid 1000", "SubmitJob", "1", outcome, "")


def add(store: Store, jobs: Iterable[JobRecord] = (), events: Iterable[EventRecord] = ()) -> None:
    """Add all that in one transaction."""
    with store.transaction():
        for record in jobs:
            store.add_job(record, SCRIPT)
        store.add_events(events)


def retire(store: Store, before: int) -> int:
    with store.transaction():
        return store.retire(before)


def make(path: Path, jobs: int = 1) -> None:
    """A closed database of DOMAIN with so many ended jobs, each with an event."""
    with closing(Store.open(path, DOMAIN)) as store:
        numbers = range(1, jobs + 1)
        add(store, (job(n, JobState.COMPLETED) for n in numbers), (event(n, job=n) for n in numbers))


def execute(path, *statements):
    """Change a database behind its store's back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
