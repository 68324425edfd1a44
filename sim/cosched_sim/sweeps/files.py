"""The files that a replay's settings name, identified by their content."""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from cosched.words.errors import InputError
from cosched_sim.flags import FILES, named_file


def with_digests(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with each file's name replaced by a digest of its content, if it can be read."""
    domains = [_told(domain) for domain in settings.get("domains", ())]
    return {**_told(settings), "domains": domains}


def _told(table: Mapping[str, Any]) -> dict[str, Any]:
    return {**table, **{key: table[key].replace(path, _content(path), 1) for key, path in _files(table)}}


def _content(path: str) -> str:
    try:
        return f"sha256:{digest(path)}"
    except InputError:
        return f"unreadable:{path}"


def named_files(settings: Mapping[str, Any]) -> Iterator[tuple[str | None, str, str]]:
    """Yield the files that the settings name: domain (None: the replay itself), key, path."""
    for table in (settings, *settings["domains"]):
        for key, path in _files(table):
            yield table.get("name"), key, path


def digest(path: str) -> str:
    """Return the SHA-256 of a regular file's content, in hexadecimal; InputError."""
    if path == "-":
        raise InputError("standard input", None, "can be read only once, but each case reads its files")
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(path, None, "cannot be read: not a regular file")
        return _digest(path, found.st_size, found.st_mtime_ns, found.st_ino)
    except OSError as error:
        raise InputError(path, None, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a NUL in the name
        raise InputError(path, None, f"cannot be read: {error}") from None


@functools.lru_cache(maxsize=4096)
def _digest(path: str, *_state: int) -> str:
    """Read the file once for each of its states."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _files(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each key of a table that names a file, and the file."""
    for key in FILES:
        if isinstance(table.get(key), str) and (path := named_file(table[key])) is not None:
            yield key, path
