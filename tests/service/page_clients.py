"""Asks a page over real sockets, with nothing between."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 300.0


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


async def ended(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The other side ends this connection without another word, politely or not."""
    async with asyncio.timeout(PATIENCE):
        with suppress(ConnectionError):
            assert await reader.read() == b""
    writer.close()


@dataclass
class Asker:
    """Asks at a port of 127.0.0.1, or at a socket."""

    where: int | Path
    headers: dict[str, str] = field(default_factory=dict)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self.where, Path):
            return await asyncio.open_unix_connection(str(self.where))
        return await asyncio.open_connection("127.0.0.1", self.where)

    async def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """The answer to one request; names of headers have _ for -."""
        told = {"Host": "localhost", "Connection": "close", **self.headers}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items()), "", ""]
        return await self.ask("\r\n".join(lines).encode())

    async def ask(self, request: bytes) -> Answer:
        reader, writer = await self.connect()
        try:
            writer.write(request)
            async with asyncio.timeout(PATIENCE):
                head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
        status, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        return Answer(int(status.split()[1]), headers, body.decode())
