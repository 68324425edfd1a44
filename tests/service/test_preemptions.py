"""A runner ends runs that were preempted, and launches jobs again, over kills of the service at any step."""

import asyncio
import random
from collections.abc import Mapping

import pytest

from cosched.core.job import JobState
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.manager import cancelling, launches
from cosched.service.manager.launches import Launches
from cosched.service.manager.queues import Queue
from cosched.service.manager.runner import Runner
from cosched.service.tasks import Tasks
from cosched_adapters.launcher import JobSpec, NodesBusyError
from cosched_adapters.manager import End, Ended, ManagerError, Report, Started, UnknownJobError
from tests.conformance.schedulers.kinds import example
from tests.conformance.schedulers.worlds import ExpressNode
from tests.service.outside import Outside
from tests.service.world import domain_a
from tests.tiers import seeds
from tests.waiting import until

NODES, JOBS = 4, 3


class Launcher:
    """Jobs on two of four nodes each; it remembers all over restarts of the service, and is in no hurry."""

    may_have_forgotten = False
    preempts = True

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.jobs: dict[str, Report | None] = {}
        self.told: list[Report] = []
        self.runs: list[str] = []
        self.whole: list[str] = []  # jobs that have completed a run

    async def _pause(self) -> None:
        for _ in range(self.chance.randint(0, 2)):
            await asyncio.sleep(0)

    async def launch(self, spec: JobSpec) -> None:
        if spec.job_id not in self.jobs:
            if 2 * sum(not isinstance(last, Ended) for last in self.jobs.values()) + 2 > NODES:
                raise NodesBusyError("others have them")
            self.runs.append(spec.job_id)
            self.jobs[spec.job_id] = Started(spec.job_id, 0)
        await self._pause()

    async def preempt(self, job: str) -> None:
        await self._pause()
        if job not in self.jobs:
            raise UnknownJobError("who?")
        if self.chance.random() < 0.2:
            raise ManagerError("not now")
        if not isinstance(self.jobs[job], Ended):
            await self._pause()
            self.end(job, End.CANCELLED)

    cancel = preempt

    async def forget(self, job: str) -> None:
        await self._pause()
        if self.chance.random() < 0.2:
            raise ManagerError("the disk is full")
        assert not isinstance(self.jobs.get(job), Started), "it runs"
        self.jobs.pop(job, None)

    def end(self, job: str, how: End) -> None:
        """A run ends, unless it has ended."""
        if isinstance(self.jobs.get(job), Started):
            self.jobs[job] = Ended(job, how, 1, 0, 0 if how is End.EXITED else None)
            self.told.append(self.jobs[job])
            self.whole += [job] * (how is End.EXITED)

    async def reports(self):
        while True:
            while self.told:
                yield self.told.pop(0)
            await asyncio.sleep(0)


class PreemptedNode(ExpressNode):
    """Its scheduler preempts when the test says so."""

    def _scheduler(self):
        return example.EXPRESS.open(example.ExpressSettings(NODES, 0))

    def launch(self, job: str) -> None:
        """The runner does."""

    preempt = launch


class Site:
    """A domain with a real runner, and a service that may be killed."""

    def __init__(self, folder, chance: random.Random) -> None:
        self.chance, self.launcher = chance, Launcher(chance)
        self.node = domain_a(folder, CoschedulingSettings(scheme=Scheme.OFF), "a", PreemptedNode)
        self.world = self.node.world
        self.tasks: Tasks | None = None

    @property
    def domain(self):
        return self.node.domain

    async def begin(self) -> None:
        self.tasks = Tasks(pytest.fail)
        self.runner = Runner(self.domain, self.launcher, Launches(self.domain, self.launcher, self.tasks), self.tasks)
        self.domain.turns.outside.order = lambda order: self.tasks.run(self.runner.order(order))
        self.domain.turns.outside.happened = self._happened
        running = [job for job, record in self.domain.jobs.items() if record.state is JobState.RUNNING]
        found: Mapping[str, Report | None] = dict(self.launcher.jobs)
        self.launcher.told.clear()  # those reports were made to a service that is no more
        await self.runner.reconcile(found, running)
        self.runner.start()

    def _happened(self, events) -> None:
        Outside.happened(self.domain.turns.outside, events)
        for job in {str(event.job) for event in events if event.what == "completed"}:
            self.tasks.run(self.runner.forget(job))

    async def restart(self) -> None:
        await self.tasks.close()
        self.node.restart()
        await self.begin()

    def preempt(self) -> None:
        scheduler = self.domain.scheduler
        if running := [job for job in scheduler.jobs.values() if job.state is JobState.RUNNING]:
            with self.domain.turns.take():
                scheduler._preempt(self.chance.choice(running))
                self.domain.decisions.carry_out([])

    def cancel(self) -> None:
        """As its owner does."""
        job = str(self.chance.randint(1, JOBS))
        if job in self.domain.jobs and Queue(self.launcher).leaves_end_to_manager(self.domain.jobs[job]):
            with self.domain.turns.take():
                self.domain.records.order_cancellation(self.domain.jobs[job], "ann")

    def complete(self) -> None:
        """A run ends by itself, perhaps one that is to be ended."""
        if self.launcher.jobs:
            self.launcher.end(self.chance.choice(list(self.launcher.jobs)), End.EXITED)


