"""Peers' calls for groups, at a domain with its database: answered the same after it was killed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cosched.core.effects import Call
from cosched.core.events import Answered, CallFailed, LeaseOver, TellDue, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import (
    Failure,
    GetMateStatus,
    GetMember,
    GetProposal,
    MateProblem,
    ProposeGroupStart,
    Settled,
    SettleGroupStart,
    Status,
    named_group,
)
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import JobRecord
from tests.service.job_records import queued
from tests.service.offered_world import SlurmNode
from tests.service.outside import Killed
from tests.service.replies import BOOKED, BUSY, DROPPED, NO, NO_GROUPS, QUEUING, SETTLED, STARTED, UNKNOWN, mate_is
from tests.service.world import Node, domain_a

DOMAINS = ("a", "b", "c")
PROPOSE = ProposeGroupStart("b/7/5", "1", "7", 0, 60)


@pytest.fixture
def node(tmp_path: Path, calls):  # noqa: ARG001
    """Domain a, whose job 1 is in group g with b's job 7 and c's job 8."""
    node = domain_a(tmp_path, names="abc")
    node.run_times = {"1": 100}
    node._submit(member(1))
    for peer, job in (("b", "7"), ("c", "8")):
        assert node.ask(GetMember(job, "g", DOMAINS, "u"), peer) == mate_is("1")
    return node


def member(id: int) -> JobRecord:
    return queued(id, 4, 100, 1000, named=named_group("g", ("b", "c")))


def test_a_booking_outlives_a_restart_and_ends_by_its_own_name(node: Node) -> None:
    assert node.ask(PROPOSE) == BOOKED
    node.restart()
    assert node.domain.state("1") is JobState.READY
    assert node.ask(PROPOSE) == BOOKED
    assert node.ask(PROPOSE._replace(request_id="c/8/9", caller="8"), "c") == BUSY
    assert node.ask(SettleGroupStart("b/7/4", "1", "7", start=False)) == Settled(False)
    assert node.ask(SettleGroupStart("b/7/5", "1", "7", start=True)) == SETTLED
    assert node.domain.state("1") is JobState.RUNNING


def test_a_member_that_was_away_for_long_asks_for_the_outcome_before_it_goes_on(node: Node, calls: list[Any]) -> None:
    assert node.ask(PROPOSE) == BOOKED
    calls.clear()
    node.world.now += 1000
    node.restart()
    node.domain.timer_due(LeaseOver("1"))
    assert [(call.peer, call.request) for call in calls] == [("b", GetProposal("b/7/5", "7", "1"))]
    assert node.domain.state("1") is JobState.READY


def test_a_proposal_that_was_dropped_is_refused_after_a_restart_too(node: Node) -> None:
    assert node.ask(SettleGroupStart("b/7/5", "1", "7", start=False)) == Settled(False)
    node.restart()
    assert node.ask(PROPOSE) == NO
    assert node.ask(PROPOSE._replace(request_id="b/7/6")) == BOOKED


def propose(node: Node, calls: list[Any]) -> str:
    """Have job 1 propose; the proposal's name."""
    for _ in range(2):
        for call in [call for call in calls if isinstance(call.request, GetMember | GetMateStatus)]:
            calls.remove(call)
            found = mate_is({"b": "7", "c": "8"}[call.peer])
            node.domain.calls.answered(call, found if isinstance(call.request, GetMember) else QUEUING)
    asked = [call.request for call in calls if isinstance(call.request, ProposeGroupStart)]
    assert len(asked) == 2
    return asked[0].request_id


def test_a_proposer_that_was_killed_has_dropped_what_it_had_not_decided(node: Node, calls: list[Any]) -> None:
    id = propose(node, calls)
    node.restart()
    assert [(call.request.request_id, call.request.start) for call in told(calls)] == [(id, False), (id, False)]
    assert node.ask(GetProposal(id, "1", "7")) == DROPPED


