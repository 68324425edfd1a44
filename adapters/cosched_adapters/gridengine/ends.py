"""How a Grid Engine job has ended, translated into our reports."""

from __future__ import annotations

import time
from collections.abc import Sequence

from cosched_adapters.batch_job import SECOND, end_of
from cosched_adapters.gridengine.batch_job import BatchJob
from cosched_adapters.gridengine.commands import RESCHEDULED, Record
from cosched_adapters.manager import End, Ended

_SIGNALLED = 128  # is added to the signal that has ended a job
_KILLED = 100  # failed: "assumedly after job": a signal has ended it, often ours


def ended(job: BatchJob, records: Sequence[Record]) -> Ended | None:
    """Return the report of a job that was let go and is gone; None: accounting does not have its end yet."""
    ends = [record for record in records if record.failed != RESCHEDULED]
    return _ended(job, ends[-1]) if ends else None


def _ended(job: BatchJob, record: Record) -> Ended:
    at = record.ended_at or time.time()
    if record.started_at is None:
        how = End.CANCELLED if job.deleted or record.failed == _KILLED else End.UNSTARTED
        return Ended(job.job_id, how, round(at * SECOND), reason="" if how is End.CANCELLED else record.why)
    began = job.started or record.started_at
    signal = record.exit_status - _SIGNALLED if record.exit_status > _SIGNALLED else None
    how = _how(job, record, signal)
    over = max(at, began)  # accounting has whole seconds
    return end_of(job.job_id, how, over, began, record.exit_status, signal, record.why if how is End.LOST else "")


def _how(job: BatchJob, record: Record, signal: int | None) -> End:
    if job.deleted:
        return End.CANCELLED
    if record.failed not in (0, _KILLED):
        return End.LOST
    if signal is None:
        return End.EXITED
    ran = (record.ended_at or 0) - (record.started_at or 0)
    return End.TIMEOUT if 0 < job.time_limit <= ran else End.SIGNALLED
