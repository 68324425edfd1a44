"""The server for hooks that run as root, and have one line to say each: those of PBS and Grid Engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from cosched.sockets.accepting import user_of
from cosched_adapters.hook_lines import Fields, LineError, decode
from cosched_adapters.hook_socket import HookSocket, Over

Answer = Callable[[str, Fields, asyncio.StreamReader], Awaitable[bytes]]
_LINE_WITHIN = 5.0  # seconds within which a connection must send its line
_LONGEST_LINE = 1 << 22  # bytes: a job may have thousands of nodes
_ROOT = 0
_ONLY_ROOT = 0o600  # mode of the socket: it is the service's own user's, and root may do all


class RootHooks(HookSocket):
    """Serves hooks on the Unix socket `path`, in an existing folder.

    `answer` gets the verb and the fields of a line, and a reader that ends when the hook hangs up. It returns the line
    of the answer, empty if there is none; or it raises LineError.
    """

    def __init__(self, path: Path, answer: Answer) -> None:
        self._answer = answer
        super().__init__(path, {_ROOT}, _ONLY_ROOT, self._hook)

    def _hook(self, over: Over) -> asyncio.Protocol:
        reader = asyncio.StreamReader(_LONGEST_LINE)
        return asyncio.StreamReaderProtocol(reader, partial(self._hear, over))

    async def _hear(self, over: Over, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        uid = user_of(writer.get_extra_info("socket"))
        try:
            async with asyncio.timeout(_LINE_WITHIN):
                line = await reader.readline()
            if line and uid != _ROOT:
                raise LineError("a hook runs as root")
            if line:
                writer.write(await self._answer(*decode(line.rstrip(b"\n")), reader))
            writer.close()
            await writer.wait_closed()
        except (OSError, TimeoutError, ValueError, LineError) as error:
            self.complain(uid, str(error) or "no line")
        finally:
            over()
