"""What a user may do with a file, by owners and modes. Access control lists are not considered."""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

READ, WRITE, EXECUTE = 4, 2, 1
_ROOT = 0
_OWNER_ONLY = 0o700


@dataclass(frozen=True, slots=True)
class Account:
    """A user and its groups."""

    uid: int
    name: str
    groups: frozenset[int]

    @classmethod
    def of(cls, uid: int) -> Account:
        """Return the user with this id; a user without a name is in no group."""
        try:
            entry = pwd.getpwuid(uid)
        except KeyError:
            return cls(uid, f"uid {uid}", frozenset())
        return cls(uid, entry.pw_name, frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid)))

    def may(self, path: Path, wanted: int) -> bool:
        """Whether the user may READ, WRITE or EXECUTE this path (a folder: enter it); False if it does not exist.

        PermissionError: this process may not look there.
        """
        return self.barrier(path, wanted) is None

    def barrier(self, path: Path, wanted: int) -> Path | None:
        """Return what keeps the user from that: a folder on the way that it may not enter, or the path itself.

        PermissionError as of `may`.
        """
        path = path.resolve()
        needed = [*((folder, EXECUTE) for folder in reversed(path.parents)), (path, wanted)]
        return next((place for place, what in needed if not self._may_there(place, what)), None)

    def _may_there(self, place: Path, wanted: int) -> bool:
        try:
            return self.may_with(place.stat(), wanted)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def may_with(self, about: os.stat_result, wanted: int) -> bool:
        """Return whether the user may do this with a file of this owner, group and mode."""
        mode = about.st_mode
        if self.uid == _ROOT:
            return bool(not wanted & EXECUTE or stat.S_ISDIR(mode) or mode & 0o111)
        shift = 6 if about.st_uid == self.uid else 3 if about.st_gid in self.groups else 0
        return (mode >> shift) & wanted == wanted


def make_private(folder: Path) -> None:
    """Make a folder that only its owner may enter, or make it so; OSError."""
    folder.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
    if stat.S_IMODE(folder.stat().st_mode) != _OWNER_ONLY:
        folder.chmod(_OWNER_ONLY)


def opening(barrier: Path, mode: str) -> str:
    """Return the command that removes a barrier; `mode` is for files, in chmod's notation."""
    return f"chmod {'a+x' if barrier.is_dir() else mode} {shlex.quote(str(barrier))}"


EVERYBODY = Account(-1, "other users", frozenset())
