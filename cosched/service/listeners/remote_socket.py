"""The listener for other hosts: other domains, and users with certificates."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path

import grpc

from cosched.service.listeners.accepting import listen
from cosched.service.listeners.connections import Room
from cosched.service.listeners.front import Front

_SAME_NETWORK = 64  # bits: one host may have many IPv6 addresses with this prefix


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

    def _origin(self, accepted: socket.socket) -> str:
        address = ip_address(accepted.getpeername()[0].partition("%")[0])
        if not isinstance(address, IPv6Address):
            return str(address)
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(address) if address.is_loopback else str(ip_network((address, _SAME_NETWORK), strict=False))
