"""No node is two jobs' at once, whatever the order of answers; at last all have what they should (fluid.md, Live)."""

import asyncio
import json
import random
from collections.abc import Collection

import pytest

from cosched.core.allocation import Allocation, SizeChanged
from cosched.core.job import JobState
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.domain.sizing import Sizing, as_text, sizing_of
from cosched.service.manager.resizes import ResizeRules, Resizes
from cosched_adapters.launcher import NodesBusyError
from tests.service.world import domain_a
from tests.tiers import seeds

NODES, JOBS = 10, 4


class Launcher:
    """Counts nodes, and keeps them over restarts of its service."""

    def __init__(self) -> None:
        self.has: dict[str, list[str]] = {}

    def nodes_of(self, job: str) -> tuple[str, ...]:
        return tuple(self.has.get(job, ()))

    async def grow(self, job: str, nodes: int) -> None:
        await asyncio.sleep(0)
        taken = {name for names in self.has.values() for name in names}
        free = [f"n{number}" for number in range(NODES) if f"n{number}" not in taken]
        more = nodes - len(self.has[job])
        if len(free) < more:
            raise NodesBusyError("others have them")
        self.has[job] += free[:more]

    async def keep(self, job: str, names: Collection[str]) -> None:
        await asyncio.sleep(0)
        self.has[job] = [name for name in self.has[job] if name in names]


class Site:
    """A domain whose four jobs run on two nodes each; what each really uses; and a service that may be killed."""

    def __init__(self, folder, chance: random.Random) -> None:
        self.chance = chance
        self.node = domain_a(folder, CoschedulingSettings(scheme=Scheme.OFF), "a")
        self.world = self.node.world
        for job in range(1, JOBS + 1):
            self.node.submit(job, 2, 10**6, None)
        self.world.run(1050)
        self.launcher = Launcher()
        for job in range(1, JOBS + 1):
            self.launcher.has[str(job)] = [f"n{2 * job - 2}", f"n{2 * job - 1}"]
            record = self.domain.jobs[str(job)]
            assert record.state is JobState.RUNNING
            with self.domain.turns.take():
                record.columns, record.sizing = '{"least": "1"}', as_text(Sizing())
                self.domain.journal.save(record)
        self.use = {job: set(names) for job, names in self.launcher.has.items()}
        self.heard: dict[str, Sizing] = {}
        self.begin()

    @property
    def domain(self):
        return self.node.domain

    def begin(self) -> None:
        self.resizes = Resizes(self.domain, self.launcher, ResizeRules())

    def restart(self) -> None:
        self.node.restart()
        self.begin()

    def schedule(self) -> None:
        """The scheduler gives other sizes; it gives no node twice."""
        job = str(self.chance.randint(1, JOBS))
        others = sum(record.node_count for number, record in self.domain.jobs.items() if number != job)
        nodes = self.chance.randint(1, NODES - others)
        if nodes != self.domain.jobs[job].node_count:
            resized = SizeChanged(job, Allocation(nodes, 0, 9))
            with self.domain.turns.take():
                self.domain.core.resized(resized)
                self.domain.sizes.change(resized)

    def listen(self, job: str) -> None:
        """The job reaches a boundary: it hears what it should use, and may adapt at once or later."""
        self.heard[job] = sizing_of(self.domain.jobs[job])

    def answer(self, job: str) -> None:
        """The job adapts to what it has heard last, and says so; that may be outdated."""
        if (heard := self.heard.get(job)) is not None and heard.names:
            self.use[job] = set(heard.names)
            with self.domain.turns.take():
                self.domain.sizes.acknowledge(job, heard.generation)

    def check(self) -> None:
        used = [name for names in self.use.values() for name in names]
        assert len(used) == len(set(used)), self.use
        for job, names in self.use.items():
            assert names <= set(self.launcher.has[job]), "a job uses what another one may get"


@pytest.mark.parametrize("seed", seeds(3, 200))
async def test_no_node_is_two_jobs_at_once_and_all_get_what_they_should(tmp_path, seed: int):
    site = Site(tmp_path, chance := random.Random(seed))
    for _ in range(60):
        job = str(chance.randint(1, JOBS))
        step, *about = chance.choice([(site.schedule,), (site.listen, job), (site.answer, job), (site.restart,)])
        step(*about)
        site.check()
        if chance.random() < 0.7:
            await site.resizes.settle()
            site.check()
    for _ in range(3):
        await site.resizes.settle()
        for job in site.use:
            site.listen(job)
            site.answer(job)
            site.check()
    await site.resizes.settle()
    for job, record in site.domain.jobs.items():
        assert sizing_of(record).settled
        assert len(site.use[job]) == record.node_count == len(site.launcher.has[job]), json.loads(record.sizing)
