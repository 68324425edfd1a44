"""What can go wrong with the database, in one line."""

from __future__ import annotations

import sqlite3
from pathlib import Path

# The second: no room for the memory that is shared by the users of a database, a file beside it.
_FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})


class StoreError(Exception):
    """The database at `path` cannot be used, or could not be read or written; `str()` is the one line to show.

    `full`: there is no room for what was to be written; it can be tried again as it is.
    """

    def __init__(self, path: Path, reason: str, *, full: bool = False) -> None:
        self.path = path
        self.reason = reason
        self.full = full
        super().__init__(f"{path}: {reason}")

    @classmethod
    def of(cls, path: Path, error: sqlite3.Error | OSError) -> StoreError:
        """What SQLite or the operating system says about the database at `path`."""
        if isinstance(error, OSError):
            return cls(path, error.strerror or str(error))
        if getattr(error, "sqlite_errorcode", None) in _FULL:  # errors of the sqlite3 module itself have no code
            return cls(path, "database or disk is full", full=True)
        return cls(path, str(error))
