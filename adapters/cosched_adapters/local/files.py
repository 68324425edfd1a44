"""Small JSON files, replaced as a whole and checked when read. Imports little: supervisors use it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat

SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # this passes, and the file may be good
MAX_BYTES = 8 << 20  # of a file


class BadFileError(Exception):
    """This program did not write such a file; `str()` is one line without its contents."""


def write_json(path: str, data: dict[str, object], *, settle: bool = True) -> None:
    """Replace the file by `data` in one step; with `settle`, flush it to disk. OSError if that fails."""
    beside = f"{path}.new"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        write_all(fd, json.dumps(data).encode("ascii"))
        if settle:
            os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(beside, path)
    if settle:
        sync_folder(os.path.dirname(path) or ".")


def write_all(fd: int, content: bytes) -> None:
    """Write all of `content`, in several steps if necessary."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_folder(path: str) -> None:
    """Flush the names in a folder to disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def read_json(path: str) -> dict[str, object] | None:
    """Return the file's object; None if there is no such file. BadFileError if it is not ours or not an object.

    OSError, one of SHORTAGES: it cannot be read just now.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in SHORTAGES:
            raise
        raise BadFileError(f"{os.path.basename(path)}: {error.strerror}") from error
    with open(fd, "rb") as file:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
            raise BadFileError(f"{os.path.basename(path)}: not a file of this service")
        content = file.read(MAX_BYTES + 1)
    return _parse(os.path.basename(path), content)


def _parse(name: str, content: bytes) -> dict[str, object]:
    if len(content) > MAX_BYTES:
        raise BadFileError(f"{name}: too long")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise BadFileError(f"{name}: not JSON") from None
    if not isinstance(data, dict):
        raise BadFileError(f"{name}: not an object")
    return data


def whole(data: dict[str, object], key: str, least: int = 0, most: int = 1 << 62) -> int:
    """Return the whole number under `key`; BadFileError if it is not one within the bounds."""
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadFileError(f"{key}: not a whole number from {least} to {most}")
    return value


def whole_or_none(data: dict[str, object], key: str) -> int | None:
    """Return the same, or None."""
    return None if data.get(key) is None else whole(data, key)


def text(data: dict[str, object], key: str, most: int = 1 << 16) -> str:
    """Return the text under `key`; BadFileError if it is not one, has a NUL or more than `most` characters."""
    value = data.get(key)
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        raise BadFileError(f"{key}: not a text of at most {most} characters")
    return value


def text_or_none(data: dict[str, object], key: str) -> str | None:
    """Return the same, or None."""
    return None if data.get(key) is None else text(data, key)


def items(data: dict[str, object], key: str) -> list[dict[str, object]]:
    """Return the items of the list under `key`, each under that key; BadFileError if it is not a list."""
    value = data.get(key)
    if not isinstance(value, list):
        raise BadFileError(f"{key}: not a list")
    return [{key: item} for item in value]


def section(data: dict[str, object], key: str) -> dict[str, object]:
    """Return the object under `key`; BadFileError if it is not one."""
    value = data.get(key)
    if not isinstance(value, dict):
        raise BadFileError(f"{key}: not an object")
    return value


def lock(path: str, *, wait: bool) -> int:
    """Lock a file for this process, until the descriptor is closed or the process dies; BlockingIOError if it is taken.

    It is a record lock, which is not inherited: neither a job nor a child on its way to exec can keep it.
    """
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(fd)
        raise
    return fd
