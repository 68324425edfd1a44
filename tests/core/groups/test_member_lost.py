"""A member of a group will not run: on_member_lost says what the others do.

coscheduling.md, RunJob: "Some will not run: the group's on_member_lost: go on without it (default), cancel, wait."
"""

from __future__ import annotations

import pytest

from cosched.core import protocol
from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Call, CancelJob, Effect, TryReady
from cosched.core.events import Answered, Asked, Finished, Ready, Submitted, TriedReady, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Found, GetMateJobId, GetMember, MateJobId, MateProblem, named_group
from cosched.core.settings import CoschedulingSettings, OnMemberLost
from tests.core.messages import Messages


class Trio(Messages):
    """Job j of group g on a, b and c; c's is cancelled, and a's is ready then. Messages arrive at once."""

    def __init__(self, choice: OnMemberLost, *, or_alone: bool = False) -> None:
        settings = CoschedulingSettings(on_member_lost=choice)
        cores = {name: Coscheduler(name, 10, settings, story=False) for name in "abc"}
        super().__init__(cores, dict.fromkeys("abc", "j"))
        self.answers: list[MateJobId] = []
        self.or_alone = or_alone
        self.cancels: list[str] = []
        for name in "abc":
            self.submit(name)
        self.feed("c", Finished("j", JobState.CANCELLED))
        self.ready("a")

    def submit(self, name: str) -> None:
        others = tuple(other for other in "abc" if other != name)
        self.feed(name, Submitted(self.ids[name], named_group("g", others, self.or_alone)))

    def ready(self, name: str) -> None:
        self.feed(name, Ready(self.ids[name], Allocation(1), FOREVER))
        self.deliver()

    def replace(self, name: str) -> None:
        """The owner submits another job of the group there, k; all others are asked about it."""
        self.ids = {**self.ids, name: "k"}
        self.submit(name)
        others = [other for other in "abc" if other != name]
        question = GetMember("k", "g", tuple("abc"), "")
        for other in others:
            self.feed(other, Asked(name, question))
        self.answers = [event.answer for _, event in self.pending if type(event) is Answered]
        self.pending.clear()

    def deliver(self) -> None:
        while self.pending:
            self.feed(*self.pending.pop(0))

    def _carry_out(self, name: str, effect: Effect) -> None:
        super()._carry_out(name, effect)
        if type(effect) is CancelJob:
            self.cancels.append(name)
        elif type(effect) is TryReady:
            self.feed(name, TriedReady(self.ids[name], Allocation(4)))

    @property
    def states(self) -> list[JobState]:
        return [self.cores[name].jobs["j"].state for name in "ab"]


def test_by_default_the_others_go_on_without_it() -> None:
    assert Trio(OnMemberLost.START).states == [JobState.RUNNING, JobState.RUNNING]


@pytest.mark.parametrize("choice", [OnMemberLost.WAIT, OnMemberLost.CANCEL])
def test_the_others_wait_without_nodes(choice: OnMemberLost) -> None:
    trio = Trio(choice)
    assert trio.states == [JobState.QUEUED, JobState.QUEUED]
    assert trio.cancels == (["a"] if choice is OnMemberLost.CANCEL else [])
    trio.ready("b")
    assert trio.states == [JobState.QUEUED, JobState.QUEUED]


def test_its_owner_lets_a_job_start_that_waits() -> None:
    trio = Trio(OnMemberLost.WAIT)
    trio.feed("a", Unlinked("j"))
    trio.ready("a")
    assert trio.states == [JobState.RUNNING, JobState.QUEUED]


def test_a_job_that_may_start_alone_goes_on() -> None:
    assert Trio(OnMemberLost.WAIT, or_alone=True).states == [JobState.RUNNING, JobState.RUNNING]


@pytest.mark.parametrize("first", "abc")
def test_another_job_takes_the_place_of_the_lost_one_while_none_has_started(first: str) -> None:
    trio = Trio(OnMemberLost.WAIT)
    trio.replace("c")
    assert [answer.found for answer in trio.answers] == [Found.MATE, Found.MATE]
    trio.ready(first)
    assert trio.states == [JobState.RUNNING, JobState.RUNNING]
    assert trio.state("c") is JobState.RUNNING


def test_the_second_of_a_member_counts_its_own_proposals() -> None:
    """Each job counts from 1: what was dropped of the lost job's proposals is not that of the new one."""
    trio = Trio(OnMemberLost.WAIT)
    trio.cores["a"].jobs["j"].group.make_void("c", 10)
    trio.replace("c")
    trio.ready("c")
    assert trio.state("c") is JobState.RUNNING


def test_nothing_takes_the_place_of_a_member_once_others_have_started() -> None:
    """b was never asked about the first job of c."""
    trio = Trio(OnMemberLost.START)
    trio.replace("c")
    assert [answer.problem for answer in trio.answers] == [MateProblem.TAKEN, MateProblem.RUNNING]


def test_a_member_is_nobodys_mate_even_if_a_peer_names_it_by_its_id():
    trio = Trio(OnMemberLost.WAIT)
    trio.feed("b", Asked("a", GetMateJobId("17", None, "j", "")))
    answers = [event.answer for _, event in trio.pending if type(event) is Answered]
    assert answers[-1] == MateJobId(Found.NO_PAIR, None, MateProblem.TAKEN)
    assert trio.cores["b"].jobs["j"].peer == ""


def test_a_late_answer_about_the_member_before_does_not_bring_that_one_back() -> None:
    """Its domain has said since which job is in its place."""
    core = Coscheduler("b", 10, CoschedulingSettings(on_member_lost=OnMemberLost.WAIT), story=False)
    core.handle(Submitted("j", named_group("g", ("a", "c"))), 0)
    core.handle(Asked("a", GetMember("j", "g", tuple("abc"), "")), 0)
    effects = core.handle(Ready("j", Allocation(1), FOREVER), 0)
    (question,) = [call.request for call in effects if type(call) is Call and call.peer == "a"]
    again = core.handle(Asked("a", GetMember("k", "g", tuple("abc"), "")), 1)
    assert Call("a", "j", protocol.GetMateStatus("k", "j")) in again
    core.handle(Answered("j", question, MateJobId(Found.MATE, "j"), "a"), 1)
    assert core.jobs["j"].group is not None
    assert core.jobs["j"].group.jobs["a"] == "k"
