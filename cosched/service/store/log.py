"""The write-ahead log of an open database, brought to disk beside the connection that writes it.

SQLite itself (`synchronous = NORMAL`) brings to disk the header of a log that begins, with its name in the folder, and
the whole log before what is in it goes into the database, and that before the log begins again. What it leaves out is
the log after each transaction. `Log.sync` does it, for all transactions that have ended by then at once, in any thread.

A failed `sync` is not to be repeated: the kernel counts pages that it could not write as written, and the next attempt
would pass them over. The process has to end; the next one reads what there is and begins with `rewrite`.
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
        """Bring to disk what has been written."""
        os.fdatasync(self._file.fileno())

    def rewrite(self) -> None:
        """Write all of it once more, as it is, and bring that to disk; nobody else may write meanwhile.

        Whoever wrote it may have died of a failed `sync`, so that the disk has something else than what can be read.
        """
        at, descriptor = 0, self._file.fileno()
        while piece := os.pread(descriptor, _PIECE, at):
            os.pwrite(descriptor, piece, at)
            at += len(piece)
        self.sync()

    def close(self) -> None:
        """No more of it."""
        self._file.close()
