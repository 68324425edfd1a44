"""A folder that all nodes see, where tasks find the instant at which they may begin.

Each job that may start at an instant has a file, whose name is the job's id, with the line
`at=SECONDS.NANOSECONDS` (CLOCK_REALTIME), and lines with variables for tasks, by which they find their mates. Readers
ignore other lines. `cosched-hook gate` reads it and waits. The file is removed soon after the instant, when tasks do
not wait any more, with or without it.

File servers fail, and hang. So threads access the folder, and nobody waits for them long. If the file cannot be
written, the job starts without it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any, TypeVar

from cosched_adapters.manager import SettingError
from cosched_adapters.slurm.hook_protocol import instant

NOTHING: Mapping[str, str] = MappingProxyType({})
_T = TypeVar("_T")
_NAME = re.compile(r"(0|[1-9][0-9]{0,9})(\.new)?")  # our files; 0 is a test, .new not complete yet
_TEXT = re.compile(rb"at=(\d+\.\d{9})\n(?:COSCHED_[A-Z_]+=[ -~]*\n)*")
_MOST = 4095  # bytes that our files have at most
_KEPT = 2.0  # seconds that a file is kept after its instant
_UNFINISHED = 300.0  # seconds after which an empty file was abandoned by its writer
_OPEN_PATIENCE, _SWEEP_PATIENCE = 5.0, 10.0  # seconds
_LOG = logging.getLogger(__name__)


class GateFolder:
    """The folder of one service, used by no other. `patience`: seconds that a start may wait for its file."""

    def __init__(self, folder: Path, patience: float) -> None:
        self._folder, self._patience = folder, patience
        self._written = asyncio.Event()
        self._hanging: Future[Any] | None = None

    async def open(self) -> None:
        """Check that files can be written, and remove those of an earlier service. SettingError."""
        try:
            await self._within(_OPEN_PATIENCE, partial(_try_out, self._folder))
        except TimeoutError as error:
            _LOG.warning("gate_folder %s cannot be used: %s", self._folder, _reason(error))
        except OSError as error:
            reason = f"{self._folder} must be a folder in which files can be written: {_reason(error)}"
            raise SettingError("gate_folder", reason) from error
        self._written.set()

    async def announce(self, job_id: str, at: float, finding: Mapping[str, str] = NOTHING) -> None:
        """Write the file of a job that is about to start; log a warning if this fails or exceeds the patience.

        `finding`: variables for its tasks, of printable ASCII; they are left out if they are too long.
        """
        begin = f"at={instant(at)['at']}\n"
        text = (begin + "".join(f"{name}={value}\n" for name, value in finding.items())).encode()
        if len(text) > _MOST:
            text = begin.encode()
        try:
            await self._within(self._patience, partial(_write, self._folder, job_id, text))
        except (OSError, RuntimeError) as error:
            what = "its tasks may not wait for the agreed instant"
            _LOG.warning("job %s: %s: gate_folder %s: %s", job_id, what, self._folder, _reason(error))
        self._written.set()

    async def keep_clear(self) -> None:
        """Remove files some seconds after their instants, until cancelled."""
        while True:
            await self._written.wait()
            self._written.clear()
            await asyncio.sleep(_KEPT)
            try:
                if await self._within(_SWEEP_PATIENCE, partial(_sweep, self._folder)):
                    self._written.set()
            except (OSError, RuntimeError) as error:
                _LOG.warning("gate_folder %s is not cleared: %s", self._folder, _reason(error))

    async def _within(self, patience: float, work: Callable[[], _T]) -> _T:
        """Run `work` in a thread. TimeoutError if it takes longer; at once if earlier work that did so still runs."""
        if self._hanging is not None and not self._hanging.done():
            raise TimeoutError
        done = _in_thread(work)
        try:
            async with asyncio.timeout(patience):
                return await asyncio.wrap_future(done)
        except TimeoutError:
            self._hanging = done
            raise


def _in_thread(work: Callable[[], _T]) -> Future[_T]:
    """Run `work` in a thread that lets the event loop and the process end."""
    future: Future[_T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)

    Thread(target=run, name="gate_folder", daemon=True).start()
    return future


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or "no answer"


def _try_out(folder: Path) -> None:
    _write(folder, "0", b"at=0.000000000\n")
    _sweep(folder)


def _write(folder: Path, job_id: str, text: bytes) -> None:
    """Write a file that appears complete, and that everybody may read. OSError."""
    path, aside = folder / job_id, folder / f"{job_id}.new"
    aside.unlink(missing_ok=True)
    try:
        with aside.open("xb") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(text)
        aside.rename(path)
    except OSError:
        with suppress(OSError):
            aside.unlink()
        raise


def _sweep(folder: Path) -> bool:
    """Remove our files that have expired. True: others will expire later. OSError."""
    now, left = time.time(), False
    with os.scandir(folder) as entries:
        ends = {entry.path: _end(entry) for entry in entries if _NAME.fullmatch(entry.name)}
    for path, end in ends.items():
        if end is not None and end > now:
            left = True
        elif end is not None:
            with suppress(OSError):
                os.unlink(path)
    return left


def _end(entry: os.DirEntry[str]) -> float | None:
    """Return when a file expires, in seconds since 1970; None: it is not ours, whatever its name, or is gone."""
    with suppress(OSError), open(entry.path, "rb", opener=plainly) as file:
        about = os.fstat(file.fileno())
        text = file.read(_MOST) if stat.S_ISREG(about.st_mode) else b"?"
        if not text and entry.name.endswith(".new"):
            return about.st_mtime + _UNFINISHED
        match = _TEXT.fullmatch(text)
        return float(match[1]) + _KEPT if match else None
    return None


def plainly(path: str, flags: int) -> int:
    """Open a file without following a symbolic link, and without waiting for the writer of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
