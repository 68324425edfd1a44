"""What a peer's question changes is on record before it is answered; one that changes nothing writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import Found, GetMateJobId, GetMateStatus, MateJobId, Status
from cosched.core.settings import CoschedulingSettings
from cosched.service.store import JobRecord
from tests.service.world import Faults, Node, World

QUESTION = GetMateJobId("7", "run", None, "u")


@pytest.fixture
def node(tmp_path: Path):
    """A domain whose job 2 waits behind job 1; its pair is `run`."""
    world = World(tmp_path, 1, dict.fromkeys("ab", CoschedulingSettings()), Faults())
    node = world.nodes["a"]
    node.run_times = {"1": 100, "2": 100}
    node._submit(JobRecord(1, "j", "u", None, 10, 100, world.now, JobState.QUEUED))
    node._submit(JobRecord(2, "j", "u", None, 10, 100, world.now, JobState.QUEUED, peer="b", pair="run"))
    yield node
    world.close()


def written(node: Node) -> int:
    """Rows that have been changed in the database so far."""
    return node.store._connection.total_changes


def test_the_first_question_links_the_pair_and_that_is_on_record_at_once(node) -> None:
    assert node.domain.questions.ask(Asked("b", QUESTION)) == MateJobId(Found.MATE, "2")
    assert node.store.job(2).mate == "7"


def test_questions_that_change_nothing_are_answered_without_writing(node) -> None:
    node.domain.questions.ask(Asked("b", QUESTION))
    before = written(node)
    assert node.domain.questions.ask(Asked("b", QUESTION)) == MateJobId(Found.MATE, "2")
    assert node.domain.questions.ask(Asked("b", GetMateJobId("8", "run", None, "u"))).found is Found.NO_PAIR
    assert node.domain.questions.ask(Asked("b", GetMateJobId("8", "other", None, "u"))).found is Found.UNSUBMITTED
    assert node.domain.questions.ask(Asked("b", GetMateStatus("2", "7"))).status is Status.QUEUING
    assert node.domain.questions.ask(Asked("b", GetMateStatus("1", "7"))).status is Status.UNKNOWN
    assert written(node) == before
