"""Uses all kernels of a fluid scheduler once, so that they are loaded, or compiled, before they are needed."""

from __future__ import annotations

import numpy as np

from cosched.core.allocation import Malleable, Table
from cosched.core.effects import Book, Claim, Quote
from cosched.core.job import JobState
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.fluid.cluster import FluidCluster
from cosched_papers.fluid.machine import FluidJobs, FluidTrace
from cosched_papers.fluid.settings import FluidSettings


def use_kernels_of_traces() -> None:
    """Use those of a trace without mates, which all others need, too."""
    submit, least, ideal, run, zero = (np.array(each, np.int64) for each in ([0, 1], [1, 1], [2, 2], [3, 3], [0, 0]))
    FluidTrace(FluidSettings(2), FluidJobs(submit, least, ideal, run, run, zero > 0, zero, zero)).run()


def use_kernels() -> None:
    """Use those that jobs need which come and go, and have mates."""
    cluster = FluidCluster(FluidSettings(2))
    for job in ("1", "2"):
        cluster.submit(ClusterJob(job, 2, 9, 0, paired=True, columns=Malleable(1)))
    cluster.next(0)
    cluster.hold("1", 0, 9)
    cluster.next(0)
    cluster.pass_over("2", 0, 1.0)
    cluster.release("1", 1)
    cluster.try_start("2", 1, 2)
    cluster.next(1)
    cluster.start("1", 1)
    cluster.predict("1", Table((2, 1), (0, 0)), 1)
    FluidCluster(FluidSettings(2)).submit(cluster.job("1"))  # as after a restart
    cluster.leave("1", 2, JobState.COMPLETED)


def use_kernels_of_slots() -> None:
    """Use those that jobs need which have slots."""
    cluster = FluidCluster(FluidSettings(2, slots=True))
    cluster.submit(ClusterJob("1", 2, 9, 0, paired=True, columns=Malleable(1)))
    assert cluster.meeting is not None
    cluster.meeting.quote(Quote("1", 1), 0)
    cluster.meeting.book(Book("1", 1, 1), 0)
    cluster.meeting.unbook("1", 0)
    cluster.meeting.book(Book("1", 1, 2), 0)
    cluster.meeting.claim(Claim("1"), 1)
    cluster.start("1", 1)
