"""The time of a replay: the wall clock's, perhaps faster, or an instant that a conductor sets for all its domains."""

from __future__ import annotations

import mmap
import struct
import time
from enum import IntEnum
from pathlib import Path
from typing import Protocol

from cosched_adapters.manager import SettingError

_NUMBER = struct.Struct("<q")
_INSTANT, _NEWS, _COME, _EVENTS, _STEP = (_NUMBER.size * place for place in range(5))  # in the file
_SIZE = 5 * _NUMBER.size


class Step(IntEnum):
    """A step of an instant, in their order (replay.proto); LATER are news and iterations."""

    COMPLETIONS = 1
    SCRIPT = 2
    TIMERS = 3
    SLOTS = 4
    SUBMISSIONS = 5
    LATER = 6


class Time(Protocol):
    """The time of a service, in seconds; it never goes back."""

    @property
    def speed(self) -> float:
        """How many seconds of this time pass in one real second."""

    def now(self) -> float:
        """Return the present instant."""


class SharedTime:
    """An instant in a file that all processes of a replay in lock-step map: one process sets it, the others read it.

    The file also numbers the news of all domains (replay.proto), so that it comes in the order in which it came up, and
    says where in an instant they are, for the order of the events that they tell.
    Only one process goes on at a time.
    """

    speed = 1.0  # unused: in lock-step no timer runs by the clock

    def __init__(self, path: Path) -> None:
        """Map an existing file; OSError or ValueError if it cannot be used."""
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), _SIZE)

    @classmethod
    def make(cls, path: Path) -> SharedTime:
        """Make a new file, at instant 0, without news."""
        path.write_bytes(bytes(_SIZE))
        return cls(path)

    def tell(self, instant: int) -> None:
        """Set the instant."""
        self._set(_INSTANT, instant)

    def now(self) -> int:
        """Return the instant that was set last."""
        return self._get(_INSTANT)

    def number_news(self) -> int:
        """Return the number of news that has just come up."""
        return self._count(_NEWS)

    def begin(self, step: Step) -> None:
        """A step of this instant begins."""
        self._set(_STEP, step)

    def place(self) -> tuple[int, int, int]:
        """Return the place of what happens now among all that does: as in a simulation, whoever goes on first."""
        return self.now(), self._get(_STEP), self._count(_EVENTS)

    @property
    def has_news(self) -> bool:
        """Whether there is news that has not come yet."""
        return self._get(_COME) < self._get(_NEWS)

    def is_next(self, number: int) -> bool:
        """Return whether the news of this number is the next to come."""
        return number == self._get(_COME)

    def news_comes(self) -> None:
        """Note that the next news comes now."""
        self._count(_COME)

    def _count(self, place: int) -> int:
        number = self._get(place)
        self._set(place, number + 1)
        return number

    def _get(self, place: int) -> int:
        return int(_NUMBER.unpack_from(self._bytes, place)[0])

    def _set(self, place: int, number: int) -> None:
        _NUMBER.pack_into(self._bytes, place, number)

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
