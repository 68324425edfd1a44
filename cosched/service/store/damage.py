"""Looks for damage in a database before it is used: pages that have changed, transactions that are gone.

A database that was closed in order has check sums beside it, so that any byte that has changed since then shows. They
do not count if SQLite itself has changed it: in the mode in which it is closed, each change counts up a number in its
header (https://www.sqlite.org/fileformat.html#file_change_counter).

A database that was left open, as its service was killed, has a log. SQLite reads that up to the first frame that is
damaged, and takes what follows for a transaction that was cut short. But its shared memory, which outlives a process
though not the machine, tells how many frames were committed
(https://www.sqlite.org/walformat.html#the_wal_index_file_format).
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from cosched.service.store.errors import StoreError

_PIECE = 1 << 20  # bytes that have one check sum
_CHANGES = 4, 24  # bytes of the number of changes, and where it is
_HEADER = struct.Struct("=I12xI28x")  # of the shared memory: version, frames that are committed; there twice
_VERSION = 3007000
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def beside(path: Path, ending: str) -> Path:
    """Return the path of the file beside the database with its name and `ending`."""
    return path.with_name(path.name + ending)


def note_sums(path: Path) -> None:
    """Write the check sums of a database that nobody has open. Without room for them there are none."""
    made = beside(path, ".sums.new")
    with suppress(OSError):
        made.write_text("".join(f"{piece}\n" for piece in _sums(path)))
        made.chmod(0o600)
        made.rename(beside(path, ".sums"))


def drop_sums(path: Path) -> None:
    """Remove them, since the database is about to change; the caller brings that to disk."""
    beside(path, ".sums").unlink(missing_ok=True)


def matches_sums(path: Path) -> bool:
    """Return whether the database is as it was closed; False: no check sums are of its last change. StoreError."""
    try:
        noted = beside(path, ".sums").read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return False
    found = list(_sums(path))
    if noted[:1] != found[:1]:
        return False
    if noted == found:
        return True
    same = next((n for n, pair in enumerate(zip(noted[1:], found[1:], strict=False)) if pair[0] != pair[1]), None)
    where = "its size" if same is None else f"something in the {_PIECE:,} bytes from {same * _PIECE:,} on"
    raise StoreError(path, f"{where} is not what it was when it was closed", damaged=True)


def _sums(path: Path) -> Iterator[str]:
    """Yield the number of the database's last change, and the sum of each piece."""
    with open(path, "rb") as file:
        yield os.pread(file.fileno(), *_CHANGES).hex()
        while piece := file.read(_PIECE):
            yield f"{zlib.crc32(piece):08x}"


def same_boot(lock: BinaryIO) -> bool:
    """Return whether the machine has not been started since `note_boot`; `lock` is the locked file."""
    return bool(os.pread(lock.fileno(), 100, 0) == _BOOT.read_bytes())


def note_boot(lock: BinaryIO) -> None:
    """Note in this file that the machine has been up since the database was opened."""
    lock.seek(0)
    lock.truncate(lock.write(_BOOT.read_bytes()))


def committed_frames(path: Path) -> int:
    """Return how many frames of the log are committed, as the shared memory has it; 0 if that cannot be told."""
    try:
        with open(beside(path, "-shm"), "rb") as file:
            header, again = (file.read(_HEADER.size) for _ in range(2))
    except FileNotFoundError:
        return 0
    if len(again) < _HEADER.size or header != again:
        return 0
    version, frames = _HEADER.unpack(header)
    return int(frames) if version == _VERSION else 0


def check_log(path: Path, committed: int) -> None:
    """Raise StoreError if the log, which has been read now, has fewer frames than were committed."""
    if (lost := committed - (committed_frames(path) if beside(path, "-wal").exists() else 0)) > 0:
        reason = f"of the {committed:,} pages that were committed to {path.name}-wal the last {lost:,} cannot be read"
        raise StoreError(path, reason, damaged=True)