def test_a_proposer_that_was_killed_tells_its_decision_again(node: Node, calls: list[Any]) -> None:
    id = propose(node, calls)
    for call in [call for call in calls if isinstance(call.request, ProposeGroupStart)]:
        node.domain.decisions.begin()
        with node.domain.turns.take():
            node.domain.decisions.feed(Answered("1", call.request, BOOKED, call.peer))
    calls.clear()
    node.restart()
    decided = told(calls)
    assert [(call.peer, call.request.start) for call in decided] == [("b", True), ("c", True)]
    assert node.ask(GetProposal(id, "1", "7")) == STARTED
    node.domain.end("1", JobState.COMPLETED)
    for call in decided:
        node.domain.calls.failed(call, CallFailed("1", call.request, Failure.TIMEOUT, call.peer), "lost")
    calls.clear()
    node.domain.timer_due(TellDue("1"))
    assert {call.peer for call in calls} == {"b", "c"}
    node.restart()
    assert node.ask(GetProposal(id, "1", "8"), "c") == STARTED


def decide(node: Node, calls: list[Any]) -> list[Call]:
    """Have job 1 decide that its group starts; what it tells the others."""
    propose(node, calls)
    for call in [call for call in calls if isinstance(call.request, ProposeGroupStart)]:
        node.domain.calls.answered(call, BOOKED)
    return told(calls)


def told(calls: list[Any]) -> list[Call]:
    """What members are told; the calls are gone then."""
    sent = [call for call in calls if isinstance(call.request, SettleGroupStart)]
    calls.clear()
    return sent


def test_a_start_is_told_after_a_restart_though_the_job_has_ended_until_all_know_it(node: Node, calls) -> None:
    assert [call.peer for call in decide(node, calls)] == ["b", "c"]
    node.domain.end("1", JobState.COMPLETED)
    node.restart()
    to_b, to_c = told(calls)
    assert to_b.request.start
    node.domain.calls.answered(to_b, SETTLED)
    node.world.now += 10_000
    node.domain.tidy()
    with node.store.transaction():
        assert node.store.retire(node.world.now) == 0
    node.domain.timer_due(TellDue("1"))
    assert told(calls) == [to_c]
    node.restart()
    assert told(calls) == [to_c]
    node.domain.calls.answered(to_c, SETTLED)
    node.world.now += 10_000
    node.domain.tidy()
    assert "1" not in node.domain.core.jobs
    node.restart()
    assert told(calls) == []
    with node.store.transaction():
        assert node.store.retire(node.world.now) == 1


def test_a_drop_is_told_again_after_the_job_has_left_its_group_and_a_restart(node: Node, calls) -> None:
    propose(node, calls)
    with node.domain.turns.take():
        node.domain.decisions.feed(Unlinked("1"))
    drops = told(calls)
    assert [(call.peer, call.request.start) for call in drops] == [("b", False), ("c", False)]
    node.domain.calls.failed(drops[0], CallFailed("1", drops[0].request, Failure.TIMEOUT, "b"), "lost")
    node.domain.calls.answered(drops[1], SETTLED)
    node.restart()
    assert told(calls) == drops[:1]
    node.domain.calls.answered(drops[0], SETTLED)
    node.restart()
    assert told(calls) == []


def test_a_member_that_ended_without_having_heard_of_the_caller_is_found_after_a_restart(node: Node) -> None:
    node.domain.end("1", JobState.CANCELLED)
    node._submit(member(2))
    node.domain.end("2", JobState.COMPLETED)
    node.restart()
    assert node.ask(GetMember("9", "g", DOMAINS, "u")) == mate_is("2")._replace(problem=MateProblem.COMPLETED)
    assert node.ask(GetMateStatus("2", "9")).status is Status.ENDED


def test_a_member_killed_between_its_submission_and_its_admission_is_in_its_group(node: Node, monkeypatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise Killed

    node.domain.end("1", JobState.CANCELLED)
    with monkeypatch.context() as patched:
        patched.setattr(LiveDomain, "admit", killed)
        node.guarded(lambda: node._submit(member(2)))
    node.begin()
    assert node.ask(GetMember("7", "g", DOMAINS, "u")) == mate_is("2")


def test_a_domain_whose_jobs_can_name_no_groups_takes_no_members(tmp_path: Path) -> None:
    node = domain_a(tmp_path, kind=SlurmNode)
    node.domain.scheduler.capabilities = replace(node.domain.scheduler.capabilities, groups=False)
    assert node.ask(GetMember("7", "g", DOMAINS, "u")) == NO_GROUPS
    assert node.ask(PROPOSE) == NO
    assert node.ask(GetProposal("b/7/1", "1", "7")) == UNKNOWN
