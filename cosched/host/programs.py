"""Programs as child processes of a service."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from contextlib import suppress
from typing import Any

PATIENCE = 5.0  # seconds for the end of a program whose start was cancelled: others may keep its pipes open
_CHUNK = 1 << 16


async def started(*command: str, **how: Any) -> Process:
    """Start a program as asyncio does. If this is cancelled, the program is started all the same, and killed.

    asyncio itself would leave those of its pipes open that are not connected yet. If a child of the program reads one,
    the start waits for it for ever.
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*command, **how))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError, TimeoutError):
            process = await starting
            async with asyncio.timeout(PATIENCE):
                await end(process)
        raise


async def end(process: Process) -> None:
    """Kill a program if it runs, and read its pipes to their ends, since `wait` waits for these."""
    if process.returncode is None:
        kill(process)
        if process.stdin is not None:
            process.stdin.close()  # its children may wait for more
        await asyncio.gather(_discard(process.stdout), _discard(process.stderr))
        await process.wait()


def kill(process: Process) -> None:
    """Kill a program, with its children if it leads a session."""
    with suppress(ProcessLookupError):
        leads = os.getpgid(process.pid) == process.pid
        (os.killpg if leads else os.kill)(process.pid, signal.SIGKILL)


async def _discard(stream: asyncio.StreamReader | None) -> None:
    while stream is not None and await stream.read(_CHUNK):
        pass
