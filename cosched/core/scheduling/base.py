"""What schedulers need not say by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cosched.core.allocation import Table
from cosched.core.protocol import JobId
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.run_times import RunTimes
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.scheduling.site_tables import SiteTables


class SchedulerBase:
    """See `OpenScheduler`."""

    capabilities = Capabilities()
    keeps: frozenset[str] = frozenset()  # the names in `ClusterJob.kept` of its jobs
    run_times: RunTimes | None = None
    site_tables: SiteTables = MappingProxyType({})

    def check(self, job: ClusterJob) -> None:
        """See OpenScheduler: any job can run that fits."""

    def predict(self, job: JobId, table: Table, now: int) -> None:  # noqa: ARG002
        """See OpenScheduler."""
        raise ValueError("the scheduler of this domain does not count the work of jobs")

    def lag(self) -> None:
        """See OpenScheduler: it takes no nodes from jobs that run on."""

    def uses(self, job: JobId, nodes: int) -> None:
        """See OpenScheduler."""

    def kept_free(self) -> int:
        """See OpenScheduler."""
        return 0

    def learn(self, job: JobId, seconds: int) -> None:
        """See OpenScheduler: it expects what jobs ask for."""

    def takes_up(self, job: ClusterJob) -> bool:
        """See OpenScheduler: it knows all that was kept."""
        return job.kept.keys() <= self.keeps

    def pushed(self, job: JobId) -> int | None:  # noqa: ARG002
        """See OpenScheduler."""
        return None

    def kept_of_domain(self) -> Mapping[str, Any]:
        """See OpenScheduler."""
        return {}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """See OpenScheduler."""

    def in_order(self, now: int) -> Sequence[JobId]:  # noqa: ARG002
        """See OpenScheduler."""
        return ()

    def counts(self) -> Mapping[str, Any]:
        """See OpenScheduler."""
        return {}
