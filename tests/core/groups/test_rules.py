"""Rules of groups (coscheduling.md), at one domain; its peers are the test."""

from __future__ import annotations

import zlib
from decimal import Decimal

import pytest

from cosched.core import protocol
from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Answer, Call, Hold, TryReady, Yield
from cosched.core.events import Answered, Asked, LeaseOver, Ready, Requeued, Submitted, TriedReady
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Found, GetMember, GroupProposed, Outcome, ProposeGroupStart, Status, Vote
from cosched.core.settings import CoschedulingSettings, Scheme
from tests.core.driver import decided

WANTED_UNTIL = 100
# "The group with the lower `crc32("NAME/DOMAIN/DOMAIN/...")` comes first, domains in alphabetical order"
FIRST, LAST = sorted("gh", key=lambda group: zlib.crc32(f"{group}/A/B/C".encode()))
ANSWERS = {
    GetMember: lambda call: protocol.MateJobId(Found.MATE, f"{call.job} on {call.peer}"),
    protocol.GetMateStatus: lambda _: protocol.MateStatus(Status.QUEUING, 0, None),
    ProposeGroupStart: lambda _: GroupProposed(Vote.NO),
}


@pytest.fixture
def core() -> Coscheduler:
    """Domain A, with a job of each of two groups that have the same others: B and C."""
    settings = CoschedulingSettings(scheme=Scheme.HOLD, max_held_fraction=Decimal(1))
    core = Coscheduler("A", 10, settings, story=False)
    for group in "gh":
        core.handle(Submitted(group, protocol.named_group(group, ("B", "C"))), 0)
    return core


def is_wanted(core: Coscheduler, job: str) -> None:
    """Its member on B holds, and has proposed a start; this one has no nodes."""
    core.handle(Asked("B", GetMember("b", job, ("A", "B", "C"), "")), 0)
    core.handle(Asked("B", ProposeGroupStart("B/b/1", job, "b", WANTED_UNTIL, 60)), 0)
    core.handle(TriedReady(job, None), 0)


def ready(core: Coscheduler, job: str, now: int) -> list[type]:
    """What it decides once all others have said that they cannot start now."""
    effects = core.handle(Ready(job, Allocation(4), FOREVER), now)
    while not decided(effects):
        calls = [effect for effect in effects if type(effect) is Call]
        effects = []
        for call in calls:
            answer = ANSWERS[type(call.request)](call)
            effects += core.handle(Answered(job, call.request, answer, call.peer), now)
    return decided(effects)


def test_a_group_holds_no_nodes_while_one_that_comes_before_it_is_wanted(core):
    """ "it holds no nodes, even at its yield limit, while another group that comes before its own has a wanted member
    in the same domain" """
    is_wanted(core, FIRST)
    assert ready(core, LAST, 1) == [Yield]
    assert ready(core, LAST, WANTED_UNTIL) == [Hold]


def test_the_one_that_comes_first_holds(core):
    is_wanted(core, LAST)
    assert ready(core, FIRST, 1) == [Hold]


def test_a_proposal_that_has_been_dropped_is_void_however_late_a_copy_comes(core):
    core.handle(Asked("B", GetMember("b", "g", ("A", "B", "C"), "")), 0)
    core.handle(Asked("B", protocol.SettleGroupStart("B/b/2", "g", "b", start=False)), 0)
    for number, void in ((1, True), (2, True), (3, False)):
        effects = core.handle(Asked("B", ProposeGroupStart(f"B/b/{number}", "g", "b", 0, 60)), 1)
        assert [effect.answer for effect in effects if type(effect) is Answer] == [GroupProposed(Vote.NO)] * void
        assert [type(effect) for effect in effects if type(effect) is TryReady] == [TryReady] * (not void)


def test_a_proposal_by_which_a_member_has_started_books_nothing_for_its_next_run(core):
    """ "if p [...] has started k before: a late copy books nothing", also if k has asked, and has not been told"""
    proposed = Asked("B", ProposeGroupStart("B/b/1", "g", "b", 0, 60))
    core.handle(Asked("B", GetMember("b", "g", ("A", "B", "C"), "")), 0)
    core.handle(proposed, 0)
    core.handle(TriedReady("g", Allocation(4)), 0)
    asked = core.handle(LeaseOver("g"), 60)[0].request
    core.handle(Answered("g", asked, protocol.ProposalOutcome(Outcome.STARTED), "B"), 60)
    assert core.jobs["g"].state is JobState.RUNNING
    core.handle(Requeued("g"), 70)
    [voted] = [effect for effect in core.handle(proposed, 80) if type(effect) in (Answer, TryReady)]
    assert voted.answer == GroupProposed(Vote.NO)
