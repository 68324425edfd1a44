"""Local processes that run the cases of a sweep."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection, wait
from typing import IO

from cosched_sim.sweeps.case import Case
from cosched_sim.sweeps.local_worker import READY
from cosched_sim.sweeps.workers import Outcome, Workers

# -P: files in the user's folder may have the names of modules.
WORKER = (sys.executable, "-P", "-c", "from cosched_sim.sweeps.local_worker import main; main()")
MOST_FAILED_STARTS = 3  # of worker processes, in a row
SINGLE_THREADED = dict.fromkeys(
    ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def local_workers(count: int | None = None) -> AbstractContextManager[Workers]:
    """Return `count` local worker processes (None: one for each CPU that this process may use)."""
    return LocalWorkers(count or len(os.sched_getaffinity(0)))


class LocalWorkers(AbstractContextManager["LocalWorkers"]):
    """Processes that start when there is work, are replaced when they die, and end with this process."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, _Worker] = {}
        self._failed_starts = 0
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed by __exit__)

    @property
    def at_once(self) -> int:
        return self._count

    def submit(self, cases: Sequence[Case]) -> None:
        if not self._idle:
            self._idle.append(_Worker(self._log))
        worker = self._idle.pop()
        self._busy[worker.connection] = worker
        worker.take(cases)

    def next_outcome(self) -> Outcome:
        while True:
            connection = wait(list(self._busy))[0]
            assert isinstance(connection, Connection)
            worker = self._busy[connection]
            try:
                said = connection.recv()
            except (EOFError, OSError):
                if outcome := self._died(worker):
                    return outcome
                continue
            if said == READY:
                self._failed_starts, worker.ready = 0, True
                continue
            self._idle.append(self._busy.pop(connection))
            return Outcome(worker.cases, *said)

    def _died(self, worker: _Worker) -> Outcome | None:
        """Return a dead worker's chunk without rows; or give it to another worker, if this one had not begun it."""
        del self._busy[worker.connection]
        worker.end()
        if worker.ready:
            return Outcome(worker.cases, None, 0.0)
        self._failed_starts += 1
        if self._failed_starts > MOST_FAILED_STARTS:
            self._log.seek(0)
            lines = self._log.read().decode(errors="replace").strip().splitlines() or ["they say nothing"]
            raise OSError(f"worker processes end as soon as they start: {lines[-1]}")
        self.submit(worker.cases)
        return None

    def __exit__(self, *_: object) -> None:
        for worker in (*self._idle, *self._busy.values()):
            worker.end()
        self._log.close()


class _Worker:
    """One process; `cases` is its present or last chunk."""

    def __init__(self, log: IO[bytes]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*WORKER, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for this process, which ends its workers
                env={**os.environ, **SINGLE_THREADED},
            )
        self.connection = Connection(ours.detach())
        self.cases: Sequence[Case] = ()
        self.ready = False

    def take(self, cases: Sequence[Case]) -> None:
        """Begin a chunk; the death of the worker is noticed later, on waiting for its answer."""
        self.cases = cases
        with contextlib.suppress(OSError):
            self.connection.send(cases)

    def end(self) -> None:
        """Kill the process at once: a worker has no state to lose."""
        self.connection.close()
        self._process.kill()
        self._process.wait()
