"""What a peer's question changes is on record before its answer, the same after a kill; one in vain writes nothing."""

from pathlib import Path

import pytest

from cosched.core.effects import Call
from cosched.core.events import CallFailed
from cosched.core.job import JobState
from cosched.core.protocol import (
    Failure,
    Found,
    GetMateJobId,
    GetMateStatus,
    MateStarted,
    MateTried,
    ProposeGroupStart,
    StartJob,
    Status,
    TryStartMate,
    named_mate,
)
from cosched.core.settings import CoschedulingSettings, Scheme
from tests.service.job_records import queued
from tests.service.replies import NO, mate_is
from tests.service.world import SCRIPT, Node, domain_a

QUESTION = GetMateJobId("7", "run", None, "u")
TRY = TryStartMate("b/7/1", "2", "7", 0)


@pytest.fixture
def node(tmp_path: Path):
    """A domain whose job 2 waits behind job 1; its pair is `run`."""
    node = domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.YIELD, slots=True))
    node.run_times = {"1": 10**6, "2": 100}
    node._submit(queued(1, 10, 10**6, node.world.now))
    node._submit(queued(2, 10, 100, node.world.now, named=named_mate("b", "run")))
    return node


def written(node: Node) -> int:
    """Rows that have been changed in the database so far."""
    return node.store._connection.total_changes


def test_the_first_question_links_the_pair_and_that_is_on_record_at_once(node) -> None:
    assert node.ask(QUESTION) == mate_is("2")
    assert node.store.job(2).mates == {"b": "7"}


def test_questions_that_change_nothing_are_answered_without_writing(node) -> None:
    node.ask(QUESTION)
    before = written(node)
    assert node.ask(QUESTION) == mate_is("2")
    assert node.ask(GetMateJobId("8", "other", None, "u")).found is Found.UNSUBMITTED
    assert node.ask(GetMateStatus("2", "7")).status is Status.QUEUING
    assert node.ask(GetMateStatus("1", "7")).status is Status.UNKNOWN
    assert written(node) == before


def test_a_retry_gets_the_same_answer_from_the_database_after_a_restart(node: Node) -> None:
    node.ask(QUESTION)
    first = node.ask(TRY)
    assert node.store.answer("b", "7") == ("b/7/1", type(first).__name__, [*first])
    node.restart()
    writes = node.store.commits
    again = node.ask(TRY)
    assert (type(again), again) == (type(first), first)
    assert node.store.commits <= writes + 1  # its turn, in which nothing changes


def test_a_late_copy_of_an_earlier_call_is_refused_in_the_words_of_its_kind(node: Node) -> None:
    node.ask(QUESTION)
    node.ask(TryStartMate("b/7/9", "2", "7", 0))
    node.restart()
    assert node.ask(StartJob("b/7/1", "2", "7", 1)) == MateStarted(False)
    assert node.ask(TRY) == MateTried(False)


def test_a_domain_without_slots_says_so_and_that_is_no_fault(node: Node) -> None:
    node.ask(QUESTION)
    node.domain.core.ledger.configure(CoschedulingSettings())
    assert node.ask(TRY) == MateTried(False)
    assert node.ask(ProposeGroupStart("b/7/2", "2", "7", 0, 60, not_before=5000)) == NO


def test_a_job_that_its_user_holds_and_a_mate_has_asked_for_is_wanted_once_it_is_released_after_a_restart(node):
    held = queued(3, 10, 100, node.world.now, named=named_mate("b", "held"), user_hold=True)
    with node.domain.turns.take():
        node.domain.add(held, SCRIPT)
        node.domain.admit(held)
    node.ask(GetMateJobId("8", "held", None, "u"))
    assert node.ask(TryStartMate("b/8/1", "3", "8", 0)) == MateTried(False)
    node.restart()
    with node.domain.turns.take():
        node.domain.enqueue(node.domain.jobs["3"])
    scheduler = node.domain.scheduler
    assert scheduler.rows.tables.slots["wanted"][scheduler.rows.row["3"]]


def test_a_call_that_is_repeated_in_vain_is_told_of_once_and_its_answer_too(node):
    node.ask(QUESTION)
    call = Call("b", "2", GetMateJobId("2", "run", "7", "u"))
    with node.domain.turns.take():
        paired = node.domain.core.jobs["2"]
        paired.state, paired.call_since = JobState.READY, node.world.now
        paired.group.asked = {"b": call.request}
    for _ in range(3):
        node.domain.calls.failed(call, CallFailed("2", call.request, Failure.BUSY), "busy")
    node.domain.calls.answered(call, mate_is("7"))
    told = [event.what for event in node.store.events(0, [2], [], 99)]
    assert told.count("gets no answer") == told.count("is answered after all") == 1


def test_a_job_in_the_place_of_one_that_still_has_to_tell_its_end_has_its_name_after_a_restart(node) -> None:
    """Both are in memory then; the one that has ended is taken up last."""
    node.ask(QUESTION)
    node.domain.end("2", JobState.CANCELLED)
    node._submit(queued(3, 3, 100, node.world.now, named=named_mate("b", "run")))
    assert node.domain.records.telling.keys() == {"2"}
    node.restart()
    assert node.domain.records.telling.keys() == {"2"}
    assert node.ask(QUESTION._replace(caller="8")) == mate_is("3")
    assert node.domain.jobs["3"].mates == {"b": "8"}
