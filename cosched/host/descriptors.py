"""The limit of open files and connections: raised for a service, unchanged for the jobs that it starts."""

from __future__ import annotations

import resource
from contextlib import suppress

ENOUGH = 65_536
_before: tuple[int, int] | None = None


def raise_limit() -> None:
    """Raise this process's limit as far as permitted, up to ENOUGH; its child processes get `limit_before`."""
    global _before
    _before = soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):  # forbidden in some containers
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def limit_before() -> tuple[int, int]:
    """Return the soft and hard limits this process was started with. Programs that use select() need the soft one."""
    return _before or resource.getrlimit(resource.RLIMIT_NOFILE)
