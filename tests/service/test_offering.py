"""What a service does after a restart with jobs that waited for their mates in a resource manager that schedules."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from adapters.slurm.book import Phase
from adapters.slurm.manager import Known
from cosched.core.job import JobState
from cosched.service import offering
from cosched.service.offering import Offering

STARTED, HELD, LOST = "123"


class Domain:
    """Three jobs that hold, on record."""

    def __init__(self) -> None:
        self.jobs = dict.fromkeys((STARTED, HELD, LOST), JobState.HOLDING)
        self.lost: list[str] = []
        self.told = asyncio.Event()

    def state(self, job: str) -> JobState:
        return self.jobs[job]

    def withdrawn(self, job: str) -> None:
        self.lost.append(job)
        self.told.set()


class Manager:
    """Their mates start one of them while the queue is looked at; the hook of another does not come back."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def jobs(self) -> Mapping[str, Known]:
        phases = {STARTED: Phase.LET_GO, HELD: Phase.OFFERED, LOST: Phase.QUEUED}
        return {job: Known(job, 0, 1, "ann", None, True, phase, None) for job, phase in phases.items()}

    async def look(self) -> bool:
        self._domain.jobs[STARTED] = JobState.RUNNING
        return True


@pytest.mark.asyncio
async def test_of_the_jobs_that_waited_only_those_that_still_do_can_have_lost_their_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(offering, "COMES_BACK", 0)
    domain = Domain()
    manager = Manager(domain)
    served = Offering(cast(Any, domain), cast(Any, manager), cast(Any, None), [], pytest.fail)
    await served.reconcile(manager.jobs(), ())
    await domain.told.wait()
    await served.close()
    assert domain.lost == [LOST]
