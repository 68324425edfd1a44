"""Long work in slices, between which all else has its turn: while it goes on, nobody waits for long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import TypeVar

SLICE = 0.02  # seconds
_T = TypeVar("_T")


class Slices:
    """One piece of work, which calls `pause` wherever others may have their turn."""

    def __init__(self) -> None:
        self._end = 0.0

    async def pause(self) -> None:
        """Let others have their turn, if they have not had it for a while."""
        if time.monotonic() >= self._end:
            await asyncio.sleep(0)
            self._end = time.monotonic() + SLICE


async def in_slices(items: Iterable[_T]) -> list[_T]:
    """Return the items of an iterator that takes a while to yield them all."""
    slices, found = Slices(), []
    for item in items:
        found.append(item)
        await slices.pause()
    return found
