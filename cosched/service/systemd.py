"""Notices to the service manager: sd_notify's protocol, without its library."""

from __future__ import annotations

import os
import socket
import time

TIMEOUT = 1.0  # seconds; the service manager is never waited for longer


def notify(state: str) -> bool:
    """Tell systemd `READY=1`, `STOPPING=1`, `RELOADING=1`, `WATCHDOG=1` or `STATUS=...`; whether it was told.

    Does nothing where NOTIFY_SOCKET is not set. RELOADING=1 gets the time stamp that Type=notify-reload asks for.
    """
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return False
    if state.startswith("RELOADING=1"):
        state += f"\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}"
    return _send("\0" + path[1:] if path[0] == "@" else path, state)


def watchdog_interval() -> float | None:
    """Seconds between two WATCHDOG=1, half of what systemd waits for one; None if it expects none of this process."""
    try:
        microseconds = int(os.environ.get("WATCHDOG_USEC", ""))
        process = int(os.environ.get("WATCHDOG_PID", os.getpid()))
    except ValueError:
        return None
    if microseconds <= 0 or process != os.getpid():
        return None
    return microseconds / 2e6


def _send(address: str, state: str) -> bool:
    """Whether it could be sent. A service manager that is gone or stuck is no reason for the service to fail."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.settimeout(TIMEOUT)
            sender.sendto(state.encode(), address)
    except OSError:
        return False
    return True
