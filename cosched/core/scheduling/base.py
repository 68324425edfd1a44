"""What schedulers need not say by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cosched.core.allocation import Table
from cosched.core.protocol import JobId
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.scheduler import ClusterJob


class SchedulerBase:
    """See `OpenScheduler`."""

    capabilities = Capabilities()

    def check(self, job: ClusterJob) -> None:
        """See OpenScheduler: any job can run that fits."""

    def predict(self, job: JobId, table: Table, now: int) -> None:  # noqa: ARG002
        """See OpenScheduler."""
        raise ValueError("the scheduler of this domain does not count the work of jobs")

    def counts(self) -> Mapping[str, Any]:
        """See OpenScheduler."""
        return {}
