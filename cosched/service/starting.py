"""What takes time until a domain serves: it is told to whoever asks, and a stop ends it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from cosched.core.protocol import Domain
from cosched.service import systemd
from cosched.service.store.errors import StoreError
from cosched_adapters.loading import ResourceManager
from cosched_adapters.manager import ManagerError, UnavailableError

STAND_BY = 3.0  # seconds between two looks at where the manager runs
ASK_AGAIN = 1.0  # seconds between attempts to reach a resource manager that does not answer
_LOG = logging.getLogger(__name__)


class StoppedError(Exception):
    """The service was told to stop before it has begun."""


class Starting:
    """The start of one domain; `text` is for those who call it before it serves."""

    def __init__(self, domain: Domain, stop: asyncio.Event) -> None:
        self._domain, self._stop = domain, stop
        self.text = f"{domain} is starting"
        self.moved = ""  # to where the manager has moved, meanwhile
        self._stood_by = ""

    def _waits(self, why: str) -> None:
        _LOG.warning("not serving yet: %s", why)
        self.text = f"{self._domain} is starting: {why}"
        systemd.notify(f"STATUS=starting: {why}")

    async def turn(self, manager: ResourceManager) -> bool:
        """Stand by while the manager runs on another host, whose service its hooks ask; return whether this was so.

        StoppedError.
        """
        place = await _elsewhere(manager, "")
        while place:
            if place != self._stood_by:
                self._waits(f"it stands by: {place}")
                systemd.notify("READY=1")
            self._stood_by = place
            systemd.notify("WATCHDOG=1")
            await self._pause(STAND_BY)
            place = await _elsewhere(manager, place)
        return bool(self._stood_by)

    async def opened(self, store: Callable[[], None]) -> None:
        """Open the store, once another host's service has left it if this one has stood by. StoppedError."""
        while True:
            try:
                return store()
            except StoreError as error:
                if not (error.in_use and self._stood_by):
                    raise
                self._waits(str(error))
            await self._pause(ASK_AGAIN)

    async def follow(self, manager: ResourceManager) -> None:
        """End the service when its manager has moved to another host; `moved` says where."""
        with suppress(StoppedError):
            while not self.moved:
                await self._pause(STAND_BY)
                self.moved = await _elsewhere(manager, "")
            _LOG.warning("%s: this service ends, and stands by when it is started again", self.moved)
            self._stop.set()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)
            raise StoppedError

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
            await self._pause(ASK_AGAIN)

    async def load_kernels(self, sets: Sequence[str], of: str) -> None:
        """Load these sets of kernels of a kind, or compile them first; the loop goes on meanwhile. StoppedError."""
        if not sets:
            return
        from cosched.schedulers.kernels import uncompiled
        from cosched.service import kernels  # imports the compiler

        if missing := uncompiled(sets, of=of):
            await self._unless_stopped(kernels.compile_beside(missing, self._waits))
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


async def _elsewhere(manager: ResourceManager, before: str) -> str:
    """Return where the manager runs, if not here; `before`: as it was, if nobody can tell."""
    try:
        return await manager.elsewhere()
    except ManagerError:
        return before
