"""In the service: notes each long turn of its event loop, as a line of the file that LOOP_TURNS names.

A turn is all that the loop does between two waits. Its processor time counts, as the host may be busy otherwise. With
LOOP_PROFILE a profile of the longest turn of the traffic is kept, in the file of that name.
"""

import asyncio
import cProfile
import os
import time
from pathlib import Path
from typing import Any

LEAST = 0.02  # seconds of a turn that is noted


def install(path: str) -> None:
    """Note the turns of all loops from now on: when it ended, its processor time, its time, and its longest part."""
    run_once, run = asyncio.base_events.BaseEventLoop._run_once, asyncio.events.Handle._run  # type: ignore[attr-defined]
    spent, longest, parts, record = 0.0, 0.0, "", 0.0
    kept, traffic = os.environ.get("LOOP_PROFILE"), Path(path).with_name("traffic")

    def timed(handle: Any) -> None:
        nonlocal spent, longest, parts
        began, used = time.monotonic(), time.thread_time()
        try:
            run(handle)
        finally:
            spent += time.monotonic() - began
            if (used := time.thread_time() - used) > longest:
                longest, parts = used, " ".join(repr(handle).split())

    def turn(loop: Any) -> None:
        nonlocal spent, longest, parts, record
        spent, longest, parts, used = 0.0, 0.0, "", time.thread_time()
        profile = cProfile.Profile() if kept else None
        if profile is not None:
            profile.runcall(run_once, loop)
        else:
            run_once(loop)
        if (used := time.thread_time() - used) > LEAST:
            with open(path, "a") as file:
                file.write(f"{time.monotonic():.3f} {used:.4f} {spent:.4f} {parts[:200]}\n")
            if profile is not None and kept and used > record and traffic.exists():
                record = used
                profile.dump_stats(kept)

    asyncio.base_events.BaseEventLoop._run_once = turn  # type: ignore[attr-defined]
    asyncio.events.Handle._run = timed  # type: ignore[method-assign]


if "LOOP_TURNS" in os.environ:
    install(os.environ["LOOP_TURNS"])
