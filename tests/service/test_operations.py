"""What users do: once, however often it is asked for, and to its end, whatever the resource manager says."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cosched.core.job import JobState
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.api import operations
from cosched.service.api.operations import Operations
from cosched.service.api.requests import Requests, UserRequest
from cosched.service.api.views import Views
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager import cancelling
from cosched.service.manager.launches import Launches
from cosched.service.manager.queues import Queue
from cosched.service.manager.runner import Runner
from cosched.service.peers.linking import Coupled
from cosched.service.store import JobRecord
from cosched.service.tasks import Tasks
from cosched.service.wire.callers import Caller
from cosched.service.wire.errors import Refusal
from cosched.service.wire.submissions import Submission
from cosched_adapters.launcher import JobSpec
from cosched_adapters.manager import ManagerError
from tests.service.world import SCRIPT, Node, domain_a
from tests.waiting import until

ANN = Caller(None, "ann", operator=False, via="test")
WANTED = Submission("j", 3, 100, SCRIPT, None, hold=False, owner="")


class Manager:
    """Takes orders unless it is `down`."""

    def __init__(self) -> None:
        self.down = self.may_have_forgotten = False
        self.launched: list[str] = []
        self.cancelled: list[str] = []

    def check(self, _: JobSpec) -> None:
        """All are welcome."""

    async def launch(self, spec: JobSpec) -> None:
        self.launched.append(spec.job_id)

    async def cancel(self, job: str) -> None:
        if self.down:
            raise ManagerError("it is down")
        self.cancelled.append(job)


class Site:
    """Domain a, with a manager of its own; `begin` is a restart."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.manager = Manager()
        self.tasks: set[asyncio.Task[Any]] = set()
        self.begin()

    @property
    def domain(self) -> LiveDomain:
        return self.node.domain

    def begin(self) -> None:
        manager, tasks = self.manager, Tasks(pytest.fail)
        self.running = tasks
        self.runner = Runner(self.domain, manager, Launches(self.domain, manager, tasks), tasks)
        requests, queue = Requests(self.domain), Queue(manager)
        self.operations = Operations(self.domain, requests, self.runner, queue, None, Coupled([]), 100, 10**9)
        self.domain.turns.outside.order = self._order

    async def restart(self) -> None:
        await self.running.close()
        self.node.restart()
        self.begin()
        running = [job for job, record in self.domain.jobs.items() if record.state is JobState.RUNNING]
        await self.runner.reconcile(dict.fromkeys(self.manager.launched), running)

    def _order(self, order: Any) -> None:
        task = asyncio.ensure_future(self.runner.order(order))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def submit(self, request: str = "submit", **wanted: Any) -> JobRecord:
        return await self.operations.submit(UserRequest(ANN, "SubmitJob", request), replace(WANTED, **wanted))

    async def cancel(self, request: str = "cancel") -> JobRecord:
        return await self.operations.cancel(UserRequest(ANN, "CancelJob", request), "1")

    def reason(self) -> str:
        return Views(self.domain, self.domain.clock).job(self.operations.jobs.job("1")).reason

    async def until_cancelled(self) -> None:
        await until(lambda: self.manager.cancelled)


@pytest.fixture
async def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    monkeypatch.setattr(cancelling, "AGAIN", 0.001)
    monkeypatch.setattr(operations, "QUICK", 0.01)
    made = Site(domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.HOLD)))
    made.node.run_times["1"] = 10
    yield made
    await made.running.close()


# One request id, one operation


async def test_equal_calls_at_once_make_one_job(site: Site) -> None:
    jobs = await asyncio.gather(*(site.submit() for _ in range(4)))
    assert [job.id for job in jobs] == [1] * 4
    assert list(site.domain.jobs) == ["1"]
    assert (await site.submit()).id == 1
    assert (await site.submit("another")).id == 2


async def test_one_request_id_is_that_of_one_method(site: Site) -> None:
    first = asyncio.create_task(site.submit("same"))
    await asyncio.sleep(0)
    with pytest.raises(Exception, match="request_id: was used for SubmitJob before"):
        await site.cancel("same")
    assert (await first).id == 1


# What the scheduler cannot


async def test_nodes_by_name_are_refused_before_all_where_the_scheduler_gives_none(site: Site) -> None:
    with pytest.raises(Refusal, match="nodelist: a batch scheduler takes no names of nodes: leave it out") as refused:
        await site.submit(columns={"nodelist": "slot1"})
    assert refused.value.reason == "NO_NAMED_NODES"
    assert (site.domain.store.next_job_id(), list(site.domain.jobs)) == (1, [])
    site.domain.scheduler.capabilities = replace(site.domain.scheduler.capabilities, nodelists=True)
    record = await site.submit("again", columns={"nodelist": "slot1,slot2"})
    assert site.domain.known(record).nodelist == ("slot1", "slot2")


# A cancellation is an order on record


async def test_a_manager_that_takes_it_is_told_at_once(site: Site) -> None:
    await site.submit()
    record = await site.cancel()
    assert (site.manager.cancelled, record.state, site.reason()) == (["1"], JobState.RUNNING, "Cancelling")
    site.domain.end("1", JobState.CANCELLED)
    assert (site.operations.jobs.job("1").state, site.reason()) == (JobState.CANCELLED, "")


async def test_one_that_does_not_is_told_again_until_it_does(site: Site) -> None:
    await site.submit()
    site.manager.down = True
    for _ in range(2):  # the same request is told the truth
        assert (await site.cancel()).state is JobState.RUNNING
        assert site.reason() == "Cancelling"
    site.manager.down = False
    await site.until_cancelled()


async def test_the_order_outlives_a_restart(site: Site) -> None:
    await site.submit()
    site.manager.down = True
    await site.cancel()
    await site.restart()
    assert (site.reason(), site.manager.cancelled) == ("Cancelling", [])
    site.manager.down = False
    await site.until_cancelled()


async def test_a_job_that_was_not_launched_before_the_restart_never_is(site: Site) -> None:
    await site.submit()
    site.manager.down = True
    await site.cancel()
    site.manager.launched.clear()
    await site.restart()
    await until(lambda: site.operations.jobs.job("1").state is JobState.CANCELLED)
    assert not site.manager.launched
    assert site.operations.jobs.job("1").end_text == "before its processes were started"


# A crash of the host


async def test_a_launch_that_may_have_been_forgotten_is_not_repeated(site: Site) -> None:
    await site.submit()
    site.manager.launched.clear()
    site.manager.may_have_forgotten = True
    await site.restart()
    job = site.operations.jobs.job("1")
    assert (site.manager.launched, job.state) == ([], JobState.FAILED)
    assert job.end_text == "the host was restarted before it is known to have started"
