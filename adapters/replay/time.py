"""The time of a replay: the wall clock's, perhaps faster, or what a conductor tells to all its domains."""

from __future__ import annotations

import mmap
import struct
import time
from pathlib import Path
from typing import Protocol

from cosched.adapters.manager import SettingError

_INSTANT = struct.Struct("<q")


class Time(Protocol):
    """The time of a service, in seconds; never goes back."""

    @property
    def speed(self) -> float:
        """Seconds of this time that pass in one second."""

    def now(self) -> float:
        """This time."""


class SharedTime:
    """An instant in a file that all processes of a replay in lock-step map: one tells it, the others read it."""

    speed = 1.0  # what is awaited is told, whatever time that takes

    def __init__(self, path: Path) -> None:
        """The file must be there; OSError or ValueError if it is no such file."""
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), _INSTANT.size)

    @classmethod
    def make(cls, path: Path) -> SharedTime:
        """A new one, at instant 0."""
        path.write_bytes(_INSTANT.pack(0))
        return cls(path)

    def tell(self, instant: int) -> None:
        """It is `instant` from now on."""
        _INSTANT.pack_into(self._bytes, 0, instant)

    def now(self) -> int:
        """The instant that was told last."""
        return int(_INSTANT.unpack_from(self._bytes)[0])

    def close(self) -> None:
        """Let the file go."""
        self._bytes.close()


class ScaledTime:
    """The wall clock's time at `start`, and from there on (and before) `speed` times as fast.

    The wall clock is looked at once; a step of it later changes nothing.
    """

    def __init__(self, start: float, speed: float) -> None:
        self.speed = speed
        self._now = start + (time.time() - start) * speed
        self._began = _steady()

    def now(self) -> float:
        """The time, in seconds since 1970 as the replay counts them."""
        return self._now + (_steady() - self._began) * self.speed


def open_shared_time(path: Path) -> SharedTime:
    """The time that a conductor tells; SettingError."""
    try:
        return SharedTime(path)
    except (OSError, ValueError) as error:
        raise SettingError("time", f"{str(path)!a} cannot be used: {error}") from None


def _steady() -> float:
    """Seconds since this host started, those in which it slept included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
