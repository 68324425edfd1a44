"""Those who watch what happens in the domain, as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cosched.service.store import EventRecord

MAX_BEHIND = 10_000  # events that wait for one watcher


class Watcher:
    """One who watches; `behind` is set when it does not keep up, and it hears no more."""

    def __init__(self) -> None:
        self.behind = False
        self.queue: asyncio.Queue[EventRecord] = asyncio.Queue(MAX_BEHIND)

    def tell(self, event: EventRecord) -> None:
        """Have it hear of an event."""
        try:
            self.queue.put_nowait(event)
        except asyncio.QueueFull:
            self.behind = True


class Watchers:
    """All who watch."""

    def __init__(self) -> None:
        self._watchers: set[Watcher] = set()

    @contextmanager
    def watch(self) -> Iterator[Watcher]:
        """Return a new one for the time of the block."""
        watcher = Watcher()
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)

    def tell(self, events: Sequence[EventRecord]) -> None:
        """Tell all of them."""
        for watcher in self._watchers:
            for event in events:
                watcher.tell(event)
