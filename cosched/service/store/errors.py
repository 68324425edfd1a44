"""Errors of the database, each in one line."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from cosched.words.errors import OneLineError
from cosched.words.file_errors import reason_of

# The second: no room for the shared-memory file beside the database.
_FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
_PRIMARY = 0xFF  # bits of an error code of SQLite
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
REMEDY = 'restore a backup: see "Backup and restore" in docs/operating.md'
_NO_TEXT = "Could not decode to UTF-8"  # what the module says of a text that is none
_OF_DISK = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS})


class StoreError(OneLineError):
    """The database at `path` cannot be opened, read or written; `str()` is one line for people.

    `full`: there is no room for the data; the write can be tried again. `of_disk`: the disk is full or fails; the
    database may be all right when the disk is. `damaged`: what was written is not what is read; `reason` says what.
    `in_use`: another service has it.
    """

    def __init__(
        self,
        path: Path,
        reason: str,
        *,
        full: bool = False,
        of_disk: bool = False,
        damaged: bool = False,
        in_use: bool = False,
    ) -> None:
        if damaged:
            reason = f"is damaged: {reason}; {REMEDY}"
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason
        self.full, self.of_disk, self.damaged, self.in_use = full, full or of_disk, damaged, in_use

    @classmethod
    def of(cls, path: Path, error: sqlite3.Error | OSError) -> StoreError:
        """Return the error for what SQLite or the operating system says about the database at `path`."""
        if isinstance(error, OSError):
            return cls(path, reason_of(error, path), of_disk=error.errno in _OF_DISK)
        code = getattr(error, "sqlite_errorcode", 0)  # errors of the sqlite3 module itself have none
        if code in _FULL:
            return cls(path, "database or disk is full", full=True)
        damaged = code & _PRIMARY in _DAMAGE or str(error).startswith(_NO_TEXT)
        return cls(path, str(error), of_disk=code & _PRIMARY == sqlite3.SQLITE_IOERR, damaged=damaged)
