"""What a service does after a restart with jobs that waited for their mates in a resource manager that schedules."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cosched.adapters.batch_system import Known, MeetingSystem, SlotOnRecord
from cosched.adapters.manager import ManagerError
from cosched.core.job import JobState
from cosched.service.manager.offers import Offers
from cosched.service.peers.linking import Coupled
from cosched.service.tasks import Tasks


class Domain:
    """Jobs on record, and those of them that have lost their nodes."""

    def __init__(self, **jobs: JobState) -> None:
        self.jobs = {job: SimpleNamespace(state=state, cancelled_by=None) for job, state in jobs.items()}
        self.lost: list[str] = []

    def state(self, job: str) -> JobState:
        return self.jobs[job].state

    def withdrawn(self, job: str) -> None:
        self.lost.append(job)


async def lost(on_record: JobState, *, offered: bool) -> bool:
    """Whether a job in this state has lost its nodes, as the manager finds it."""
    domain = Domain(j=on_record)
    offers = Offers(
        cast(Any, domain), cast(Any, domain), cast(Any, None), cast(Any, None), Coupled([]), Tasks(pytest.fail)
    )
    await offers.take_up({"j": Known("j", submitted_at=0, nodes=1, owner="ann", named=None, offered=offered)}, ())
    return domain.lost == ["j"]


@pytest.mark.parametrize("waiting", [JobState.READY, JobState.HOLDING])
async def test_a_job_that_waited_has_lost_its_nodes_if_it_is_queued_and_only_then(waiting: JobState) -> None:
    """However late the hook of one comes that still has them."""
    assert await lost(waiting, offered=False)
    assert not await lost(waiting, offered=True)


@pytest.mark.parametrize("on_record", [JobState.QUEUED, JobState.RUNNING])
async def test_a_job_that_did_not_wait_has_none_to_lose(on_record: JobState) -> None:
    assert not await lost(on_record, offered=False)


async def test_slots_of_an_earlier_service_that_met_are_taken_away() -> None:
    """Its jobs would wait in them for ever."""
    taken: list[dict[str, SlotOnRecord]] = []

    class System(MeetingSystem):
        async def take_up_slots(self, slots: Mapping[str, SlotOnRecord]) -> None:
            taken.append({**slots})
            raise ManagerError("scontrol: no")

    tasks = Tasks(pytest.fail)
    domain = cast(Any, Domain())
    offers = Offers(domain, domain, System(), cast(Any, None), Coupled([]), tasks)
    await offers.take_up({}, ())
    await tasks.settled()
    assert taken == [{}]
