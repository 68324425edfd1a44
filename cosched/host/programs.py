"""Programs as child processes of a service."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from contextlib import suppress
from typing import Any

PATIENCE = 5.0  # seconds for the end of a killed program, whose pipes others may keep open


async def started(*command: str, **how: Any) -> Process:
    """Start a program as asyncio does. If this is cancelled, it is so once the program has started, and was killed.

    asyncio may wait for ever for a program whose start is cancelled: it does not hear of pipes that close before it
    has noted them.
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*command, **how))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError, TimeoutError):
            process = await starting
            with suppress(ProcessLookupError):
                (os.killpg if how.get("start_new_session") else os.kill)(process.pid, signal.SIGKILL)
            if process.stdin is not None:
                process.stdin.close()  # its children may wait for more
            async with asyncio.timeout(PATIENCE):
                await process.communicate()
        raise
