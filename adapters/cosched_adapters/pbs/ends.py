"""How a PBS job has ended, translated into our reports."""

from __future__ import annotations

import time

from cosched_adapters.batch_job import end_of
from cosched_adapters.manager import End, Ended
from cosched_adapters.pbs.commands import JobRow

_DELETED = 91  # substate
_SIGNALLED = (256, 128)  # what is added to the signal that has ended a job: by PBS, by its shell
_OF_PBS = {-29: (End.TIMEOUT, ""), -4: (End.UNSTARTED, "it could not be started"), -1: (End.UNSTARTED, "")}


def ended(row: JobRow, started_at: float | None = None) -> Ended:
    """Return the report of a job that qstat shows as finished; `started_at`: as we know it, seconds since 1970."""
    began = started_at if row.started_at is None else row.started_at
    code, signal = row.exit_code, _signal(row.exit_code)
    how, reason = End.EXITED, ""
    if row.substate == _DELETED or code is None:
        how = End.CANCELLED
    elif code < 0:
        how, reason = _OF_PBS.get(code, (End.LOST, f"PBS says {code}"))
    elif signal is not None:
        how = End.SIGNALLED
    return end_of(row.job_id, how, row.ended_at or time.time(), began, code, signal, reason)


def _signal(code: int | None) -> int | None:
    return next((code - base for base in _SIGNALLED if code is not None and code > base), None)
