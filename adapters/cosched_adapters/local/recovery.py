"""Recovery of a launch after its supervisor died: end what is left of it, and record that. Imports little."""

from __future__ import annotations

import os
import time

from cosched_adapters.local import jobfile, record
from cosched_adapters.local.child import mark
from cosched_adapters.local.ending import kill_rest
from cosched_adapters.local.files import BadFileError
from cosched_adapters.local.jobfile import JobFile
from cosched_adapters.local.processes import boot
from cosched_adapters.local.record import Record

LOCK = "lock"  # held by the supervisor in charge
CANCEL = "cancel"  # the mark of a cancelled job
RESTARTED = "the host was restarted"


def recover(folder: str) -> JobFile | None:
    """Return the job if it has not been started yet and should be. Else record its end and return None.

    Call it with the folder's lock held. OSError if the record cannot be written.
    """
    old: Record | None = None
    try:
        old = record.read(folder)
        if old is not None and old.how is not None:
            return None
        job = jobfile.read(folder)
    except BadFileError as error:
        _clean_up(folder, old, f"its files cannot be used ({error})")
        return None
    if old is not None:
        _clean_up(folder, old, "its supervisor died")
    elif job.boot != boot():
        _end(folder, Record(boot(), None, None), "lost", f"{RESTARTED} before it is known to have started")
    elif cancelled(folder):
        _end(folder, Record(boot(), None, None), "cancelled", "cancelled before it started")
    else:
        return job
    return None


def give_up(folder: str, why: str) -> None:
    """End a launch that gets no supervisor. Call it with the lock held; OSError if the record cannot be written."""
    try:
        old = record.read(folder)
    except BadFileError:
        old = None
    if old is None:
        _end(folder, Record(boot(), None, None), "unstarted", why)
    elif old.how is None:
        _clean_up(folder, old, why)


def cancelled(folder: str) -> bool:
    """Return whether somebody has asked to cancel the job."""
    return os.path.lexists(os.path.join(folder, CANCEL))


def _clean_up(folder: str, old: Record | None, why: str) -> None:
    now = old or Record(boot(), None, None)
    if now.boot != boot():
        why = RESTARTED  # its processes are gone, and other processes may have their numbers now
    else:
        before, left = kill_rest(now.leader, _mark(folder))
        why += f"; {before} of its processes were killed" if before else "; none of its processes was found"
        why += f", and {left} do not end" if left else ""
    _end(folder, now, "cancelled" if cancelled(folder) else "lost", why)


def _end(folder: str, now: Record, how: str, reason: str) -> None:
    now.ended = time.time_ns()
    now.how = how
    now.reason = reason
    now.write(folder)


def _mark(folder: str) -> bytes:
    try:
        return mark(jobfile.read(folder))
    except BadFileError:
        return b""
