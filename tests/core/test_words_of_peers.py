"""No request of a peer, whatever it says, and in whatever state of a job, raises out of a policy domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pytest

from cosched.core import protocol
from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Answer, Book, Effect, GiveBack, Quote, Start, Try, TryReady, Unbook
from cosched.core.events import Asked, Booked, Finished, Linked, Quoted, Ready, Submitted, Tried, TriedReady, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import GetMember, GroupProposed, ProposeGroupStart, Vote, named_group, named_mate
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.scheduling.external_meeting import ExternalSettings
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.core.story import Why
from tests.installed import PAPERS
from tests.tiers import SEED, soaked

from .besieged import NODES, PEERS, STEPS, Besieged, BesiegedBatchSystem, BesiegedExpress
from .followers import Followers

if PAPERS:
    from tests.papers.fluid.besieged import BesiegedFluid

T = TypeVar("T", bound=Besieged)
KINDS = (Besieged, BesiegedBatchSystem, *((BesiegedFluid,) if PAPERS else ()), BesiegedExpress)
FOLLOWING = [type(f"Following{kind.__name__}", (Followers, kind), {}) for kind in KINDS]


def besieged(seed: int, kinds: Sequence[type[T]] = KINDS) -> T:
    """A history of STEPS steps; an AssertionError names the seed."""
    made = kinds[seed % len(kinds)](seed)
    for number in range(STEPS):
        try:
            made.step()
        except Exception as error:
            raise AssertionError(f"seed {seed}, step {number}: {error!r}") from error
    return made


@pytest.mark.parametrize("seeds", soaked([(50, *range(20)), range(SEED * 10_000, SEED * 10_000 + 5_000)], 1))
def test_whatever_a_peer_says_nothing_raises_and_core_and_scheduler_agree(seeds):
    for seed in seeds:
        besieged(seed)


@pytest.mark.parametrize("seeds", soaked([range(40), range(SEED * 10_000, SEED * 10_000 + 5_000)], 1))
def test_nor_does_it_whatever_becomes_of_the_members_that_jobs_follow(seeds):
    """ "Of two orders at once the one on record first counts." Each is carried out, or comes to nothing."""
    ended = set().union(*(besieged(seed, FOLLOWING).ended for seed in seeds))
    assert ended == {Why.MATE_ENDED, Why.MATE_FAILED, Why.MATE_REQUEUED}


# A job leaves its group, or its pair, while a peer waits for what our scheduler can do for it

OF_MATE = protocol.GetMateJobId("k", "p", None, ""), protocol.TryStartMate("B/k/1", "j", "k", 0)


def asked_for(*requests: protocol.Request, named: protocol.Named) -> tuple[Coscheduler, list[Effect]]:
    """Domain A with job j, which names these; B makes the requests."""
    core = Coscheduler("A", NODES, CoschedulingSettings(scheme=Scheme.YIELD, slots=True))
    core.handle(Submitted("j", named), 0)
    return core, [effect for request in requests for effect in core.handle(Asked("B", request), 0)]


def test_a_member_that_leaves_its_group_during_a_try_is_given_back():
    proposal = ProposeGroupStart("B/k/1", "j", "k", 0, 5)
    core, effects = asked_for(GetMember("k", "g", ("A", "B", "C"), ""), proposal, named=named_group("g", PEERS))
    assert TryReady("j") in effects
    assert Answer("B", proposal, GroupProposed(Vote.NO)) in core.handle(Unlinked("j"), 0)
    core.handle(Linked("j", named_group("h", PEERS)), 0)
    assert core.handle(TriedReady("j", Allocation(4)), 0) == [GiveBack("j")]


@pytest.mark.parametrize("named", [named_group("h", PEERS), named_mate("B", "p")], ids=["group", "pair"])
def test_a_member_that_leaves_its_group_while_its_slot_is_booked_has_none(named):
    proposal = ProposeGroupStart("B/k/1", "j", "k", 0, 5, not_before=9, book=True)
    core, effects = asked_for(GetMember("k", "g", ("A", "B", "C"), ""), proposal, named=named_group("g", PEERS))
    assert Quote("j", 9, for_peer=True) in effects
    core.handle(Quoted("j", 9, True), 0)
    assert Answer("B", proposal, GroupProposed(Vote.NO)) in core.handle(Unlinked("j"), 0)
    core.handle(Linked("j", named), 0)
    assert core.handle(Booked("j", 9, 1, Allocation(4), True), 0) == [Unbook("j")]


def test_a_job_that_joins_a_group_while_its_pairs_slot_is_booked_has_none():
    proposal = ProposeGroupStart("B/k/1", "j", "k", 0, 5, not_before=9, book=True)
    core, _ = asked_for(protocol.GetMateJobId("k", "p", None, ""), proposal, named=named_mate("B", "p"))
    core.handle(Quoted("j", 9, True), 0)
    assert Answer("B", proposal, GroupProposed(Vote.NO)) in core.handle(Linked("j", named_group("h", PEERS)), 0)
    assert core.handle(Booked("j", 9, 1, Allocation(4), True), 0) == [Unbook("j")]


def test_a_job_that_joins_a_group_while_it_is_tried_for_its_mate_has_started():
    core, effects = asked_for(*OF_MATE, named=named_mate("B", "p"))
    assert [type(effect) for effect in effects][-1] is Try
    core.handle(Linked("j", named_group("h", PEERS)), 0)
    assert any(type(effect) is Answer for effect in core.handle(Tried("j", Allocation(4)), 0))
    assert core.jobs["j"].state is JobState.RUNNING


def test_a_job_that_has_got_its_nodes_otherwise_during_a_try_starts():
    """ "A domain that is asked to start such a job starts it at once and says so." """
    core, _ = asked_for(*OF_MATE, named=named_mate("B", "p"))
    core.handle(Ready("j", Allocation(4), protocol.FOREVER), 0)
    effects = core.handle(Tried("j", None), 0)
    assert [type(effect) for effect in effects if type(effect) in (Start, Answer)] == [Start, Answer]
    assert effects[-1].answer == protocol.MateTried(True)


def test_a_try_of_an_earlier_job_of_the_same_id_counts_for_nobody():
    proposal = ProposeGroupStart("B/k/1", "j", "k", 0, 5)
    core, _ = asked_for(GetMember("k", "g", ("A", "B", "C"), ""), proposal, named=named_group("g", PEERS))
    core.handle(Finished("j", JobState.CANCELLED), 0)
    core.forget(core.jobs["j"])
    core.handle(Submitted("j", named_group("g", PEERS)), 0)
    assert core.handle(TriedReady("j", Allocation(4)), 0) == [GiveBack("j")]
    assert core.jobs["j"].group.promise is None


def test_an_offer_that_was_kept_aside_is_gone_once_a_try_has_used_it():
    cluster = ExternalScheduler(ExternalSettings(NODES, slots=True))
    cluster.submit(ClusterJob("j", 4, 60, 0, True))
    cluster.meeting.book(book := Book("j", 9, 1, for_peer=True), 0)
    assert not cluster.offer("j", 4, 0, can_yield=True)
    cluster.try_ready("j", 0)
    cluster.keep("j")
    cluster.meeting.answered(book, False)
    cluster.meeting.settled("j", 0)
    assert cluster.next(0) is None
