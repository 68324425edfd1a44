"""The command `cosched`, which notes what of its database is on disk: `python sync_recorder.py FOLDER ARGUMENTS...`.

It stands between the service and the operating system: after each `os.fdatasync` of a log it notes what that has
brought to disk, and when. From that a power failure at any instant can be played: of the log there is what the last
call before it brought to disk, and of the database what it was when that log began. With the environment variable
SYNC_LEFT_OUT the service waits for nothing, as one that relies on SQLite's own synchronisation.
"""

import os
import pickle
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HEADER = 32  # bytes of a log, which are others each time that it begins again
PAGE = 4096
_real = os.fdatasync


class Round(NamedTuple):
    """One call; `ended` by the monotonic clock, in seconds."""

    database: int  # which copy of it belongs to the log
    pieces: dict[int, bytes]  # what of the log is new since the last call, by place
    ended: float


class Recorder:
    """Writes into `folder`: a database NUMBER.db for each time that a log began, and `rounds`, pickled one by one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir()
        self._content = b""
        self._databases = 0

    def sync(self, descriptor: int) -> None:
        """In the place of `os.fdatasync`."""
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        content = path.read_bytes()
        _real(descriptor)
        ended = time.monotonic()
        if content[:HEADER] != self._content[:HEADER] or not self._databases:
            self._databases += 1
            self._content = b""
            shutil.copyfile(path.with_name(path.name.removesuffix("-wal")), self._folder / f"{self._databases}.db")
        with (self._folder / "rounds").open("ab") as rounds:
            pickle.dump((self._databases, self._new(content), ended), rounds)

    def _new(self, content: bytes) -> dict[int, bytes]:
        before, self._content = self._content, content
        places = range(0, len(content), PAGE)
        return {at: piece for at in places if (piece := content[at : at + PAGE]) != before[at : at + PAGE]}


def leave_out() -> None:
    """Have nothing wait; the log is still brought to disk now and then, for others to see what had been."""
    from cosched.service.store.durability import Durability

    wait = Durability.when_durable

    def when_durable(self: Durability, commit: int, act: Callable[[], None], *, hurry: bool = True) -> None:  # noqa: ARG001
        act()
        wait(self, commit, lambda: None, hurry=False)

    Durability.when_durable = when_durable


if __name__ == "__main__":
    os.fdatasync = Recorder(Path(sys.argv.pop(1))).sync
    if os.environ.get("SYNC_LEFT_OUT"):
        leave_out()
    from cosched.cli.main import main

    sys.argv[0] = "cosched"
    main()
