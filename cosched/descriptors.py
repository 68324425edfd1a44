"""How many files and connections a service may have open: as many as it is allowed to; its jobs, as many as before."""

from __future__ import annotations

import resource
from contextlib import suppress

ENOUGH = 65_536
_before: tuple[int, int] | None = None


def raise_limit() -> None:
    """Raise this process's limit as far as it may, up to ENOUGH; `limit_before` is for those that it starts."""
    global _before
    _before = soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):  # not allowed to, in some containers
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def limit_before() -> tuple[int, int]:
    """The limit, soft and hard, with which this process was started. Programs that use select() need the soft one."""
    return _before or resource.getrlimit(resource.RLIMIT_NOFILE)
