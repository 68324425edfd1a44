"""A folder in which hooks note which jobs wait. It tells the service what happened while it did not run.

Before a job's hook asks the service, it writes a file there, whose name is the job's id, with the line
`restarts=NUMBER` (how often the job was requeued). It removes the file when it lets the job start. If the file is still
there and Slurm shows the job as running, the hook was killed and Slurm does not launch the job (see `register`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from cosched.words.file_errors import reason_of
from cosched_adapters.manager import SettingError
from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.gate_folder import plainly
from cosched_adapters.slurm.states import Stage, stage

_NAME = re.compile(r"[1-9][0-9]{0,9}")
_TEXT = re.compile(rb"restarts=([0-9]{1,9})\n")
_MOST = 64  # bytes of a note
_LEAST_AGE = 3600.0  # seconds that a note stays at least: its job may be newer than the look that lacks it
_BETWEEN_SWEEPS = 600.0  # seconds
_LOG = logging.getLogger(__name__)


class WaitingFolder:
    """`folder`, on a local disk that a reboot does not empty. None: the hooks note nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._swept = -_BETWEEN_SWEEPS

    def open(self) -> None:
        """Make the folder if it is not there. SettingError."""
        if self._folder is None:
            return
        try:
            self._folder.mkdir(mode=0o755, exist_ok=True)
        except OSError as error:
            reason = f"{self._folder} must be a folder in which SlurmUser can write: {reason_of(error, self._folder)}"
            raise SettingError("waiting_folder", reason) from error

    def waits(self, row: JobRow) -> bool:
        """Return whether the hook of the job's present turn has noted that it waits, and has not let the job start."""
        note = None if self._folder is None else _read(self._folder / row.job_id)
        return note is not None and note[0] == row.restarts and note[1] >= row.submitted_at

    async def sweep(self, rows: Iterable[JobRow]) -> None:
        """Now and then remove old notes that have no meaning any more; `rows` are all jobs that Slurm knows."""
        now = asyncio.get_running_loop().time()
        if self._folder is None or now - self._swept < _BETWEEN_SWEEPS:
            return
        self._swept = now
        turns = {row.job_id: row.restarts for row in rows if stage(row.state) is not Stage.ENDED}
        try:
            await asyncio.to_thread(_sweep, self._folder, turns)
        except OSError as error:
            _LOG.warning("waiting_folder %s is not cleared: %s", self._folder, error.strerror)


def _read(path: Path) -> tuple[int, float] | None:
    """Return the job's number of requeues and the time of the note (seconds since 1970); None if there is no note."""
    with suppress(OSError), open(path, "rb", opener=plainly) as file:
        about = os.fstat(file.fileno())
        match = _TEXT.fullmatch(file.read(_MOST)) if stat.S_ISREG(about.st_mode) else None
        return (int(match[1]), about.st_mtime) if match else None
    return None


def _sweep(folder: Path, turns: Mapping[str, int]) -> None:
    """Remove notes of jobs that have ended or were requeued since. OSError."""
    latest = time.time() - _LEAST_AGE
    for path in [folder / name for name in os.listdir(folder) if _NAME.fullmatch(name)]:
        note = _read(path)
        if note is not None and note[1] < latest and note[0] != turns.get(path.name):
            with suppress(OSError):
                path.unlink()
