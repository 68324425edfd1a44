"""A domain that is to have a scheduler of another kind than before does not start while jobs have nodes of that one."""

import json
import sqlite3
from contextlib import closing

import pytest

from cosched.core.job import JobState
from cosched.core.settings import CoschedulingSettings
from cosched.schedulers.batch import BATCH
from cosched.service.manager.plans import Plan
from cosched.service.planning.reasons import Reasons
from cosched.words.errors import InputError
from cosched_papers.fluid.cluster import FluidCluster
from cosched_papers.fluid.kind import FLUID
from cosched_papers.fluid.settings import FluidSettings
from tests.conformance.schedulers.kinds import example
from tests.service.world import Faults, Node, World


class EitherNode(Node):
    """Its scheduler changes with each life."""

    fluid_lives = ()
    express_lives = ()

    @property
    def kind(self):
        other = FLUID if self.lives in self.fluid_lives else BATCH
        return example.EXPRESS if self.lives in self.express_lives else other

    def _scheduler(self):
        if self.lives in self.express_lives:
            return example.EXPRESS.open(example.ExpressSettings(10, 0))
        return FluidCluster(FluidSettings(10)) if self.lives in self.fluid_lives else super()._scheduler()


class EitherWorld(World):
    node_kind = EitherNode


@pytest.fixture
def restarted(tmp_path, monkeypatch):
    """A domain with a job that runs; of its lives, these are fluid."""
    worlds = []

    def made(*fluid_lives, express=()):
        monkeypatch.setattr(EitherNode, "fluid_lives", fluid_lives)
        monkeypatch.setattr(EitherNode, "express_lives", express)
        worlds.append(EitherWorld(tmp_path, 1, {"a": CoschedulingSettings()}, Faults()))
        node = worlds[0].nodes["a"]
        node.submit(1, 4, 1000, None)
        worlds[0].run(1100)
        assert node.domain.jobs["1"].state is JobState.RUNNING
        node.store.close()
        node.begin()
        return node

    yield made
    for world in worlds:
        world.close()


@pytest.mark.parametrize(("fluid_lives", "one", "other"), [([2], "batch", "fluid"), ([1], "fluid", "batch")])
def test_it_is_refused_in_one_line(restarted, fluid_lives, one, other):
    with pytest.raises(InputError) as refused:
        restarted(*fluid_lives)
    assert str(refused.value) == (
        f"domain a: job 1 has nodes of the scheduler {one}: "
        f"start it with that, drain it, and make it {other} when all have ended"
    )


def test_of_a_database_without_the_name_of_the_kind_the_scheduler_judges(restarted, monkeypatch):
    """Earlier versions did not keep it, and had what the scheduler keeps beside the rest."""
    node = restarted()
    node.store.close()
    with closing(sqlite3.connect(node.path)) as database, database:
        database.execute("DELETE FROM meta WHERE key = 'scheduler'")
        ((memory,),) = database.execute("SELECT memory FROM jobs").fetchall()
        earlier = json.loads(memory)
        database.execute("UPDATE jobs SET memory = ?", (json.dumps(earlier | earlier.pop("scheduler")),))
    monkeypatch.setattr(EitherNode, "fluid_lives", (3,))
    with pytest.raises(InputError, match="domain a: job 1 has nodes of another scheduler: start it with that"):
        node.begin()
    node.store.close()
    node.begin()
    assert node.domain.scheduler.free == 6


def why_it_waits(node):
    """Of another job, which needs more than is free."""
    node.submit(2, 8, 1000, None)
    node.world.run(1200)
    return Reasons(node.domain).of(node.domain.jobs["2"], Plan())


def test_the_same_kind_goes_on(restarted):
    assert restarted(1, 2).domain.scheduler.free == 6


def test_a_scheduler_that_preempts_and_counts_no_work_goes_on(restarted):
    node = restarted(express=(1, 2))
    assert node.domain.scheduler.free == 6
    assert why_it_waits(node).text == "it needs 8 nodes, 6 are free"


def test_it_takes_up_no_job_of_a_fluid_one(restarted):
    with pytest.raises(InputError, match=r"job 1 has nodes of the scheduler fluid: .* make it express when"):
        restarted(1, express=(2,))


def test_once_all_have_ended_it_can_be_another(restarted):
    node = restarted()
    node.world.run(3000)
    assert not node.domain.jobs
    node.store.close()
    EitherNode.fluid_lives = (3,)
    node.begin()
    assert node.domain.scheduler.free == 10


def test_a_fluid_domain_says_that_it_estimates_no_start(restarted):
    told = why_it_waits(restarted(1, 2))
    assert told.text == (
        "it needs 8 nodes, 6 are free; running jobs may give it some at its turn, so no start is estimated"
    )
    assert told.nodes_busy.required == 8
