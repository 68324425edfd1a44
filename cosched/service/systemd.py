"""Notifications to the service manager by sd_notify's protocol, without its library."""

from __future__ import annotations

import os
import socket

TIMEOUT = 1.0  # seconds; we never wait longer for the service manager


def notify(state: str) -> bool:
    """Send systemd `READY=1`, `STOPPING=1`, `WATCHDOG=1` or `STATUS=...`; return whether this succeeded.

    The service does not fail if its manager is gone or stuck.
    """
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.settimeout(TIMEOUT)
            sender.sendto(state.encode(), "\0" + path[1:] if path[0] == "@" else path)
    except OSError:
        return False
    return True


def watchdog_interval() -> float | None:
    """Return the seconds between two WATCHDOG=1, half of systemd's timeout; None if it expects none of this process."""
    try:
        microseconds = int(os.environ.get("WATCHDOG_USEC", ""))
        process = int(os.environ.get("WATCHDOG_PID", os.getpid()))
    except ValueError:
        return None
    return microseconds / 2e6 if microseconds > 0 and process == os.getpid() else None
