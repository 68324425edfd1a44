"""The ends of jobs: as a resource manager reports them, and after they are on record."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from cosched.adapters.loading import ResourceManager
from cosched.adapters.manager import End, Ended, ManagerError
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import EventRecord
from cosched.v1.domain_pb2 import EVENT_KIND_ENDED

_LOG = logging.getLogger(__name__)


def tell_end(domain: LiveDomain, end: Ended) -> None:
    """Tell the domain of the end of a job."""
    if end.how is End.UNSTARTED:
        domain.metrics.launch_failures.inc()
    domain.ended(end.job_id, _state_of(end), _explained(end), end.exit_code)


def _state_of(end: Ended) -> JobState:
    if end.succeeded:
        return JobState.COMPLETED
    return JobState.CANCELLED if end.how is End.CANCELLED else JobState.FAILED


def _explained(end: Ended) -> str:
    """Why it ended, for people; empty for a plain success."""
    if end.reason:
        return end.reason
    if end.how is End.SIGNALLED:
        return f"ended by signal {end.signal}"
    if end.how is End.EXITED and end.exit_code:
        return f"exit code {end.exit_code}"
    return ""


def over(events: Sequence[EventRecord]) -> list[JobId]:
    """The jobs whose ends are among these events."""
    return [str(event.job) for event in events if event.kind == EVENT_KIND_ENDED]


async def forget(manager: ResourceManager, job: JobId) -> None:
    """Let the manager drop what it keeps of a job whose end is on record."""
    try:
        await manager.forget(job)
    except ManagerError as error:
        _LOG.warning("job %s: %s", job, error)
