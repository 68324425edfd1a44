"""Uses all kernels of an open batch scheduler once, so that they are loaded, or compiled, before they are needed."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from cosched.core.effects import Book, Claim, Quote
from cosched.core.job import JobState
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings

_SMALL = ClusterSettings(9, parse_ordering("fcfs"), BACKFILLING["easy"])


def use_kernels() -> None:
    """Use those of a domain whose pairs hold or yield, on a small machine; they are the same for every policy."""
    _use(OpenCluster(_SMALL))


def use_kernels_of_meeting() -> None:
    """Use those of a domain whose pairs meet."""
    cluster = OpenCluster(replace(_SMALL, mate_budget=Decimal(1), slots=True))
    _use(cluster)
    cluster.submit(_job("5"))
    cluster.next(6)
    cluster.reschedule()
    cluster.meeting.quote(Quote("5", 6), 6)
    cluster.pass_over("5", 6, 1.0)
    cluster.meeting.book(Book("5", 7, 1), 6)
    cluster.meeting.claim(Claim("5"), 7)


def _use(cluster: OpenCluster) -> None:
    for job in ("1", "2", "3"):
        cluster.submit(_job(job))
        cluster.next(1)
        cluster.pass_over(job, 1, 1.0)
    cluster.try_start("3", 2, 3)
    if cluster.try_ready("2", 2):
        cluster.give_back("2", 2)
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
    return ClusterJob(name, 1, 1, 0, paired=False, state=state, expected=9, kept={"block": 0})
