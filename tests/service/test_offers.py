"""What a service does after a restart with jobs that waited for their mates in a resource manager that schedules."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cosched.core.effects import PassOver, Yield
from cosched.core.job import JobState
from cosched.service.domain.changes import Preempt
from cosched.service.manager import cancelling
from cosched.service.manager.offers import Offers
from cosched.service.peers.linking import Coupled
from cosched.service.tasks import Tasks
from cosched_adapters.batch_system import BatchSystem, Known, MeetingSystem, SlotOnRecord
from cosched_adapters.manager import ManagerError, NoRequeueError, UnavailableError
from cosched_adapters.setting_checks import QueueSettings
from cosched_adapters.watched import WatchedQueue

LOG = logging.getLogger(__name__)


class Domain:
    """Jobs on record, and those of them that have lost their nodes."""

    def __init__(self, **jobs: JobState) -> None:
        self.jobs = {job: SimpleNamespace(state=state, preempted_at=None) for job, state in jobs.items()}
        self.lost: list[str] = []
        self.run_on: list[str] = []

    def state(self, job: str) -> JobState:
        return self.jobs[job].state

    def withdrawn(self, job: str) -> None:
        self.lost.append(job)
        self.jobs[job].preempted_at = None

    def runs_on(self, job: str, why: str) -> None:
        self.run_on.append(f"{job}: {why}")
        self.jobs[job].preempted_at = None


async def lost(on_record: JobState, *, offered: bool) -> bool:
    """Whether a job in this state has lost its nodes, as the manager finds it."""
    domain = Domain(j=on_record)
    offers = Offers(domain, domain, None, None, Coupled([]), Tasks(pytest.fail))
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


RUNS = Known("j", submitted_at=0, nodes=1, owner="ann", named=None, running=True)


class Requeuing(BatchSystem):
    """Queues a running job again when it has been asked so often."""

    def __init__(self, *answers: Exception | None) -> None:
        self.answers = [*answers]

    async def requeue(self, job_id: str) -> None:
        assert job_id == "j"
        if (answer := self.answers.pop(0)) is not None:
            raise answer


def ordered(system: BatchSystem, tasks: Tasks) -> tuple[Domain, Offers]:
    """A domain whose running job is to be queued again."""
    domain: Any = Domain(j=JobState.RUNNING)
    domain.jobs["j"].preempted_at = 1000
    domain.started = domain.resized = lambda *_: None
    return domain, Offers(domain, domain, system, None, Coupled([]), tasks)


async def test_an_order_to_queue_a_running_job_again_is_repeated_also_after_a_restart(monkeypatch) -> None:
    monkeypatch.setattr(cancelling, "AGAIN", 0.001)
    system = Requeuing(ManagerError("not launched yet"), None, UnavailableError("away"), None)
    tasks = Tasks(pytest.fail)
    domain, offers = ordered(system, tasks)
    await offers.carry_out(Preempt("j"))
    await tasks.settled()
    assert len(system.answers) == 2
    await offers.take_up({"j": RUNS}, ["j"])
    await tasks.settled()
    assert (system.answers, domain.lost, domain.run_on) == ([], [], [])


@pytest.mark.parametrize("offered", [False, True])
async def test_a_job_that_was_queued_again_while_the_service_was_down_has_lost_its_nodes(offered: bool) -> None:
    system, tasks = Requeuing(), Tasks(pytest.fail)
    domain, offers = ordered(system, tasks)
    await offers.take_up({"j": replace(RUNS, running=False, offered=offered)}, ["j"])
    await tasks.settled()
    assert domain.lost == ["j"]


async def test_a_job_that_cannot_be_queued_again_runs_on() -> None:
    system, tasks = Requeuing(NoRequeueError("qsub -r n")), Tasks(pytest.fail)
    domain, offers = ordered(system, tasks)
    await offers.carry_out(Preempt("j"))
    await tasks.settled()
    assert domain.run_on == ["j: qsub -r n"]


class Queue(WatchedQueue[Any], BatchSystem):
    """Notes for how long jobs are kept back."""

    def __init__(self, try_patience: float) -> None:
        super().__init__(QueueSettings(hook_socket=Path("hooks.sock"), try_patience=try_patience), LOG)
        self._register = SimpleNamespace(jobs={"j": "j"})
        self.pauses: list[float] = []

    async def _look(self) -> None:
        return

    async def _give_back(self, job: Any, pause: float, offer: int | None) -> bool:  # noqa: ARG002
        self.pauses.append(pause)
        return True

    async def _name(self, job: Any, named: Any) -> None:
        raise NotImplementedError

    async def hasten(self, job_id: str) -> None:
        assert job_id == "j"


@pytest.mark.parametrize("try_patience", [0.5, 60.0])
async def test_a_job_that_came_while_another_was_tried_is_not_offered_before_that_try_is_over(try_patience: float):
    """Else it would take the nodes again, before the batch system reaches the one that is tried, try after try."""
    system, domain = Queue(try_patience), Domain(j=JobState.QUEUED)
    domain.decisions = SimpleNamespace(giving_back={"j"})
    offers = Offers(domain, domain, system, None, Coupled([]), Tasks(pytest.fail))
    await offers.carry_out(PassOver("j", 1))
    assert system.pauses[0] > try_patience
    await offers.carry_out(Yield("j", 1.0, 2))
    assert system.pauses[1:] == [30.0]  # as configured


async def test_slots_of_an_earlier_service_that_met_are_taken_away() -> None:
    """Its jobs would wait in them for ever."""
    taken: list[dict[str, SlotOnRecord]] = []

    class System(MeetingSystem):
        async def take_up_slots(self, slots: Mapping[str, SlotOnRecord]) -> None:
            taken.append({**slots})
            raise ManagerError("scontrol: no")

    tasks = Tasks(pytest.fail)
    domain = Domain()
    await Offers(domain, domain, System(), None, Coupled([]), tasks).take_up({}, ())
    await tasks.settled()
    assert taken == [{}]
