"""What a user may do with a file, whoever asks: by owners and modes, not by access control lists."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

READ, WRITE, EXECUTE = 4, 2, 1
_ROOT = 0


@dataclass(frozen=True, slots=True)
class Account:
    """A user and its groups."""

    uid: int
    name: str
    groups: frozenset[int]

    @classmethod
    def of(cls, uid: int) -> Account:
        """The user with this id; one without a name is in no group."""
        try:
            entry = pwd.getpwuid(uid)
        except KeyError:
            return cls(uid, f"uid {uid}", frozenset())
        return cls(uid, entry.pw_name, frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid)))

    def may(self, path: Path, wanted: int) -> bool:
        """Whether it may READ, WRITE or EXECUTE (enter, if it is a folder) this path; False if it is not there."""
        try:
            return self.may_reach(path) and self.may_with(path.stat(), wanted)
        except OSError:
            return False

    def may_reach(self, path: Path) -> bool:
        """Whether it may enter all folders on the way. OSError: one of them is not there, or is hidden from us."""
        return all(self.may_with(folder.stat(), EXECUTE) for folder in path.resolve().parents)

    def may_with(self, about: os.stat_result, wanted: int) -> bool:
        """Whether it may do this with what has this owner, group and mode."""
        mode = about.st_mode
        if self.uid == _ROOT:
            return bool(not wanted & EXECUTE or stat.S_ISDIR(mode) or mode & 0o111)
        shift = 6 if about.st_uid == self.uid else 3 if about.st_gid in self.groups else 0
        return (mode >> shift) & wanted == wanted


EVERYBODY = Account(-1, "other users", frozenset())
