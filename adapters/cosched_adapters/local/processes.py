"""Reading /proc, and sending signals that never reach the wrong process. Imports little.

Numbers of processes are reused. So a process is identified by its number and its start time (field 22 of
/proc/PID/stat, in clock ticks since boot).
"""

from __future__ import annotations

import ctypes
import os
import signal

_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


class Identity:
    """One process, distinct from any later one with the same number."""

    __slots__ = ("pid", "start")

    def __init__(self, pid: int, start: int) -> None:
        self.pid, self.start = pid, start

    def alive(self) -> bool:
        """Return whether it exists and has not ended."""
        about = look(self.pid)
        return about is not None and about.start == self.start and not about.ended

    def known(self) -> bool:
        """Return whether it exists, maybe as a zombie: then no other process has its number."""
        about = look(self.pid)
        return about is not None and about.start == self.start

    def open(self) -> int | None:
        """Return a descriptor (pidfd) of it, which becomes readable when it ends; None if it is gone."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return None
        if self.known():  # checked after opening: so the descriptor is of this process
            return fd
        os.close(fd)
        return None

    def send(self, number: int) -> None:
        """Send it a signal; do nothing if it is gone."""
        fd = self.open()
        if fd is None:
            return
        try:
            signal.pidfd_send_signal(fd, number)
        except (ProcessLookupError, PermissionError):
            pass
        finally:
            os.close(fd)


class Look:
    """The fields of /proc/PID/stat that we use."""

    __slots__ = ("ended", "group", "parent", "session", "start")

    def __init__(self, fields: list[bytes]) -> None:
        self.ended = fields[0] in (b"Z", b"X", b"x")
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.start = int(fields[19])


def look(pid: int) -> Look | None:
    """Read /proc/PID/stat of the process that has this number now; None if there is none."""
    content = _content(f"/proc/{pid}/stat")
    # The name, in parentheses, may hold anything, parentheses included.
    return Look(content[content.rindex(b")") + 2 :].split()) if content else None


def myself() -> Identity:
    """Return the identity of this process."""
    return identify(os.getpid())


def identify(pid: int) -> Identity:
    """Return the process that has this number now. Nobody may have waited for it yet. ProcessLookupError."""
    about = look(pid)
    if about is None:
        raise ProcessLookupError(pid)
    return Identity(pid, about.start)


def boot() -> str:
    """Return the id of the host's present boot; OSError."""
    return _content("/proc/sys/kernel/random/boot_id").decode("ascii", "replace").strip()[:64]


def adopt_orphans() -> None:
    """Make this process the parent of all its descendants that lose theirs, so that none escapes.

    Forked children do not inherit this. OSError.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def members(leader: Identity | None, mark: bytes, ancestor: int = 0) -> list[Identity]:
    """Return the living processes of a job: those in its leader's group or session, those with `mark` in their
    environment, and the descendants of `ancestor`, which has adopted orphans since before the job began.

    The mark is NAME=VALUE; an empty mark matches none. Group and session count only while the leader exists, at least
    as a zombie: later their numbers may belong to others. OSError if /proc cannot be read.
    """
    lead = leader.pid if leader is not None and leader.known() else 0
    earliest = leader.start if leader is not None else 0
    all_of_them = {int(name): about for name in os.listdir("/proc") if name.isdecimal() and (about := look(int(name)))}
    family = _descendants(ancestor, all_of_them) if ancestor else set()
    found = []
    for pid, about in all_of_them.items():
        if about.ended or about.start < earliest:
            continue
        if (lead and lead in (about.group, about.session)) or pid in family or (mark and _marked(pid, mark)):
            found.append(Identity(pid, about.start))
    return found


def _descendants(ancestor: int, all_of_them: dict[int, Look]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, about in all_of_them.items():
        children.setdefault(about.parent, []).append(pid)
    family: set[int] = set()
    coming = [ancestor]
    while coming:
        born = [child for child in children.get(coming.pop(), ()) if child not in family]
        family.update(born)
        coming += born
    return family


def _marked(pid: int, mark: bytes) -> bool:
    return mark in _content(f"/proc/{pid}/environ").split(b"\0")


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # it ended, or we may not look at it
        return b""
