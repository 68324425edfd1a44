"""The service follows a job from its launch, or from the moment when it is found again, to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable

from cosched_adapters.local import files, jobfile, record, recovery
from cosched_adapters.local.files import SHORTAGES, BadFileError
from cosched_adapters.local.process import ForkServer, SupervisorProcess, find_supervisor
from cosched_adapters.local.record import Record
from cosched_adapters.local.spool import Spool
from cosched_adapters.manager import End, Ended, Report, Started

TRIES = 3  # supervisors that may fail before we give up the job
PAUSE = 1.0  # seconds between them
POLL = 0.05  # seconds between looks at the record of a supervisor that another service has started
_LOG = logging.getLogger(__name__)


class LocalJob:
    """One launch: its slots, the last report, and its supervisor while we watch it."""

    def __init__(self, job_id: str, slots: list[int], *, found: bool = False) -> None:
        self.job_id, self.slots, self.found = job_id, slots, found
        self.last: Report | None = None
        self.process: SupervisorProcess | None = None
        self.task: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more, and its slots are free."""
        return isinstance(self.last, Ended)

    def look(self, spool: Spool) -> list[Report]:
        """Return the reports that follow from its record and were not made yet."""
        state = self.read(spool)
        news: list[Report] = []
        if state is not None and state.started is not None and self.last is None:
            news.append(Started(self.job_id, state.started))
        if state is not None and state.how is not None and not self.ended:
            news.append(ended(self.job_id, state))
        if news:
            self.last = news[-1]
        return news

    def read(self, spool: Spool) -> Record | None:
        """Return its record; None if there is none or it cannot be used (a supervisor will deal with that)."""
        try:
            return record.read(spool.folder(self.job_id))
        except BadFileError as error:
            _LOG.warning("job %s: %s", self.job_id, error)
            return None

    def adopt(self, spool: Spool) -> bool:
        """Watch the supervisor named in the record; return whether it lives. OSError."""
        state = self.read(spool)
        watcher = state.watcher() if state is not None else None
        self.process = find_supervisor(watcher) if watcher is not None else None
        return self.process is not None

    def close(self) -> None:
        """Stop watching its supervisor, which keeps running."""
        if self.process is not None:
            self.process.close()
            self.process = None

    def cancel(self, spool: Spool) -> None:
        """Make its supervisor look at the mark `cancel`; one that is not in the record yet looks by itself. OSError."""
        state = self.read(spool)
        watcher = state.watcher() if state is not None else None
        if watcher is not None:
            watcher.send(signal.SIGTERM)


async def follow(job: LocalJob, spool: Spool, forks: ForkServer, tell: Callable[[Report], None]) -> None:
    """Report what happens to a job until it has ended; during a shortage of descriptors or memory, wait."""
    told = False
    while True:
        try:
            await _follow(job, spool, forks, tell)
            return
        except OSError as error:
            if error.errno not in SHORTAGES:
                raise
            if not told:
                _LOG.warning("job %s cannot be followed yet: %s", job.job_id, error.strerror)
            told = True
            await asyncio.sleep(PAUSE)


async def _follow(job: LocalJob, spool: Spool, forks: ForkServer, tell: Callable[[Report], None]) -> None:
    """Follow the job, with a new supervisor whenever one has died. OSError, one of SHORTAGES: call this again."""
    failures = 0
    while True:
        for report in job.look(spool):
            tell(report)
        if job.ended:
            return
        if failures >= TRIES:
            failures = 0
            for report in await asyncio.to_thread(_give_up, job, spool):
                tell(report)
            continue
        if failures > 1:
            await asyncio.sleep(PAUSE)
        try:
            adopted = job.process is None and job.adopt(spool)
            job.process = job.process or forks.start(job.job_id)
        except OSError as error:
            if error.errno in SHORTAGES:
                raise
            _LOG.warning("job %s: its supervisor cannot be started: %s", job.job_id, error.strerror or error)
            failures += 1
            continue
        await _until_exit(job, spool, tell)
        failures += not adopted


async def _until_exit(job: LocalJob, spool: Spool, tell: Callable[[Report], None]) -> None:
    process = job.process
    while process is not None and not process.exited:
        polling = job.found and job.last is None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.news.wait(), POLL if polling else None)
        process.news.clear()
        if not process.exited:
            for report in job.look(spool):
                tell(report)
    job.close()


def ended(job_id: str, state: Record) -> Ended:
    """Return the report of a record that has an end."""
    how = End(state.how or End.LOST)
    return Ended(job_id, how, state.ended or 0, state.started, state.exit_code, state.signal, state.reason)


def _give_up(job: LocalJob, spool: Spool) -> list[Report]:
    """End a job that no supervisor could end, on record if possible. Return nothing if a supervisor runs after all."""
    folder = spool.folder(job.job_id)
    complaint = spool.complaint(job.job_id)
    why = "its supervisor cannot run" + (f" ({complaint})" if complaint else "")
    try:
        taken = files.lock(f"{folder}/{recovery.LOCK}", wait=False)
    except BlockingIOError:
        return []
    except OSError as error:
        if error.errno in SHORTAGES:
            raise
        return [_end_unrecorded(job, f"its folder in the spool cannot be used ({error.strerror})")]
    try:
        recovery.give_up(folder, why)
    except OSError as error:
        if error.errno in SHORTAGES:
            raise
        with contextlib.suppress(OSError):
            os.unlink(f"{folder}/{jobfile.NAME}")  # so that no later service starts a job that was reported as ended
        return [_end_unrecorded(job, f"{why}; its end cannot be recorded ({error.strerror})")]
    finally:
        os.close(taken)
    return job.look(spool)


def _end_unrecorded(job: LocalJob, reason: str) -> Ended:
    started = job.last.at if isinstance(job.last, Started) else None
    job.last = Ended(job.job_id, End.LOST, time.time_ns(), started, reason=record.one_line(reason))
    return job.last
