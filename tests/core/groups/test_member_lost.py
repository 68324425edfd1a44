"""A member of a group will not run: on_member_lost says what the others do.

groups.md, RunJob: "Some will not run: the group's on_member_lost: go on without it (default), cancel, wait."
"""

from __future__ import annotations

import pytest

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import CancelJob, Effect, TryReady
from cosched.core.events import Finished, Ready, Submitted, TriedReady, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, GroupName
from cosched.core.settings import CoschedulingSettings, OnMemberLost
from tests.core.messages import Messages


class Trio(Messages):
    """Job j of group g on a, b and c; c's is cancelled, and a's is ready then. Messages arrive at once."""

    def __init__(self, choice: OnMemberLost, *, or_alone: bool = False) -> None:
        settings = CoschedulingSettings(on_member_lost=choice)
        super().__init__(
            {name: Coscheduler(name, 10, settings, story=False) for name in "abc"}, dict.fromkeys("abc", "j")
        )
        self.cancels: list[str] = []
        for name in "abc":
            others = tuple(other for other in "abc" if other != name)
            self.feed(name, Submitted("j", GroupName("g", others, or_alone)))
        self.feed("c", Finished("j", JobState.CANCELLED))
        self.ready("a")

    def ready(self, name: str) -> None:
        self.feed(name, Ready("j", 1, FOREVER))
        while self.pending:
            self.feed(*self.pending.pop(0))

    def _carry_out(self, name: str, effect: Effect) -> None:
        super()._carry_out(name, effect)
        if type(effect) is CancelJob:
            self.cancels.append(name)
        elif type(effect) is TryReady:
            self.feed(name, TriedReady("j", True))

    @property
    def states(self) -> list[JobState]:
        return [self.state(name) for name in "ab"]


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
