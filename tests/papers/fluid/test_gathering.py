"""Jobs with mates where a node that a running job gives up is free only once that has left it (fluid.md, Live).

"A job with mates starts only on nodes that are free." (A pair's whole life, section 5)
"""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from cosched.core.allocation import NOT_NOW, Gathered, Malleable, SizeChanged
from cosched.core.effects import Book, Claim
from cosched.core.events import NOT_HOLDABLE, Ready
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.fluid.cluster import FluidCluster
from cosched_papers.fluid.settings import FluidSettings
from tests.tiers import seeds


def a_cluster(nodes: int = 4, **rules) -> FluidCluster:
    cluster = FluidCluster(FluidSettings(nodes, **rules))
    cluster.lag()
    return cluster


def submit(cluster: FluidCluster, job: str, least: int, nodes: int, now: int = 0, *, paired: bool = False) -> None:
    cluster.enter(now)
    cluster.submit(ClusterJob(job, nodes, 1000, now, paired=paired, columns=Malleable(least)))


def runs(cluster: FluidCluster, job: str, now: int) -> None:
    """A job without a mate has its turn, and starts."""
    cluster.enter(now)
    assert cluster.next(now).job == job
    cluster.start(job, now)
    assert cluster.next(now) is None
    cluster.take_events()


def with_a_pair(**rules) -> FluidCluster:
    """Four nodes, all of a job that may shrink to one; a job of two with a mate comes at 10."""
    made = a_cluster(**rules)
    submit(made, "long", 1, 4)
    runs(made, "long", 0)
    submit(made, "k", 2, 2, 10, paired=True)
    return made


@pytest.fixture
def cluster() -> FluidCluster:
    """It has had its turn."""
    made = with_a_pair()
    assert made.next(10) is None
    return made


def shrunk(cluster: FluidCluster) -> list[tuple[str, int, str | None]]:
    events = [event for event in cluster.take_events() if isinstance(event, SizeChanged)]
    return [(event.job, event.allocation.nodes, event.gave_to) for event in events]


def test_case_7_a_job_is_ready_when_another_one_that_never_adapts_is_gone(cluster):
    """Case 7: "4 nodes, a job of 4 from 0 that may shrink to 1 and never adapts; a pair at 10 of 2 nodes here"."""
    assert shrunk(cluster) == [("long", 2, "k")]
    for now in (20, 70, 129):
        cluster.enter(now)
        cluster.reschedule()
        assert cluster.next(now) is None
        assert cluster.try_start("k", now, 200) is NOT_NOW
    cluster.enter(130)  # 10 + 2 x 60: it is ended
    cluster.leave("long", 130, JobState.CANCELLED)
    assert cluster.next(130).job == "k"
    assert cluster.start("k", 130).nodes == 2
    assert cluster.take_events() == [Gathered("k", 2 * 120)]


def test_it_is_ready_as_soon_as_the_nodes_are_left(cluster):
    cluster.uses("long", 3)
    assert cluster.next(12) is None
    cluster.uses("long", 2)
    assert cluster.next(12).job == "k"
    assert cluster.start("k", 12).nodes == 2
    assert cluster.used()[JobState.RUNNING] == 4


def test_what_was_harvested_in_vain_goes_back_and_is_not_taken_again_until_its_mate_asks(cluster):
    shrunk(cluster)
    cluster.uses("long", 2)
    cluster.enter(12)
    assert cluster.next(12).hold_limit == NOT_HOLDABLE, "processors would be taken to let them idle"
    cluster.pass_over("k", 12, 1.0)
    assert cluster.next(12) is None
    assert shrunk(cluster) == [("long", 4, None)]
    assert cluster.counts()["harvests_in_vain"] == 1
    for now in (13, 14):
        cluster.enter(now)
        cluster.reschedule()
        assert cluster.next(now) is None
        assert shrunk(cluster) == []
    cluster.enter(15)
    cluster.uses("long", 4)
    assert cluster.try_start("k", 15, 100) is NOT_NOW
    assert shrunk(cluster) == [("long", 2, "k")]
    cluster.uses("long", 2)
    assert cluster.next(16).hold_limit == FOREVER, "its mate has asked for it"
    cluster.hold("k", 16, 100)
    assert cluster.start("k", 20).nodes == 2
    assert cluster.counts()["harvests_in_vain"] == 1


def test_what_a_mate_that_has_come_or_patience_changes_lets_it_harvest_again(cluster):
    cluster.uses("long", 2)
    cluster.next(12)
    cluster.pass_over("k", 12, 1.0)
    cluster.next(12)
    cluster.take_events()
    cluster.uses("long", 4)
    cluster.enter(20)
    cluster.reschedule("k")
    assert cluster.next(20) is None
    assert shrunk(cluster) == [("long", 2, "k")]


def test_no_more_is_kept_than_may_be_held():
    """ "... and is bounded like holds (max_held_fraction)": others go on, and what comes free by itself is its own."""
    cluster = with_a_pair(cap=1)
    submit(cluster, "next", 1, 1, 10)
    assert cluster.next(10).job == "next"
    cluster.start("next", 10)
    assert cluster.next(10) is None
    assert shrunk(cluster) == [("long", 3, "next")]
    cluster.enter(20)
    assert cluster.try_start("k", 20, 30) is NOT_NOW
    assert shrunk(cluster) == []
    cluster.leave("long", 20, JobState.COMPLETED)
    assert cluster.next(20).job == "k"


def test_a_job_that_has_no_mate_any_more_starts_as_others_do(cluster):
    cluster.count_paired("k", paired=False)
    assert cluster.next(11).job == "k"
    assert cluster.start("k", 11).nodes == 2


