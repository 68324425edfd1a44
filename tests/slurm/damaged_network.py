"""A network that loses, damages, doubles and delays packets, between services that run on one host.

Each domain has a network namespace of its own, without a name, with one interface, whose packets a thread passes on:
the kernel need not have a queueing discipline for that. Services stay where Slurm is. What one of them sends to a peer
goes by a relay: from the loopback interface into the caller's namespace, through the network, and out of the peer's.
All of it ends with this process.
"""

import asyncio
import ctypes
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import pytest

_T = TypeVar("_T")
Connect = Callable[[], Awaitable[socket.socket]]
Relay = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_SET_INTERFACE, _PACKETS = 0x400454CA, 0x1001  # TUNSETIFF; IFF_TUN, IFF_NO_PI
_INTERFACE = "wire"
_LARGEST = 65536  # bytes
_HEADER = 20  # bytes before what TCP's check sum covers
_WAKE = 0.01  # seconds between two looks at late packets


@dataclass(frozen=True)
class Weather:
    """How often what happens to a packet: probabilities; `late`: by up to `delay` seconds, so that others overtake."""

    lose: float = 0.0
    damage: float = 0.0  # one bit of it
    double: float = 0.0
    late: float = 0.0
    delay: float = 0.2


FAIR = Weather()
STORM = Weather(lose=0.05, damage=0.03, double=0.05, late=0.1)


class _Host:
    """A namespace: what is made in its thread belongs there."""

    def __init__(self, number: int) -> None:
        self.address = f"10.77.0.{number}"
        self._thread = ThreadPoolExecutor(1, f"network {number}")
        self.wire = self.make(self._open)

    def make(self, make: Callable[[], _T]) -> _T:
        """Make something there."""
        return self._thread.submit(make).result()

    def _open(self) -> int:
        if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "no network namespace")
        wire = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(wire, _SET_INTERFACE, struct.pack("16sH22x", _INTERFACE.encode(), _PACKETS))
        for command in (f"address add {self.address}/24 dev {_INTERFACE}", f"link set {_INTERFACE} up"):
            subprocess.run(["ip", *command.split()], check=True)
        return wire

    def close(self) -> None:
        os.close(self.wire)
        self._thread.shutdown()


class Network:
    """The network of these domains; `targets` are their services' addresses, and `weather` what it does."""

    def __init__(self, names: Sequence[str], seed: int) -> None:
        self.weather = FAIR
        self.targets: dict[str, str] = {}
        self.done: Counter[str] = Counter()  # what has happened to packets
        self._names = tuple(names)
        self._chance = random.Random(seed)
        self._late: list[tuple[float, int, int, bytes]] = []
        self._over = threading.Event()
        self._entrances: dict[tuple[str, str], str] = {}

    def __enter__(self) -> Self:
        try:
            self._hosts = {name: _Host(number) for number, name in enumerate(self._names, 1)}
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no namespaces with packets here, which need root: {error}")
        self._wires = {socket.inet_aton(host.address): host.wire for host in self._hosts.values()}
        self._loop = asyncio.new_event_loop()
        self._threads = [threading.Thread(target=run) for run in (self._pass_packets, self._loop.run_forever)]
        for thread in self._threads:
            thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        for thread in self._threads:
            thread.join()
        self._loop.close()
        for host in self._hosts.values():
            host.close()

    def entrance(self, caller: str, called: str) -> str:
        """Return the address at which `caller` reaches `called`."""
        return self._entrances[caller, called]

    # Packets

    def _pass_packets(self) -> None:
        while not self._over.is_set():
            readable, _, _ = select.select([*self._wires.values()], [], [], _WAKE)
            for wire in readable:
                with suppress(BlockingIOError):
                    self._take(os.read(wire, _LARGEST))
            while self._late and self._late[0][0] <= time.monotonic():
                *_, wire, packet = heapq.heappop(self._late)
                self._send(wire, packet)

    def _take(self, packet: bytes) -> None:
        wire = self._wires.get(packet[16:20]) if packet[0] >> 4 == 4 else None
        if wire is None:
            return
        weather = self.weather
        if self._happens("lost", weather.lose):
            return
        if self._happens("damaged", weather.damage) and len(packet) > _HEADER:
            damaged = bytearray(packet)
            damaged[self._chance.randrange(_HEADER, len(packet))] ^= 1 << self._chance.randrange(8)
            packet = bytes(damaged)
        for _ in range(2 if self._happens("doubled", weather.double) else 1):
            wait = self._chance.uniform(0, weather.delay) if self._happens("late", weather.late) else 0.0
            self.done["passed"] += 1
            if wait:
                heapq.heappush(self._late, (time.monotonic() + wait, self.done["passed"], wire, packet))
            else:
                self._send(wire, packet)

    def _happens(self, what: str, probability: float) -> bool:
        happens = self._chance.random() < probability
        self.done[what] += happens
        return happens

    @staticmethod
    def _send(wire: int, packet: bytes) -> None:
        with suppress(OSError):  # the other side is full: one more is lost
            os.write(wire, packet)

    # Relays

    async def _open(self) -> None:
        self._servers = []
        for called, host in self._hosts.items():
            out = host.make(lambda host=host: socket.create_server((host.address, 0)))
            self._servers.append(await asyncio.start_server(self._relay(self._to_service(called)), sock=out))
            for caller in self._names:
                into = await asyncio.start_server(
                    self._relay(self._through(self._hosts[caller], out.getsockname())), "127.0.0.1", 0
                )
                self._servers.append(into)
                port = into.sockets[0].getsockname()[1]
                self._entrances[caller, called] = f"127.0.0.1:{port}"

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _to_service(self, called: str) -> Connect:
        async def connect() -> socket.socket:
            host, port = self.targets[called].split(":")
            return await self._connected(socket.socket(), (host, int(port)))

        return connect

    def _through(self, host: _Host, target: tuple[str, int]) -> Connect:
        async def connect() -> socket.socket:
            return await self._connected(host.make(socket.socket), target)

        return connect

    async def _connected(self, made: socket.socket, target: tuple[str, int]) -> socket.socket:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await self._loop.sock_connect(made, target)
        except BaseException:
            made.close()
            raise
        return made

    @staticmethod
    def _relay(connect: Connect) -> Relay:
        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, asyncio.CancelledError):  # an end has gone, or the network ends
                try:
                    onward, back = await asyncio.open_connection(sock=await connect())
                    try:
                        pumps = [asyncio.ensure_future(_pump(*way)) for way in ((reader, back), (onward, writer))]
                        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                        for pump in pumps:
                            pump.cancel()
                        await asyncio.gather(*pumps, return_exceptions=True)
                    finally:
                        back.transport.abort()
                finally:
                    writer.transport.abort()

        return relay


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_LARGEST):
            writer.write(data)
            await writer.drain()
