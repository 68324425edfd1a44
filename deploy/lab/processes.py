"""The processes of this host, read from /proc."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process when it was looked at. Another process may get its id later, with another `started` (clock ticks)."""

    pid: int
    parent: int
    session: int
    started: int
    arguments: tuple[str, ...]

    def environment(self) -> dict[str, str]:
        """Return its environment when it started; empty if we may not read it."""
        try:
            text = Path(f"/proc/{self.pid}/environ").read_text(errors="replace")
        except OSError:
            return {}
        return dict(entry.partition("=")[::2] for entry in text.split("\0"))


def all_processes() -> Iterator[Process]:
    """Yield all live processes, without zombies."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (process := look(int(name))) is not None:
            yield process


def look(pid: int) -> Process | None:
    """Return the process that has this id now; None if there is none."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold any character
    if fields[0] in "ZX":
        return None
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]), tuple(arguments.rstrip("\0").split("\0")))


def end(process: Process, number: signal.Signals, seconds: float) -> bool:
    """Signal this process, not a later one with its id, and wait for its end; False if it lives on."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        now = look(process.pid)
        if now is None or now.started != process.started:  # the descriptor is of the process that has the id now
            return True
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)
            signal.pidfd_send_signal(handle, signal.SIGCONT)
        return bool(select.select([handle], [], [], seconds)[0])
    except PermissionError:
        return False
    finally:
        os.close(handle)


def with_descendants(chosen: Callable[[Process], bool]) -> list[Process]:
    """Return the chosen processes, their descendants, and the processes of sessions that these lead."""
    everyone = list(all_processes())
    found = {process.pid: process for process in everyone if chosen(process)}
    size = 0
    while size != len(found):
        size = len(found)
        found |= {p.pid: p for p in everyone if p.parent in found or p.session in found}
    return list(found.values())
