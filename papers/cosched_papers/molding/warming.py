"""Uses all kernels of a molding scheduler once, so that they are loaded, or compiled, before they are needed."""

from __future__ import annotations

import numpy as np

from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.molding.cluster import Molding
from cosched_papers.molding.jobs import Moldable, Molded
from cosched_papers.molding.machine import MoldingJobs, MoldingTrace
from cosched_papers.molding.settings import MoldingSettings, Sizing

JOBS = [ClusterJob(id, 2, 9, 0, paired=False, columns=Moldable()) for id in ("1", "2")]


def use_kernels_of_traces() -> None:
    """Use those of a trace without mates, which all others need, too."""
    MoldingTrace(MoldingSettings(2), MoldingJobs([Molded.of(job, 2) for job in JOBS], np.array([9, 9]))).run()


def use_kernels() -> None:
    """Use those that jobs need which come and go, and have mates."""
    cluster = Molding(MoldingSettings(2, Sizing.CIRNE_BERMAN))
    for job in JOBS:
        cluster.submit(job)
    cluster.next(0)
    cluster.start("1", 0)
    cluster.next(0)
    cluster.try_start("2", 0, 0)
    cluster.in_order(0)