def test_after_a_restart_it_is_known_what_others_have_still_to_leave(cluster):
    again = a_cluster()
    for job in ("long", "k"):
        known = cluster.job(job)
        again.submit(replace(known, kept={}).with_kept(known.to_keep()))
    assert again.next(30) is None
    again.uses("long", 4)
    assert again.next(30) is None
    again.uses("long", 2)
    assert again.next(30).job == "k"
    assert again.used() == cluster.used()


def test_a_job_that_was_ready_before_a_restart_uses_nothing():
    cluster, again = a_cluster(), a_cluster()
    submit(cluster, "k", 2, 2, paired=True)
    assert cluster.next(0).job == "k"
    known = cluster.job("k")
    again.submit(replace(known, kept={}).with_kept(known.to_keep()))
    again.pass_over("k", 0, 1.0)
    submit(again, "m", 4, 4, 1, paired=True)
    again.enter(1)
    again.pass_over(again.next(1).job, 1, 1.0)
    assert again.next(1).job == "m"


def test_a_slot_is_claimed_once_the_nodes_are_left():
    cluster = with_a_pair(slots=True)
    assert cluster.meeting.book(Book("k", 20, 1), 10).allocation is not None
    cluster.meeting.move_slot("k", 3)
    cluster.enter(20)
    assert cluster.meeting.claim(Claim("k"), 20).allocation is None
    assert shrunk(cluster) == [("long", 2, "k")]
    cluster.uses("long", 2)
    assert cluster.meeting.claim(Claim("k"), 21).allocation.nodes == 2


def test_a_mate_that_asks_and_cannot_start_again_and_again_waits_longer_each_time(cluster):
    """Two domains that yield could else take nodes from running jobs for each other without end."""
    tried: list[int] = []
    for now in range(10, 600):
        cluster.enter(now)
        cluster.uses("long", 4)
        cluster.try_start("k", now, 0)
        if shrunk(cluster):
            tried.append(now)
        cluster.uses("long", 2)
        if (ready := cluster.next(now)) is not None:
            cluster.pass_over(ready.job, now, 1.0)
            cluster.next(now)
            cluster.take_events()
    assert [after - before for before, after in pairwise(tried)] == [1, 1, 1, 60, 120, 240]


class Site:
    """A machine, its nodes that jobs really use, and those that mates start on."""

    NODES, CAP = 12, 8

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.now, self.last = chance, 0, 0
        self.cluster = a_cluster(self.NODES, cap=self.CAP)
        self.uses: dict[str, int] = {}
        self.paired: set[str] = set()
        self.waits: set[str] = set()
        self.holding: set[str] = set()

    def submits(self) -> None:
        self.last += 1
        job, least = str(self.last), self.chance.randint(1, 5)
        paired = self.chance.random() < 0.5
        submit(self.cluster, job, least, self.chance.randint(least, 9), self.now, paired=paired)
        self.waits.add(job)
        if paired:
            self.paired.add(job)

    def starts(self, job: str, nodes: int) -> None:
        self.waits.discard(job)
        self.holding.discard(job)
        if job in self.paired:
            kept = self.cluster.kept_free()
            assert sum(self.uses.values()) + kept + nodes <= self.NODES, "its nodes are not free"
        self.uses[job] = nodes

    def leaves(self) -> None:
        """A running job comes to a boundary, or gets what it was given."""
        for job in self.chance.sample(sorted(self.uses), min(2, len(self.uses))):
            self.uses[job] = self.cluster.job(job).kept["share"][0]
            self.cluster.uses(job, self.uses[job])

    def ends(self) -> None:
        if self.uses:
            job = self.chance.choice(sorted(self.uses))
            del self.uses[job]
            self.cluster.leave(job, self.now, JobState.COMPLETED)

    def asks(self) -> None:
        """A mate asks for a job."""
        queued = sorted(self.waits & self.paired - self.holding)
        if queued:
            job = self.chance.choice(queued)
            given = self.cluster.try_start(job, self.now, self.now + 5)
            if given is not NOT_NOW:
                self.starts(job, given.nodes)

    def answers(self, ready: Ready) -> None:
        job, chance = ready.job, self.chance.random()
        if job not in self.paired or chance < 0.4:
            self.starts(job, self.cluster.start(job, self.now).nodes)
        elif chance < 0.7 and ready.hold_limit == FOREVER:
            self.cluster.hold(job, self.now, self.now + 50)
            self.holding.add(job)
        else:
            self.cluster.pass_over(job, self.now, 1.0)

    def releases(self) -> None:
        if self.holding:
            job = self.chance.choice(sorted(self.holding))
            self.holding.discard(job)
            self.cluster.release(job, self.now)

    def iterates(self) -> None:
        while (ready := self.cluster.next(self.now)) is not None:
            self.answers(ready)
        self.cluster.take_events()
        assert self.cluster.free >= 0


@pytest.mark.parametrize("seed", seeds(20, 2000))
def test_nobody_with_a_mate_starts_on_nodes_that_others_use_and_all_start_at_last(seed: int):
    """What unmated jobs wait for they have not got yet: only what a job has, and has not left, counts."""
    site = Site(chance := random.Random(seed))
    for _ in range(80):
        site.now += chance.randint(0, 2)
        site.cluster.enter(site.now)
        chance.choice([site.submits, site.leaves, site.leaves, site.ends, site.asks, site.releases])()
        site.iterates()
    for _ in range(400):
        site.now += 1
        site.cluster.enter(site.now)
        chance.choice([site.leaves, site.ends, site.asks, site.releases])()
        site.iterates()
        if not site.waits:
            break
    assert not site.waits
