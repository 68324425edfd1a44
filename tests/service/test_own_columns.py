"""What a scheduler of a package of its own reads of jobs, tells of them, and keeps, in a live domain."""

import asyncio
import json

import pytest

from cosched.core.job import JobState
from cosched.schedulers import loading
from cosched.schedulers.batch import BATCH
from cosched.schedulers.loading import check_columns
from cosched.service.manager.plans import planned
from cosched.service.planning.reasons import Reasons
from tests.conformance.schedulers.kinds import example
from tests.conformance.schedulers.worlds import ExpressNode
from tests.service.world import domain_a


class SomeSteadyNode(ExpressNode):
    """Jobs from 10 on are steady."""

    def columns(self, record):
        return json.dumps({"steady": "yes"}) if record.id >= 10 else None


@pytest.fixture
def node(tmp_path):
    return domain_a(tmp_path, names="a", kind=SomeSteadyNode)


def states(node) -> dict[str, JobState]:
    return {job: record.state for job, record in node.domain.jobs.items()}


def test_a_job_gives_its_nodes_says_so_and_that_is_kept(node):
    node.submit(1, 8, 1000, None)
    node.world.run(1050)
    node.submit(2, 8, 10, None)
    node.world.run(1055)
    assert states(node) == {"1": JobState.QUEUED, "2": JobState.RUNNING}
    for _ in range(2):
        plan = asyncio.run(planned(node.domain))
        assert plan.places == {"1": (1, 1)}
        told = Reasons(node.domain).of(node.domain.jobs["1"], plan)
        assert (told.scheduler_says.scheduler, told.scheduler_says.word) == ("express", "gave_way")
        assert told.text == "it needs 8 nodes, 2 are free; so often it gave its nodes to short jobs: 1"
        assert told.change == "submit it with --steady yes"
        assert node.domain.scheduler.preempted == 1
        node.restart()


def test_a_steady_job_gives_none(node):
    node.submit(10, 8, 1000, None)
    node.world.run(1050)
    node.submit(2, 8, 10, None)
    node.world.run(1055)
    assert states(node) == {"10": JobState.RUNNING, "2": JobState.QUEUED}
    assert node.domain.scheduler.job("10").columns == {"steady": 1}


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        (BATCH, "steady", "a batch scheduler reads nothing of this name, only an express scheduler does: leave it"),
        (example.EXPRESS, "speed", "'speed': an express scheduler reads nothing of this name, nor does any other that"),
        (BATCH, "min_nodes", "a batch scheduler takes no range, nor does any other that is installed here: give"),
    ],
)
def test_a_column_that_the_scheduler_does_not_read_names_those_that_do(monkeypatch, kind, name, said):
    monkeypatch.setattr(loading, "kinds", lambda: {"batch": BATCH, "express": example.EXPRESS})
    with pytest.raises(ValueError, match=said):
        check_columns(kind, [name])


def test_what_cannot_be_read_is_told_by_its_name():
    with pytest.raises(ValueError, match="steady: 'maybe' is neither no nor yes"):
        example.EXPRESS.read({"steady": "maybe"})
