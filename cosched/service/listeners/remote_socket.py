"""The listener for other hosts: other domains, and users with certificates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import grpc

from cosched.service.listeners.front import Front
from cosched.sockets.accepting import listen
from cosched.sockets.connections import Room


class RemoteSocket(Front):
    """A gRPC server on an address HOST:PORT; port 0 is any free one."""

    def __init__(self, address: str, private: Path, room: Room) -> None:
        super().__init__(address, private, room)
        self._address = address
        self.port = 0  # set by `open`

    async def open(self, server: grpc.aio.Server, add_port: Callable[[str], object]) -> None:
        """Start listening; OSError if the address cannot be used, InputError if the private folder cannot."""
        listeners = listen(self._address)
        self.port = listeners[0].getsockname()[1]
        try:
            await self.start(listeners, server, add_port)
        except BaseException:
            for listener in listeners:
                listener.close()
            raise
