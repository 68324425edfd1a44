"""Loads all compiled kernels of a live domain at the start, so that no call waits for one.

Loading a kernel takes up to a third of a second, compiling those of `try_start` several seconds. Peers wait 5 seconds
by default. What has to be compiled first is, in a process of its own, which a stop can end at once, and whose memory is
given back.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from cosched.compilation import kernels_are_compiled, prepare_kernels
from cosched.core.effects import Book, Claim, Quote
from cosched.core.job import JobState
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.batch.open_meeting_cluster import OpenMeetingCluster
from cosched.core.scheduling.fluid import warming
from cosched.core.scheduling.fluid.settings import FluidSettings
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings

_SMALL = ClusterSettings(9, parse_ordering("fcfs"), BACKFILLING["easy"])
_LOG = logging.getLogger(__name__)
_DONTNEED = 4  # MADV_DONTNEED
_CODE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r-xp .*/libllvmlite\.so$", re.MULTILINE)


def kernels_of(settings: ClusterSettings | FluidSettings) -> list[str]:
    """Return the sets of kernels that the scheduler of a live domain with these settings needs."""
    if isinstance(settings, FluidSettings):
        return ["fluid", "fluid-slots"] if settings.slots else ["fluid"]
    return ["meeting" if settings.meets else "batch"]


def load_kernels(sets: Sequence[str] = ("batch",)) -> None:
    """Load these sets, or compile them the first time; then give back the memory of the compiler's code."""
    seconds = sum(prepare_kernels(SETS[name], _LOG.warning) for name in sets)
    _LOG.info("kernels ready in %.1f s", seconds)
    for start, length in _compiler_code():
        _give_back(start, length)


def uncompiled(sets: Sequence[str]) -> list[str]:
    """Return those of these sets that have to be compiled."""
    return [name for name in sets if not kernels_are_compiled(SETS[name])]


async def compile_beside(sets: Sequence[str]) -> None:
    """Compile these sets in a process of its own, or wait for the process that does; it ends if this is cancelled."""
    code = f"import sys; from {__name__} import load_kernels; load_kernels(sys.argv[1:])"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", code, *sets, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        _, said = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:  # loading them will show what is wrong
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        _LOG.warning("the process that compiles the kernels has failed (%d): %s", process.returncode, last)


def _use_all() -> None:
    """Use all kernels on a small machine; they are the same for every machine and policy."""
    _use(OpenCluster(_SMALL))


def _use_all_that_meet() -> None:
    """The same, of a domain that meets."""
    cluster = OpenMeetingCluster(replace(_SMALL, mate_budget=Decimal(1), slots=True))
    _use(cluster)
    cluster.submit(_job("5"))
    cluster.next(6)
    cluster.reschedule()
    cluster.quote(Quote("5", 6), 6)
    cluster.pass_over("5", 6, 1.0)
    cluster.book(Book("5", 7, 1), 6)
    cluster.claim(Claim("5"), 7)


def _use(cluster: OpenCluster) -> None:
    for job in ("1", "2", "3"):
        cluster.submit(_job(job))
        cluster.next(1)
        cluster.pass_over(job, 1, 1.0)
    cluster.try_start("3", 2, 3)
    cluster.next(2)
    cluster.reschedule()  # although the answer for job 1 is pending
    cluster.hold("1", 2, 9)
    cluster.release("1", 3)
    cluster.copy().in_order(3)
    cluster.next(4)
    cluster.start("1", 4)
    cluster.submit(_job("4", JobState.RUNNING))
    cluster.leave("4", 5, JobState.COMPLETED)
    cluster.leave("2", 5, JobState.CANCELLED)


SETS: dict[str, Callable[[], None]] = {
    "batch": _use_all,
    "meeting": _use_all_that_meet,
    "fluid": warming.use_kernels,
    "fluid-slots": warming.use_kernels_of_slots,
}


def _job(name: str, state: JobState = JobState.QUEUED) -> ClusterJob:
    return ClusterJob(name, 1, 1, 0, paired=False, state=state, block=0, expected=9)


def _compiler_code() -> Iterator[tuple[int, int]]:
    """Yield the parts of memory with the compiler's code: address and bytes."""
    for start, end in _CODE.findall(Path("/proc/self/maps").read_text()):
        yield int(start, 16), int(end, 16) - int(start, 16)


def _give_back(start: int, length: int) -> None:
    """Make the operating system drop these pages of a file, 50 MB in all; it reads them again if they are needed."""
    ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), _DONTNEED)