@pytest.fixture(autouse=True)
def _quick(monkeypatch) -> None:
    monkeypatch.setattr(cancelling, "AGAIN", 0.001)
    monkeypatch.setattr(launches, "BUSY_PAUSE", 0.001)


@pytest.mark.parametrize("seed", seeds(4, 300))
async def test_no_run_is_lost_or_doubled(tmp_path, seed: int):
    site = Site(tmp_path, chance := random.Random(seed))
    await site.begin()
    for job in range(1, JOBS + 1):
        site.node.submit(job, 2, 10**6, None)
    for _ in range(40):
        step = chance.choice([site.preempt] * 4 + [site.complete] * 2 + [site.restart] * 2 + [site.cancel])
        if (done := step()) is not None:
            await done
        for _ in range(chance.randint(0, 6)):
            await asyncio.sleep(0)
        site.world.now += 1
    await until(lambda: all(record.preempted_at is None for record in site.domain.jobs.values()))
    async with asyncio.timeout(600):
        while site.domain.jobs:
            site.complete()
            site.domain.reschedule()
            await asyncio.sleep(0.001)
            site.world.now += 1
    await site.tasks.close()
    assert len(site.launcher.whole) == len(set(site.launcher.whole))
    for job in range(1, JOBS + 1):
        record = site.node.store.job(job)
        completed = str(job) in site.launcher.whole
        assert record.state is (JobState.COMPLETED if completed else JobState.CANCELLED)
        assert completed or record.cancelled_by


async def test_an_order_that_was_not_carried_out_is_given_again_after_a_restart(tmp_path):
    site = Site(tmp_path, random.Random(1))
    await site.begin()
    site.node.submit(1, 2, 10**6, None)
    await until(lambda: site.launcher.runs == ["1"])
    site.preempt()
    await site.restart()
    assert site.domain.jobs["1"].preempted_at is not None
    await until(lambda: site.domain.jobs["1"].preempted_at is None)
    site.world.now += 1
    site.domain.reschedule()
    await until(lambda: site.launcher.runs == ["1", "1"])
    await site.tasks.close()


async def test_a_job_that_was_to_start_on_the_nodes_of_a_preempted_one_starts_after_a_restart(tmp_path, monkeypatch):
    """The service dies before either order is carried out: the run is ended first, else the start would wait for it."""
    monkeypatch.setattr(PreemptedNode, "_scheduler", lambda _: example.EXPRESS.open(example.ExpressSettings(NODES, 50)))
    site = Site(tmp_path, random.Random(1))
    await site.begin()
    for job in (1, 2):
        site.node.submit(job, 2, 10**6, None)
    await until(lambda: site.launcher.runs == ["1", "2"])
    site.domain.turns.outside.order = lambda _: None
    site.node.submit(3, 2, 10, None)
    assert site.domain.jobs["2"].preempted_at is not None
    assert site.domain.state("3") is JobState.RUNNING
    await site.restart()
    await until(lambda: site.launcher.runs == ["1", "2", "3"])
    assert site.domain.state("2") is JobState.QUEUED, "its run, of which the launcher told, is no start"
    await site.tasks.close()
