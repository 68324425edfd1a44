"""The time of a replay: the wall clock's, perhaps faster, or an instant that a conductor sets for all its domains."""

from __future__ import annotations

import mmap
import struct
import time
from pathlib import Path
from typing import Protocol

from cosched_adapters.manager import SettingError

_INSTANT = struct.Struct("<q")


class Time(Protocol):
    """The time of a service, in seconds; it never goes back."""

    @property
    def speed(self) -> float:
        """How many seconds of this time pass in one real second."""

    def now(self) -> float:
        """Return the present instant."""


class SharedTime:
    """An instant in a file that all processes of a replay in lock-step map: one process sets it, the others read it."""

    speed = 1.0  # unused: in lock-step no timer runs by the clock

    def __init__(self, path: Path) -> None:
        """Map an existing file; OSError or ValueError if it cannot be used."""
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), _INSTANT.size)

    @classmethod
    def make(cls, path: Path) -> SharedTime:
        """Make a new file, at instant 0."""
        path.write_bytes(_INSTANT.pack(0))
        return cls(path)

    def tell(self, instant: int) -> None:
        """Set the instant."""
        _INSTANT.pack_into(self._bytes, 0, instant)

    def now(self) -> int:
        """Return the instant that was set last."""
        return int(_INSTANT.unpack_from(self._bytes)[0])

    def close(self) -> None:
        """Unmap the file."""
        self._bytes.close()


class ScaledTime:
    """A time that equals the wall clock's at `start`, and runs `speed` times as fast before and after.

    The wall clock is read once; later steps of it change nothing.
    """

    def __init__(self, start: float, speed: float) -> None:
        self.speed = speed
        self._now = start + (time.time() - start) * speed
        self._began = _steady()

    def now(self) -> float:
        """Return the replay's time in seconds since 1970."""
        return self._now + (_steady() - self._began) * self.speed


def open_shared_time(path: Path) -> SharedTime:
    """Open the time that a conductor sets; SettingError."""
    try:
        return SharedTime(path)
    except (OSError, ValueError) as error:
        raise SettingError("time", f"{str(path)!a} cannot be used: {error}") from None


def _steady() -> float:
    """Return seconds since this host started, including those in which it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
