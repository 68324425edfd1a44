"""Waits for conditions; none ends because the machine is slow."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 600.0  # seconds; a safety net, not a measure


def wait_until(true: Callable[[], Any], what: str = "", patience: float = PATIENCE) -> Any:
    """Wait for a condition; what it gave. AssertionError after `patience` seconds."""
    end, pause = time.monotonic() + patience, 0.005
    while time.monotonic() < end:
        if value := true():
            return value
        time.sleep(pause)
        pause = min(1.3 * pause, 0.2)  # to look costs as much as what is looked at
    raise AssertionError(f"waited {patience} s: {what or true}")


async def until(true: Callable[[], object]) -> None:
    """Wait for a condition in an event loop; TimeoutError."""
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.005)
