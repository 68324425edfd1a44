"""Flushes the write-ahead log of an open database to disk, independently of the connection that writes it.

SQLite itself (`synchronous = NORMAL`) flushes the header of a new log and its name in the folder; the whole log before
it copies the contents into the database; and the database before it starts the log over. It does not flush the log
after each transaction. `Log.sync` does, for all transactions that have ended by then, in any thread.

A failed `sync` must not be repeated: the kernel counts pages that it could not write as written, and the next attempt
would skip them. The process has to end; the next one reads what can be read, and begins with `rewrite`.
"""

from __future__ import annotations

import os
from pathlib import Path

_PIECE = 1 << 20  # bytes


class Log:
    """The log at `path`; `close` it last. All methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115

    def sync(self) -> None:
        """Flush what has been written to disk."""
        os.fdatasync(self._file.fileno())

    def rewrite(self) -> None:
        """Write the whole log once more, unchanged, and flush it to disk; nobody else may write meanwhile.

        The last writer may have ended after a failed `sync`. Then the disk differs from what can be read.
        """
        at, descriptor = 0, self._file.fileno()
        while piece := os.pread(descriptor, _PIECE, at):
            os.pwrite(descriptor, piece, at)
            at += len(piece)
        self.sync()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
