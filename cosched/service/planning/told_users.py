"""Why jobs with mates wait, written where the users of a batch system look: in its own list of jobs."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from cosched.core.job import WAITING
from cosched.core.protocol import JobId
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.plans import HAS_NODES
from cosched.service.planning.explaining import Explaining
from cosched.v1.explain_pb2 import Explanation
from cosched_adapters.batch_system import BatchSystem
from cosched_adapters.manager import ManagerError

MOST = 200  # characters of a line
_DAY = 86400  # seconds


class ToldUsers:
    """What the users of one domain have been told of their jobs."""

    def __init__(self, domain: LiveDomain, system: BatchSystem, explaining: Explaining) -> None:
        self._domain, self._system, self._explaining = domain, system, explaining
        self._told: dict[JobId, str] = {}

    async def tell(self) -> None:
        """Tell what has changed since the last time."""
        records = [record for record in self._domain.jobs.values() if record.state in WAITING and record.mates]
        lines = {str(record.id): "" for record in records}
        for told in await self._explaining.known(records):
            lines[told.job.job.job_id] = line_of(told)
        for job in self._told.keys() - lines.keys():  # they run, or have ended
            lines[job] = ""
        for job, line in lines.items():
            if self._told.get(job, "") != line:
                with suppress(ManagerError):  # it has ended, or the batch system does not answer
                    await self._system.tell(job, line)
                    self._told[job] = line
            if not line or job not in self._domain.jobs:
                self._told.pop(job, None)


def line_of(told: Explanation, now: Callable[[], float] = time.time) -> str:
    """Return why a job waits and when it is expected to start, in this host's time; empty if it does not wait."""
    if not told.job.reason.text:
        return ""
    expected = told.together if told.HasField("together") else told.job.start
    at = 0 if expected.source == HAS_NODES else expected.at.seconds
    form = "%H:%M" if abs(at - now()) < _DAY else "%Y-%m-%dT%H:%M"
    start = f", start expected {time.strftime(form, time.localtime(at))}" if at else ""
    return f"cosched: {told.job.reason.text[: MOST - len(start)]}{start}"
