"""A live domain whose scheduler gives nodes by name, over the local manager: a job starts on these, whatever dies."""

import getpass
import json

import pytest

from cosched.core.job import JobState
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.manager.launches import Launches
from cosched.service.manager.runner import Runner
from cosched.service.store import JobRecord, JobScript
from cosched.service.tasks import Tasks
from cosched_adapters.launcher import NodesBusyError, SpecError
from tests.adapters.conftest import place
from tests.adapters.machine import Machine, machine
from tests.core.named import Named
from tests.service.world import Node, domain_a
from tests.waiting import until

__all__ = ["place"]
NODES = 4
SCRIPT = b"#!/bin/sh\necho $COSCHED_NODES $COSCHED_NODELIST\nwhile [ ! -e end ]; do sleep 0.05; done\n"


class NamedNode(Node):
    """Its jobs run a script, as the user of these tests."""

    def _scheduler(self):
        return Named(NODES)

    def submit(self, job: int, nodes: int, run: int, pair: str | None, *, nodelist: str = "") -> None:
        self.nodelist = nodelist
        super().submit(job, nodes, run, pair)

    def _submit(self, record: JobRecord) -> None:
        record.owner = getpass.getuser()
        record.columns = json.dumps({"nodelist": self.nodelist}) if self.nodelist else None
        super()._submit(record, JobScript(SCRIPT, (), str(self.path.parent), {}))

    def launch(self, job: str) -> None:
        """The runner does."""


class Service:
    """A life of the domain with a runner for the manager; without `launches` it dies before it launches anything."""

    def __init__(self, node: NamedNode, here: Machine, *, launches: bool) -> None:
        self.domain = node.domain
        self.here, self.tasks = here, Tasks(pytest.fail)
        runner = Runner(self.domain, here.manager, Launches(self.domain, here.manager, self.tasks), self.tasks)
        self.runner, self.launches = runner, launches
        self.domain.turns.outside.order = self.order

    def order(self, order) -> None:
        if self.launches:
            self.tasks.run(self.runner.order(order))

    async def take_up(self) -> None:
        running = [job for job, record in self.domain.jobs.items() if record.state is JobState.RUNNING]
        await self.runner.reconcile(self.here.found, running)

    def names(self, job: str) -> tuple[str, ...] | None:
        return self.domain.jobs[job].allocation.where


async def test_a_job_starts_on_the_nodes_that_its_scheduler_names_though_the_service_dies_before(place):
    node = domain_a(place, CoschedulingSettings(scheme=Scheme.OFF), "a", NamedNode)
    async with machine(place, NODES) as here:
        dies = Service(node, here, launches=False)
        node.submit(1, 2, 10**6, None)
        assert dies.names("1") == ("slot2", "slot3")
    node.restart()
    async with machine(place, NODES) as here:
        service = Service(node, here, launches=True)
        await service.take_up()
        assert (await here.line("1"), service.names("1")) == ("2 slot2,slot3", ("slot2", "slot3"))
        await service.tasks.close()
    node.restart()
    async with machine(place, NODES) as here:
        service = Service(node, here, launches=True)
        await service.take_up()
        node.submit(2, 1, 10**6, None, nodelist="slot0")
        node.submit(3, 1, 10**6, None, nodelist="slot0")  # it waits
        node.submit(4, 1, 10**6, None)
        assert (await here.line("2"), await here.line("4")) == ("1 slot0", "1 slot1")
        assert service.domain.state("3") is JobState.QUEUED
        (place / "end").touch()
        await until(lambda: all(here.manager._jobs[job].ended for job in "124"))
        await service.tasks.close()


async def test_the_local_manager_launches_a_job_on_the_nodes_that_it_names_or_not_at_all(place):
    async with machine(place, NODES) as here:
        await here.launch("1", "/bin/sh", "-c", "echo $COSCHED_NODELIST; sleep 60", nodes=2, where=("slot3", "slot0"))
        assert await here.line("1") == "slot3,slot0"
        with pytest.raises(NodesBusyError, match="slot0 wanted, which other jobs have"):
            await here.launch("2", "true", where=("slot0",))
        with pytest.raises(SpecError, match="where: this machine has no 'slot4': slot0 to slot3"):
            await here.launch("2", "true", where=("slot4",))
        await here.manager.cancel("1")
        await here.ended("1")
