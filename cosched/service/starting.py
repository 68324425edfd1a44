"""What takes time until a domain serves: it is told to whoever asks, and a stop ends it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from cosched.adapters.loading import ResourceManager
from cosched.adapters.manager import UnavailableError
from cosched.core.protocol import Domain
from cosched.service import systemd

ASK_AGAIN = 1.0  # seconds between attempts to reach a resource manager that does not answer
_LOG = logging.getLogger(__name__)


class StoppedError(Exception):
    """The service shall stop before it has begun."""


class Starting:
    """The start of one domain; `text` is for those who call it before it serves."""

    def __init__(self, domain: Domain, stop: asyncio.Event) -> None:
        self._domain = domain
        self._stop = stop
        self.text = f"{domain} is starting"

    def _waits(self, why: str) -> None:
        _LOG.warning("not serving yet: %s", why)
        self.text = f"{self._domain} is starting: {why}"
        systemd.notify(f"STATUS=starting: {why}")

    async def found(self, manager: ResourceManager) -> Mapping[str, Any]:
        """Wait until the manager answers, as it may start after us; return its jobs. StoppedError."""
        told = False
        while True:
            try:
                return await manager.open()
            except UnavailableError as error:
                if not told:
                    self._waits(f"it waits for the resource manager: {error}")
                told = True
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), ASK_AGAIN)
                raise StoppedError

    async def load_kernels(self, sets: Sequence[str], of: str) -> None:
        """Load these sets of kernels of a kind, or compile them first; the loop goes on meanwhile. StoppedError."""
        if not sets:
            return
        from cosched.service import kernels  # imports the compiler

        if uncompiled := kernels.uncompiled(sets, of=of):
            await self._unless_stopped(kernels.compile_beside(uncompiled, self._waits))
        await asyncio.to_thread(kernels.load_kernels, sets, of=of)

    async def _unless_stopped(self, work: Coroutine[Any, Any, None]) -> None:
        doing, stopping = asyncio.create_task(work), asyncio.create_task(self._stop.wait())
        await asyncio.wait((doing, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not doing.done():
            doing.cancel()
            await asyncio.wait((doing,))
            raise StoppedError
        doing.result()
