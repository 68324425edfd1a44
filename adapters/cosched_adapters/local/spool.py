"""The spool has a folder for each launch, until the job is forgotten. A folder is complete when its name appears.

One service uses it at a time. All calls may block on the disk.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from cosched.host.file_locks import lock
from cosched.words.file_errors import reason_of
from cosched_adapters.local import files, jobfile
from cosched_adapters.local.checks import is_job_id
from cosched_adapters.local.jobfile import JobFile
from cosched_adapters.local.processes import boot
from cosched_adapters.local.recovery import CANCEL, LOCK
from cosched_adapters.local.supervise import LOG
from cosched_adapters.manager import ManagerError, SettingError
from cosched_adapters.permissions import make_private

_SLOTS = "slots.json"  # what a job has now, if that is not what it was started on
_BOOT = ".boot"  # the boot of the host at which jobs were launched last
_MAX_TAIL = 300  # bytes of the log that are shown at most


class Spool:
    """The folder at `root`. Call `open` first."""

    def __init__(self, root: Path, folder: Path) -> None:
        """`folder`: the manager's own. If the spool is in it, nobody else may enter it."""
        self.root = root
        self._folder = folder.absolute()
        self._lock: int | None = None

    def open(self) -> list[str]:
        """Take the spool, and return the ids of its jobs. SettingError; ManagerError if another service uses it."""
        try:
            if self.root.is_relative_to(self._folder):
                make_private(self._folder)
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            about = self.root.lstat()
        except OSError as error:
            raise SettingError("spool", f"{self.root}: {reason_of(error, self.root)}") from error
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
            raise SettingError("spool", f"{self.root}: must be a folder of this service's user with mode 0700")
        self._take()
        names = os.listdir(self.root)
        for name in names:
            if name.startswith((".new-", ".old-")):  # not launched yet; forgotten already
                shutil.rmtree(self.root / name, ignore_errors=True)
        return sorted(name for name in names if is_job_id(name) and stat.S_ISDIR(os.lstat(self.root / name).st_mode))

    def _take(self) -> None:
        fd = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if not lock(fd):
            os.close(fd)
            raise ManagerError(f"{self.root}: another service uses this spool")
        self._lock = fd

    def close(self) -> None:
        """Release the spool."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def is_of_another_boot(self) -> bool:
        """Return whether the host was restarted since the last launch.

        Launches just before that may have left nothing.
        """
        try:
            noted = files.read_json(str(self.root / _BOOT))
        except files.BadFileError:
            return True
        return noted is not None and noted.get("boot") != boot()

    def note_boot(self) -> None:
        """Note on disk that launches belong to the present boot from now on. OSError."""
        try:
            files.write_json(str(self.root / _BOOT), {"boot": boot()})
        except OSError:
            (self.root / f"{_BOOT}.new").unlink(missing_ok=True)
            raise

    def folder(self, job_id: str) -> str:
        """Return the path of a job's folder."""
        return str(self.root / job_id)

    def commit(self, job: JobFile, script: bytes | None) -> None:
        """Record a launch, as a whole or not at all; OSError.

        Nothing is flushed to disk, which may take long just when the job should start. The files survive the end of any
        process. Only a crash of the host can undo the last seconds (at most half a minute, by the kernel's usual
        settings), and it ends all processes too. Then the folder is gone, as if the job was never launched
        (`is_of_another_boot` detects this), or its files are empty or missing, and the job is found again as lost. The
        end of a job is flushed, with its folder.
        """
        fresh = self.root / f".new-{job.job_id}"
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            fresh.mkdir(mode=0o700)
            if script is not None:
                _write_script(fresh / "script", script, job.uid)
            for name in (LOCK, LOG):
                os.close(os.open(fresh / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            job.write(str(fresh))
            fresh.rename(self.root / job.job_id)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
            raise

    def note_slots(self, job_id: str, slots: list[int]) -> None:
        """Record that a job has these slots from now on; OSError."""
        files.write_json(f"{self.folder(job_id)}/{_SLOTS}", {"slots": slots})

    def slots(self, job_id: str) -> list[int]:
        """Return the slots of a job; BadFileError."""
        noted = files.read_json(f"{self.folder(job_id)}/{_SLOTS}")
        return jobfile.read(self.folder(job_id)).slots if noted is None else jobfile.numbers(noted, "slots")

    def mark_cancelled(self, job_id: str) -> None:
        """Tell the job's present and later supervisors to cancel it; OSError."""
        folder = self.folder(job_id)
        os.close(os.open(f"{folder}/{CANCEL}", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        files.sync_folder(folder)

    def complaint(self, job_id: str) -> str:
        """Return the last line of the log of the job's supervisors; empty if there is none."""
        try:
            with open(f"{self.folder(job_id)}/{LOG}", "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _MAX_TAIL))
                lines = file.read(_MAX_TAIL).decode("utf-8", "replace").split("\n")
        except OSError:
            return ""
        return next((line for line in reversed(lines) if line.strip()), "")

    def remove(self, job_id: str) -> None:
        """Remove a job's folder; do nothing if there is none. OSError.

        What a launch is read from goes first. A second supervisor may wait in the folder for the first one to end; it
        must not start the job since the record of its end is gone already.
        """
        old = self.root / f".old-{job_id}"
        shutil.rmtree(old, ignore_errors=True)
        with suppress(FileNotFoundError):
            os.unlink(f"{self.folder(job_id)}/{jobfile.NAME}")
        try:
            os.rename(self.folder(job_id), old)
        except FileNotFoundError:
            return
        shutil.rmtree(old, ignore_errors=True)


def _write_script(path: Path, script: bytes, uid: int | None) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o500)
    try:
        files.write_all(fd, script)
        if uid is not None:
            os.fchown(fd, uid, -1)
    finally:
        os.close(fd)
