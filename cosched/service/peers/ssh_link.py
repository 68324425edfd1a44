"""Keeps the connection to a peer that a login by ssh leads to, and brings it back with growing pauses."""

from __future__ import annotations

import asyncio
import getpass
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cosched.core.protocol import Domain
from cosched.service.configuration_sections import Peer
from cosched.sockets.hello import HelloError
from cosched.sockets.ssh import SshStream
from cosched.sockets.streams import StreamError, Streams
from cosched.validation.addresses import socket_path

SHORTEST, LONGEST = 1.0, 60.0  # seconds between two attempts
STOOD = 30.0  # seconds after which a connection has proved good
_LOG = logging.getLogger(__name__)


class SshLink:
    """The link of domain `here` to one peer; it begins at once."""

    def __init__(self, here: Domain, peer: Peer, failed: Callable[[BaseException], None]) -> None:
        self._here, self._peer = here, peer
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
                began = clock()
                try:
                    await self._connect()
                    self._say("the connection has ended")
                except (HelloError, StreamError, OSError) as error:
                    self._say(str(error))
                pause = SHORTEST if clock() - began > STOOD else min(LONGEST, 2 * pause)
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
        await stream.open({"domain": self._here, "user": getpass.getuser()})
        try:
            if (name := stream.there["domain"]) != peer.name:
                raise HelloError(f"the service there is domain {name}: cosched peer add {name} {peer.ssh}")
            self._said = ""
            _LOG.info("peer %s is connected by ssh %s", peer.name, peer.ssh)
            path = socket_path(peer.address)
            assert path is not None
            arrive = lambda: asyncio.open_unix_connection(peer.socket)  # noqa: E731
            await Streams(stream.reader, stream.writer, arrive, first=True).join(Path(path))
        finally:
            await stream.close()
