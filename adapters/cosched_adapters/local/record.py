"""`record.json` says what became of a launch. Its supervisor writes it. Imports little: supervisors use it."""

from __future__ import annotations

import os

from cosched_adapters.local import files
from cosched_adapters.local.processes import Identity, boot

NAME = "record.json"
MAX_REASON = 400  # characters
ENDS = ("exited", "signalled", "timeout", "cancelled", "unstarted", "lost")  # the values of adapters.manager.End


class Record:
    """A job that is about to start (`started` None), runs, or has ended (`how` set). Times: nanoseconds since 1970."""

    __slots__ = ("boot", "ended", "exit_code", "how", "leader", "reason", "signal", "started", "supervisor")

    def __init__(self, boot: str, supervisor: Identity | None, leader: Identity | None) -> None:
        self.boot = boot
        self.supervisor = supervisor  # None: the service wrote this record, since no supervisor could
        self.leader = leader  # the job's first process, leader of its session; None: there was none
        self.started: int | None = None
        self.ended: int | None = None
        self.how: str | None = None
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.reason = ""

    def watcher(self) -> Identity | None:
        """Return the supervisor in charge of the job; None after the end, or if the host has been rebooted since."""
        return self.supervisor if self.how is None and self.boot == boot() else None

    def write(self, folder: str, *, settle: bool = True) -> None:
        """Write it into the job's folder; with `settle`, flush both to disk. OSError."""
        data: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        for name in ("supervisor", "leader"):
            identity = getattr(self, name)
            data[name] = None if identity is None else {"pid": identity.pid, "start": identity.start}
        data["reason"] = one_line(self.reason)
        files.write_json(f"{folder}/{NAME}", data, settle=settle)
        if settle:
            files.sync_folder(os.path.join(folder, os.pardir))


def read(folder: str) -> Record | None:
    """Read it from the job's folder; None if there is none yet. BadFileError if it cannot be used."""
    data = files.read_json(f"{folder}/{NAME}")
    if data is None:
        return None
    record = Record(files.text(data, "boot", 64), _identity(data, "supervisor"), _identity(data, "leader"))
    record.started = files.whole_or_none(data, "started")
    record.ended = files.whole_or_none(data, "ended")
    record.how = files.text_or_none(data, "how")
    record.exit_code = files.whole_or_none(data, "exit_code")
    record.signal = files.whole_or_none(data, "signal")
    record.reason = one_line(files.text(data, "reason", 8 * MAX_REASON))
    if record.how is not None and (record.how not in ENDS or record.ended is None):
        raise files.BadFileError("how: not an end")
    return record


def one_line(reason: str) -> str:
    """Return the reason as one printable line of limited length."""
    return "".join(char if char.isprintable() else "?" for char in reason[:MAX_REASON])


def _identity(data: dict[str, object], key: str) -> Identity | None:
    if data.get(key) is None:
        return None
    identity = files.section(data, key)
    return Identity(files.whole(identity, "pid", 2, 1 << 22), files.whole(identity, "start"))
