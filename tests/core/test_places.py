"""Nodes that are chosen by somebody else: at a job's turn and when it is tried, over the nodes that are free then.

Page "Across domains": "the choice is made at the job's turn, and in TryStartMate's dry run, over nodes free then; the
allocation is part of the answer. A hold keeps its choice."
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest

from cosched.core import protocol
from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.domain import PolicyDomain
from cosched.core.effects import Answer, Call, Start, TryReady
from cosched.core.events import Answered, Asked, Finished, Submitted
from cosched.core.job import JobState
from cosched.core.protocol import NO_MATE, Found, MateJobId, MateTried, StartJob, Status, TryStartMate, named_mate
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.places import Places
from cosched.core.scheduling.plain import PlainScheduler
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.settings import CoschedulingSettings, Scheme
from tests.conformance.schedulers.kinds import machine

K_ASKS_FOR_J = Asked("B", protocol.GetMateJobId("k", "j", None, ""))
NAMES = [f"n{number}" for number in range(8)]


class Domain:
    """Domain A, whose jobs get the last nodes that are free; which ones were to choose from is noted."""

    def __init__(self, scheduler, scheme: Scheme = Scheme.HOLD) -> None:
        settings = CoschedulingSettings(scheme=scheme, release_jitter=Decimal(0), max_held_fraction=Decimal(1))
        self.core, self.scheduler, self.now = Coscheduler("A", 8, settings), scheduler, 0
        self.policy = PolicyDomain(self.core, scheduler, places=Places(NAMES, self.choose))
        self.asked: list[tuple[str, list[str]]] = []

    def choose(self, job: str, free: Sequence[str], count: int) -> list[str]:
        self.asked.append((job, list(free)))
        return list(reversed(free))[:count]

    def submit(self, job: str, nodes: int, *, mate: bool = False) -> list:
        """A job comes, and has its turn if it has one now."""
        self.enter()
        changes = self.policy.handle(Submitted(job, named_mate("B", job) if mate else NO_MATE), self.now)
        self.scheduler.submit(ClusterJob(job, nodes, 100, self.now, paired=mate))
        return changes + self.policy.schedule(self.now)

    def enter(self) -> None:
        self.now += 10
        self.scheduler.enter(self.now)

    def tell(self, event) -> list:
        self.enter()
        return self.policy.handle(event, self.now) + self.policy.schedule(self.now)

    def answer(self, changes: list, reply) -> list:
        [call] = [change for change in changes if type(change) is Call]
        return self.tell(Answered(call.job, call.request, reply))

    def run_job(self, changes: list) -> list:
        """The mate k of a ready job queues, and cannot start."""
        for reply in (MateJobId(Found.MATE, "k"), protocol.MateStatus(Status.QUEUING, 1, None), MateTried(False)):
            changes = self.answer(changes, reply)
        return changes

    def end(self, job: str) -> list:
        self.enter()
        self.scheduler.leave(job, self.now, JobState.COMPLETED)
        return self.tell(Finished(job, JobState.COMPLETED))

    def where(self, job: str) -> tuple[str, ...] | None:
        known = self.core.jobs[job]
        return known.allocation and known.allocation.where

    def state(self, job: str) -> JobState:
        return self.core.jobs[job].state


def started(changes: list) -> dict[str, tuple[str, ...] | None]:
    return {change.job: change.allocation.where for change in changes if type(change) is Start}


@pytest.fixture(params=["plain", "batch"])
def make(request):
    def domain(scheme: Scheme = Scheme.HOLD) -> Domain:
        scheduler = PlainScheduler(8) if request.param == "plain" else OpenCluster(machine("fcfs", "easy", "flat"))
        assert scheduler.capabilities.counts
        return Domain(scheduler, scheme)

    return domain


def test_a_job_without_a_mate_gets_free_nodes_at_its_turn(make):
    a = make()
    assert started(a.submit("1", 3)) == {"1": ("n7", "n6", "n5")}
    assert started(a.submit("2", 4)) == {"2": ("n4", "n3", "n2", "n1")}
    assert started(a.submit("3", 2)) == {}
    assert a.policy.free_places() == ["n0"]
    assert started(a.end("1")) == {"3": ("n7", "n6")}
    assert a.asked == [("1", NAMES), ("2", NAMES[:5]), ("3", ["n0", "n5", "n6", "n7"])]


def test_a_hold_keeps_its_choice_until_it_starts(make):
    a = make()
    a.submit("1", 2)
    a.run_job(a.submit("j", 3, mate=True))
    assert (a.state("j"), a.where("j")) == (JobState.HOLDING, ("n5", "n4", "n3"))
    a.end("1")  # better ones are free now
    assert started(a.submit("2", 4)) == {"2": ("n7", "n6", "n2", "n1")}
    changes = a.tell(Asked("B", StartJob("B/k/1", "j", "k", a.core.jobs["j"].generation)))
    assert started(changes) == {"j": ("n5", "n4", "n3")}
    assert [job for job, _ in a.asked] == ["1", "j", "2"]  # once for each


def test_what_yields_has_nothing_and_is_chosen_anew(make):
    a = make(Scheme.YIELD)
    a.submit("1", 2)
    a.run_job(a.submit("j", 3, mate=True))
    assert a.state("j") is JobState.QUEUED
    assert a.policy.free_places() == NAMES[:6]
    a.end("1")
    assert a.asked[-1] == ("j", NAMES)
    assert (a.state("j"), a.where("j")) == (JobState.READY, ("n7", "n6", "n5"))


def test_a_try_of_a_mate_chooses_over_what_is_free_then(make):
    a = make()
    a.submit("1", 4)
    a.submit("2", 3)
    a.submit("j", 2, mate=True)
    a.tell(K_ASKS_FOR_J)
    a.enter()
    a.scheduler.leave("1", a.now, JobState.COMPLETED)
    a.policy.handle(Finished("1", JobState.COMPLETED), a.now)
    changes = a.policy.handle(Asked("B", TryStartMate("B/k/1", "j", "k", 0)), a.now)
    assert started(changes) == {"j": ("n7", "n6")}
    assert a.core.jobs["j"].allocation == Allocation(2, a.now, a.now + 100, where=("n7", "n6"))
    assert a.asked[2:] == [("j", ["n0", "n4", "n5", "n6", "n7"])]


def test_a_try_that_is_refused_leaves_nothing_behind(make):
    a = make()
    a.submit("1", 7)
    a.submit("j", 2, mate=True)
    a.tell(K_ASKS_FOR_J)
    asked = list(a.asked)
    changes = a.tell(Asked("B", TryStartMate("B/k/1", "j", "k", 0)))
    assert [change.answer for change in changes if type(change) is Answer] == [MateTried(started=False)]
    assert started(changes) == {}
    assert (a.asked, a.where("j"), a.state("j"), a.policy.free_places()) == (asked, None, JobState.QUEUED, ["n0"])


def test_what_nobody_waits_for_any_more_is_given_back(make):
    """A member of a group is made ready; meanwhile its proposer has gone."""
    a = make()
    a.submit("1", 7)
    a.submit("j", 2, mate=True)
    a.enter()
    a.scheduler.leave("1", a.now, JobState.COMPLETED)
    a.policy.handle(Finished("1", JobState.COMPLETED), a.now)
    a.policy.follow([TryReady("j")], a.now)
    assert a.asked[-1] == ("j", NAMES)
    assert (a.state("j"), a.policy.free_places()) == (JobState.QUEUED, NAMES)


def test_a_chooser_that_gives_what_is_taken_is_wrong():
    with pytest.raises(AssertionError):
        Places(NAMES, lambda *_: NAMES[:2]).chosen("1", 2, ["n0"])
    with pytest.raises(AssertionError):
        Places(NAMES, lambda _, free, count: free[:1] * count).chosen("1", 2, [])
    assert Places(NAMES).chosen("1", 2, ["n0", "n2"]) == ("n1", "n3")
