"""A supervisor starts one job, enforces its walltime, cancels it, and records its end. Imports little.

Signals are blocked from the start and taken one by one, so that none is lost or interrupts a step. SIGTERM with the
mark `cancel` in the folder means: cancel. Without the mark, the host or an operator ends this process and the job.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from cosched_adapters.local import child, files
from cosched_adapters.local.ending import kill_rest, terminate
from cosched_adapters.local.jobfile import JobFile
from cosched_adapters.local.processes import adopt_orphans, boot, identify, myself
from cosched_adapters.local.record import Record
from cosched_adapters.local.recovery import LOCK, cancelled, recover

LOG = "log"  # standard error: the supervisor's error messages
STARTED = b"started\n"  # on standard output, once `record.json` says so
SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
RETRY = 1.0  # seconds
TOLD_TO_END = "its supervisor was told to end"


class Supervisor:
    """Runs one job in its folder of the spool."""

    def __init__(self, folder: str, job: JobFile) -> None:
        self.folder, self.job = folder, job
        self.mark = child.mark(job)
        self.pid = 0
        self.record = Record(boot(), myself(), None)
        self.why: str | None = None  # why we end it; None: it ends by itself
        self.noted = False  # whether the start is on record

    def run(self) -> None:
        """Start the job, and watch it to its end."""
        adopt_orphans()
        hear, go = self._fork()
        failure = self._let_go(hear, go)
        if failure is None:
            self._watch()
            self._end_rest()
        os.waitpid(self.pid, 0)
        if failure is not None:
            self._finish("cancelled" if failure == "" else "unstarted", failure or "cancelled before it started")

    def _fork(self) -> tuple[int, int]:
        hear, tell = os.pipe()
        wait, go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(go)  # else the child would hold its own pipe open
            child.become(self.job, self.folder, wait, tell)
        os.close(tell)
        os.close(wait)
        return hear, go

    def _let_go(self, hear: int, go: int) -> str | None:
        """Record the prepared process, then let it become the job. Return why it did not ("": cancelled), or None."""
        self.record.leader = identify(self.pid)  # nobody has waited for it: it exists, at least as a zombie
        self.record.write(self.folder, settle=False)  # outlives any process; after a crash of the host nothing runs
        said = os.read(hear, 4096)
        if said[:1] != child.READY:
            return _reason(said)
        if cancelled(self.folder):
            os.close(go)
            return ""
        os.write(go, b"g")
        os.close(go)
        said = b""
        while part := os.read(hear, 4096):  # ends at exec, which closes the child's end
            said += part
        time_told, failed, reason = said[1:].partition(child.FAILED)
        if failed or not time_told.isdigit():
            return _reason(failed + reason)
        self.record.started = int(time_told)
        self._note_start()
        return None

    def _note_start(self) -> None:
        """Record the start. A full disk does not end the job: `_wait` tries again."""
        try:
            self.record.write(self.folder, settle=False)
        except OSError:
            return
        self.noted = True
        _tell_started()

    def _watch(self) -> None:
        """Wait for the first process to end, by itself or by us."""
        deadline = time.monotonic() + self.job.walltime
        while not self._exited():
            number = self._wait(deadline)
            if number == signal.SIGCHLD or (number is not None and self.why is not None):
                continue
            if number is None and self.why is not None:  # the grace time is over
                kill_rest(self.record.leader, self.mark, os.getpid())
                deadline = time.monotonic() + RETRY
                continue
            self.why = "timeout" if number is None else "cancelled" if cancelled(self.folder) else "lost"
            terminate(self.record.leader, self.mark, os.getpid())
            deadline = time.monotonic() + self.job.grace / 1000

    def _wait(self, deadline: float) -> int | None:
        """The next signal; None: the deadline is over. A start that is not on record yet is recorded meanwhile."""
        while True:
            until = deadline if self.noted else min(deadline, time.monotonic() + RETRY)
            info = signal.sigtimedwait(SIGNALS, max(0.0, until - time.monotonic()))
            number = None if info is None else info.si_signo
            if not self.noted:
                self._note_start()
            if number is not None or time.monotonic() >= deadline:
                return number

    def _exited(self) -> bool:
        """Return whether the first process has ended. Reap the job's other processes that have ended."""
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)) and ended.si_pid != self.pid:
            os.waitpid(ended.si_pid, 0)
        # Do not reap it yet: as a zombie it keeps its number, and its group's, from being reused.
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def _end_rest(self) -> None:
        grace = self.job.grace / 1000 if self.why is not None else 0.0
        _, left = kill_rest(self.record.leader, self.mark, os.getpid(), grace)
        end = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        by_itself = end is not None and end.si_code == os.CLD_EXITED
        if end is not None:
            self.record.exit_code = end.si_status if by_itself else None
            self.record.signal = None if by_itself else end.si_status
        reason = {None: "", "timeout": f"its walltime of {self.job.walltime} s was over", "lost": TOLD_TO_END}
        words = [reason.get(self.why, ""), f"{left} of its processes do not end" if left else ""]
        self._finish(self.why or ("exited" if by_itself else "signalled"), "; ".join(filter(None, words)))

    def _finish(self, how: str, reason: str) -> None:
        """Record the end, and retry for as long as the disk is full: nobody else knows the end."""
        self.record.ended = time.time_ns()
        self.record.how = how
        self.record.reason = reason
        while True:
            try:
                self.record.write(self.folder)
            except FileNotFoundError:  # somebody removed the folder
                return
            except OSError:
                time.sleep(RETRY)
            else:
                return


def _reason(said: bytes) -> str:
    return said[1:].decode("utf-8", "replace") if said[:1] == child.FAILED else "it died before it started"


def _tell_started() -> None:
    with suppress(OSError):  # the service is not there; it will read the record
        os.write(1, STARTED)


def _recovered() -> JobFile | None:
    """Recover the launch of this folder, whatever has its name by now: the job may have been launched again."""
    while True:
        try:
            return recover(os.curdir)
        except FileNotFoundError:  # it is forgotten
            return None
        except OSError as error:
            if error.errno not in files.SHORTAGES:
                raise
            time.sleep(RETRY)


def main(folder: str) -> int:
    """Run the job of this folder, or clean up after an earlier supervisor; 0 if the end is recorded.

    Call it in that folder, with SIGNALS blocked.
    """
    files.lock(LOCK, wait=True)  # held while this process lives; a second supervisor waits here for the first
    job = _recovered()
    if job is None:
        return 0
    supervisor = Supervisor(folder, job)
    try:
        supervisor.run()
    except Exception:
        if supervisor.pid and supervisor.record.how is None:
            kill_rest(supervisor.record.leader, supervisor.mark, os.getpid())
        raise
    return 0
