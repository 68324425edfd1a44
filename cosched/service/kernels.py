"""Loads all compiled kernels of a live domain at the start, so that no call waits for one.

Loading a kernel takes up to a third of a second, compiling those of `try_start` several seconds. Peers wait 5 seconds
by default.
"""

from __future__ import annotations

import ctypes
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from cosched.compilation import prepare_kernels
from cosched.core.effects import Book, Claim, Quote
from cosched.core.job import JobState
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.batch.open_meeting_cluster import OpenMeetingCluster
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings

_SMALL = ClusterSettings(9, parse_ordering("fcfs"), BACKFILLING["easy"])
_LOG = logging.getLogger(__name__)
_DONTNEED = 4  # MADV_DONTNEED
_CODE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r-xp .*/libllvmlite\.so$", re.MULTILINE)


def load_kernels(*, meets: bool = False) -> None:
    """Load the kernels, or compile them the first time; then give back the memory of the compiler's code.

    `meets`: of a domain that starts pairs without holding, which has kernels of its own.
    """
    _load(_use_all_that_meet if meets else _use_all)


def load_fluid_kernels(*, slots: bool = False) -> None:
    """The same of a fluid domain; `slots`: of one that starts pairs by them."""
    from cosched.core.scheduling.fluid import warming

    _load(warming.use_kernels, warming.KERNELS)
    if slots:
        _load(warming.use_kernels_of_slots, warming.KERNELS_OF_SLOTS)


def _load(use: Callable[[], None], module: str = "") -> None:
    seconds = prepare_kernels(use, _LOG.warning, module)
    _LOG.info("kernels ready in %.1f s", seconds)
    for start, length in _compiler_code():
        _give_back(start, length)


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


def _job(name: str, state: JobState = JobState.QUEUED) -> ClusterJob:
    return ClusterJob(name, 1, 1, 0, paired=False, state=state, block=0, expected=9)


def _compiler_code() -> Iterator[tuple[int, int]]:
    """Yield the parts of memory with the compiler's code: address and bytes."""
    for start, end in _CODE.findall(Path("/proc/self/maps").read_text()):
        yield int(start, 16), int(end, 16) - int(start, 16)


def _give_back(start: int, length: int) -> None:
    """Make the operating system drop these pages of a file, 50 MB in all; it reads them again if they are needed."""
    ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), _DONTNEED)
