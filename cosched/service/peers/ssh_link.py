"""Keeps the connection to a peer that a login by ssh leads to, and brings it back with growing pauses.

The pauses are shorter than a peer's grace: after it, jobs here start without their mates.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cosched.core.protocol import Domain
from cosched.service.configuration_sections import Peer
from cosched.sockets.hello import HelloError, greeting
from cosched.sockets.ssh import SshStream
from cosched.sockets.streams import StreamError, Streams
from cosched.validation.addresses import socket_path

SHORTEST, LONGEST = 1.0, 60.0  # seconds between two attempts
TRIES = 8  # to connect within a peer's grace, at least
STOOD = 2.0  # seconds after which a connection has proved good
_LOG = logging.getLogger(__name__)


class SshLink:
    """The link of domain `here` to one peer, which may be away for `grace` seconds; it begins at once."""

    def __init__(self, here: Domain, peer: Peer, grace: float, failed: Callable[[BaseException], None]) -> None:
        self._here, self._peer = here, peer
        self._longest = min(LONGEST, max(SHORTEST, grace / TRIES))
        self._failed = failed
        self._said = ""
        self._task = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """End the connection."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _keep(self) -> None:
        pause, clock = SHORTEST, asyncio.get_running_loop().time
        try:
            while True:
                self._greeted = math.inf
                try:
                    await self._connect()
                    self._say("the connection has ended")
                except (HelloError, StreamError, OSError) as error:
                    self._say(str(error))
                pause = SHORTEST if clock() - self._greeted > STOOD else min(self._longest, 2 * pause)
                await asyncio.sleep(pause)
        except Exception as error:
            self._failed(error)

    def _say(self, problem: str) -> None:
        """Log a problem, unless it is the last one again."""
        level = logging.DEBUG if problem == self._said else logging.WARNING
        self._said = problem
        _LOG.log(level, "peer %s by ssh %s: %s", self._peer.name, self._peer.ssh, problem)

    async def _connect(self) -> None:
        peer = self._peer
        assert peer.ssh is not None
        stream = SshStream(peer.ssh)
        await stream.open(greeting(self._here, peer.name))
        try:
            if (name := stream.there["domain"]) != peer.name:
                raise HelloError(f"the service there is domain {name}: cosched peer add {name} {peer.ssh}")
            self._said, self._greeted = "", asyncio.get_running_loop().time()
            _LOG.info("peer %s is connected by ssh %s", peer.name, peer.ssh)
            path = socket_path(peer.address)
            assert path is not None
            arrive = lambda: asyncio.open_unix_connection(peer.socket)  # noqa: E731
            await Streams(stream.reader, stream.writer, arrive, first=True).join(Path(path))
        finally:
            await stream.close()
