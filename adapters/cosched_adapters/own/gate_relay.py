"""Stands in for gates on nodes that do not see the folder of the gates' files: each speaks by one TCP connection.

What a gate says is written into its file, and what the service answers is read there and sent: `Gates` knows no
difference. The file stays locked as long as the connection stands.

    relay -> gate   NONCE
    gate -> relay   NONCE MAC JOB TURN ready nodes=N nodelist=LIST
    relay -> gate   MAC ANSWER           the lines of the answer, joined by the character 31; whenever it has changed
    gate -> relay   MAC starting

MAC is the HMAC (SHA-256, hexadecimal) of the line behind both nonces, first that of the end that reads it. The key is
in a file that only the user can read, and in the user's job scripts; it never goes over the network.
"""

from __future__ import annotations

import asyncio
import fcntl
import hmac
import os
import re
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

KEY_FILE, KEY_BYTES = "key", 32
BETWEEN_LINES = "\x1f"
_MOST_STRANGERS = 64  # connections at once that have not shown that they know the key
_GREETING = 10.0  # seconds for that
_LOOK = 0.1  # seconds between two looks at an answer
_READY = re.compile(r"([0-9]{1,12}) ([0-9]{1,9} ready nodes=[0-9]{1,9} nodelist=\S{1,4096})")


def key_in(folder: Path) -> bytes:
    """Return the key in a folder, which is made the first time; OSError."""
    with suppress(FileNotFoundError):
        return bytes.fromhex((folder / KEY_FILE).read_text())
    key = secrets.token_bytes(KEY_BYTES)
    file = os.open(folder / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "w") as written:
        written.write(key.hex())
    return key


class GateRelay:
    """The relay of the gates' files in a folder."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder, self._port = folder, port
        self._strangers = 0
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen; OSError."""
        self._key = key_in(self._folder)
        self._server = await asyncio.start_server(self._serve, port=self._port)

    @property
    def port(self) -> int:
        """Where it listens by IPv4; each family has a port of its own if none was chosen."""
        return next(int(at.getsockname()[1]) for at in self._server.sockets if at.family == socket.AF_INET)

    async def close(self) -> None:
        """End all connections; their gates come again."""
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if self._strangers < _MOST_STRANGERS:
                await self._meet(reader, writer)
        except (OSError, ValueError, TimeoutError):
            pass  # the gate tries again
        finally:
            self._connections.discard(task)
            writer.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ours = secrets.token_hex(16)
        writer.write(f"{ours}\n".encode())
        self._strangers += 1
        try:
            async with asyncio.timeout(_GREETING):
                theirs, _, said = (await reader.readline()).decode().rstrip("\n").partition(" ")
        finally:
            self._strangers -= 1
        match = _READY.fullmatch(self._checked(f"{ours} {theirs}", said))
        if match is None:
            raise ValueError("not what a gate says")
        job, ready = match.groups()
        with (self._folder / f"{job}.told").open("ab", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(f"{ready} locked\n".encode())
            starting = asyncio.create_task(reader.readline())
            try:
                await self._tell(starting, writer, f"{theirs} {ours}", self._folder / f"{job}.answer")
                self._hear(starting.result(), f"{ours} {theirs}", file, ready.partition(" ")[0])
            finally:
                starting.cancel()

    async def _tell(
        self, starting: asyncio.Task[bytes], writer: asyncio.StreamWriter, nonces: str, answer: Path
    ) -> None:
        told = ""
        while not starting.done():
            with suppress(OSError):
                text = answer.read_text().rstrip("\n").replace("\n", BETWEEN_LINES)
                if text and text != told:
                    told = text
                    writer.write(f"{self._mac(f'{nonces} {text}')} {text}\n".encode())
            await asyncio.wait([starting], timeout=_LOOK)

    def _hear(self, line: bytes, nonces: str, file: BinaryIO, turn: str) -> None:
        if line and self._checked(nonces, line.decode().rstrip("\n")) == "starting":
            file.write(f"{turn} starting\n".encode())

    def _checked(self, nonces: str, line: str) -> str:
        """Return what a gate says; ValueError if it does not know the key."""
        mac, _, said = line.partition(" ")
        if not hmac.compare_digest(mac.encode(), self._mac(f"{nonces} {said}").encode()):
            raise ValueError("a wrong MAC")
        return said

    def _mac(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), "sha256").hex()
