"""Tells live pages, by server-sent events, that something has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from cosched.service.domain.watching import Watcher, Watchers

LEAST = 2.0  # seconds between two renewals of one page
FOR_EACH = 0.05  # seconds more for each page that is live, so that many cost no more than a few
MOST = 15.0  # after which a page is renewed in any case: time goes on
CHANGED = b"event: changed\ndata: \n\n"


class Pulse:
    """The stream of one domain's changes; belongs to its loop."""

    def __init__(self, watchers: Watchers) -> None:
        self._watchers = watchers
        self._live = 0

    async def beats(self) -> AsyncIterator[bytes]:
        """Yield the message that something has changed, at most every LEAST seconds, without end."""
        self._live += 1
        try:
            yield b"retry: 5000\n\n"
            while True:
                with self._watchers.watch() as watcher:
                    await self._beat(watcher)
                yield CHANGED
        finally:
            self._live -= 1

    async def _beat(self, watcher: Watcher) -> None:
        await asyncio.sleep(LEAST + FOR_EACH * self._live)
        try:
            async with asyncio.timeout(MOST - LEAST):
                await watcher.queue.get()
        except TimeoutError:
            pass
