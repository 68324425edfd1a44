"""Why a file cannot be used, in words that name what is closed, and to whom."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CLOSED = (errno.EACCES, errno.EPERM)


def reason_of(error: OSError, path: str | Path) -> str:
    """Return why this path could not be used: of a closed one also the user, and the folder that keeps the user out."""
    words = error.strerror or str(error)
    return f"{words}: {closed(path)}" if error.errno in _CLOSED else words


def closed(path: str | Path) -> str:
    """Return what keeps this process's user from a path: the first folder that it may not enter, or the path."""
    path = Path(os.path.realpath(path))
    if (folder := _barred(path)) is not None:
        what, place = "enter", folder
    else:
        what, place = ("use", path) if path.exists() else ("write in", path.parent)
    return f"{_named(pwd.getpwuid, os.geteuid())} may not {what} {place}{_owned(place)}"


def why_not_run(path: str | Path) -> str:
    """Return why this process's user cannot run a program."""
    real = Path(os.path.realpath(path))
    return closed(path) if _barred(real) is not None or real.exists() else f"{path} is not there"


def _barred(path: Path) -> Path | None:
    """Return the first folder on the way to a path that this process's user may not enter; None: there is none."""
    folders = (folder for folder in reversed(path.parents) if folder.exists())
    return next((folder for folder in folders if not os.access(folder, os.X_OK)), None)


def _owned(path: Path) -> str:
    try:
        about = path.stat()
    except OSError:  # it is not there, or nothing is told of it
        return ""
    owner, group = _named(pwd.getpwuid, about.st_uid), _named(grp.getgrgid, about.st_gid)
    return f" (mode {stat.S_IMODE(about.st_mode):04o}, of {owner}:{group})"


def _named(find: Callable[[int], Any], number: int) -> str:
    try:
        return str(find(number)[0])
    except KeyError:
        return str(number)
