"""The live domain's scheduler that meets: late answers, slots, and what is kept of its jobs over a restart."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import MayBeEarlier, Ready
from cosched.core.job import JobState
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.batch.open_meeting_cluster import OpenMeetingCluster, open_cluster
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings, MeetingScheduler
from cosched.core.scheduling.starts import Starts
from tests.core.test_open_cluster import JOBS, Waiting, live, machine, simulated, workload

POOLS = ("flat", "partitioned:4x2")


def meeting(backfill: str, pool: str, policy: str = "fcfs", budget: str = "0.5") -> ClusterSettings:
    return replace(machine(policy, backfill, pool), mate_budget=Decimal(budget), slots=True)


def test_who_meets():
    assert isinstance(open_cluster(meeting("easy", "flat")), MeetingScheduler)
    assert not isinstance(open_cluster(machine("fcfs", "easy", "flat")), MeetingScheduler)


@pytest.mark.parametrize("backfill", BACKFILLING)
@pytest.mark.parametrize("pool", POOLS)
@settings(max_examples=5, deadline=None)
@given(jobs=JOBS, policy=st.sampled_from(["fcfs", "wfp"]))
def test_without_pairs_its_schedule_is_that_of_any_domain(pool, backfill, policy, jobs):
    cluster = OpenMeetingCluster(meeting(backfill, pool, policy))
    work = workload(jobs, cluster)
    assert live(work, cluster) == simulated(work, machine(policy, backfill, pool))
    assert cluster.free == cluster.nodes


class Negotiating(Waiting):
    """As `Waiting`; slots are booked, dropped and claimed at any time, and now and then the service starts again."""

    cluster: OpenMeetingCluster

    def __init__(self, data: st.DataObject, cluster: ClusterSettings) -> None:
        super().__init__(data, "easy", "flat")
        self.cluster = OpenMeetingCluster(cluster)
        self.slots: dict[str, int] = {}
        self.wanted: set[str] = set()
        self.turn = ""
        self.started = 0
        self.counted: dict[tuple[str, int], Starts] = {}  # as the service keeps it

    def step(self) -> None:
        chance = self.data.draw(st.integers(0, 5))
        if chance == 0:
            self.restart()
        super().step()
        if chance == 1 and self.slots:
            job = min(self.slots, key=self.slots.__getitem__)
            self.now = max(self.now, self.slots[job])
            self.cluster.enter(self.now)
            self.claim(job)
            self.iterate()
            self.check()

    def iterate(self) -> None:
        while (turn := self.cluster.next(self.now)) is not None:
            assert self.states[turn.job] is JobState.QUEUED
            if type(turn) is MayBeEarlier:
                assert self.slots[turn.job] > self.now
                assert self.cluster.awaited == turn.job
            else:
                assert type(turn) is Ready
                self.states[turn.job] = JobState.READY

    def happen(self, job: str, state: str) -> None:
        acts = [self.quote, self.book, self.unbook, self.claim, self.want]
        if self.cluster.awaited == job and state == "QUEUED":
            acts.append(self.cluster.end_turn)
        if state in ("QUEUED", "READY") and self.data.draw(st.booleans()):
            self.data.draw(st.sampled_from(acts))(job)
        else:
            super().happen(job, state)

    def quote(self, job: str) -> int:
        before = self.cluster.job(job), self.cluster.used(), self.cluster.free
        at = self.cluster.quote(Quote(job, self.now + self.data.draw(st.integers(0, 9))), self.now).at
        assert at is not None
        assert (self.cluster.job(job), self.cluster.used(), self.cluster.free) == before
        return at

    def book(self, job: str) -> None:
        at = self.quote(job)
        assert self.cluster.book(Book(job, at, 1), self.now).booked == (
            self.cluster.quote(Quote(job, at), self.now).at == at
        )
        self.slots[job] = self.cluster.job(job).slot

    def unbook(self, job: str) -> None:
        self.cluster.unbook(job, self.now)
        self.slots.pop(job, None)

    def claim(self, job: str) -> None:
        due = self.slots.get(job, self.now + 1) <= self.now and self.states[job] is JobState.QUEUED
        claimed = self.cluster.claim(Claim(job), self.now).claimed
        assert due or not claimed
        if claimed:
            self.states[job] = JobState.READY

    def want(self, job: str) -> None:
        self.cluster.want(job, True)
        self.wanted.add(job)

    def start(self, job: str) -> None:
        super().start(job)
        self.slots.pop(job, None)
        self.started += 1

    def try_start(self, job: str) -> None:
        super().try_start(job)
        self.wanted.add(job)
        if self.states[job] is JobState.RUNNING:
            self.slots.pop(job, None)
            self.started += 1

    def leave(self, job: str) -> None:
        super().leave(job)
        self.slots.pop(job, None)

    def restart(self) -> None:
        """What is kept of all jobs is all that the next life knows."""
        kept = [self.cluster.job(job) for job in self.states]
        self.counted |= self.cluster.starts.take_changed()
        self.cluster = OpenMeetingCluster(self.cluster.settings)
        self.cluster.starts.recall((*key, starts) for key, starts in self.counted.items())
        self.cluster.enter(self.now)
        for job in kept:
            self.cluster.submit(job)
        assert [self.cluster.job(job) for job in self.states] == kept

    def check(self) -> None:
        super().check()
        for job in self.states:
            known = self.cluster.job(job)
            assert (known.slot, known.wanted) == (self.slots.get(job), job in self.wanted)
            assert known.pushed is None or known.state is not JobState.QUEUED
        assert self.most_booked() <= self.cluster.nodes
        by_owner, settings = self.cluster.starts.by_owner(self.now), self.cluster.settings
        assert sum(starts.started for starts in by_owner.values()) == (self.started if settings.mate_budget else 0)
        for starts in by_owner.values():
            assert starts.before_turn <= ceil(settings.mate_budget_share * starts.started)

    def most_booked(self) -> int:
        """The nodes of slots at one instant, at most."""
        jobs = [self.cluster.job(job) for job in self.slots]
        lasting = [(self.slots[job.id], self.slots[job.id] + job.requested, job.nodes) for job in jobs]
        return max((sum(n for start, end, n in lasting if start <= at < end) for at, _, _ in lasting), default=0)

    def finish(self) -> None:
        for job in self.states:
            self.unbook(job)
        super().finish()


@pytest.mark.parametrize("backfill", BACKFILLING)
@pytest.mark.parametrize("pool", POOLS)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), budget=st.sampled_from(["0", "0.5"]), share=st.sampled_from(["1", "0.4", "0"]))
def test_answers_may_be_late_and_anything_happens_meanwhile(backfill, pool, data, budget, share):
    """The share of an owner's starts before their turn is never more than allowed, also over a restart."""
    cluster = replace(meeting(backfill, pool, budget=budget), mate_budget_share=Decimal(share))
    domain = Negotiating(data, cluster)
    for _ in range(data.draw(st.integers(1, 40))):
        domain.step()
    domain.finish()


def two_jobs() -> OpenMeetingCluster:
    """Job 1 runs until 100 at most on 6 nodes of 8; job 2, which needs 6 too, is queued."""
    cluster = OpenMeetingCluster(meeting("easy", "flat"))
    for job, state, expected in (("1", JobState.RUNNING, 100), ("2", JobState.QUEUED, -1)):
        cluster.submit(ClusterJob(job, 6, 100, 0, True, state, expected=expected))
    cluster.enter(0)
    return cluster


def test_a_turn_waits_until_it_ends():
    cluster = two_jobs()
    assert cluster.next(0) is None
    assert cluster.quote(Quote("2", 0), 0).at == 100
    assert cluster.book(Book("2", 150, 1), 0).booked
    assert cluster.next(0) == MayBeEarlier("2")
    assert cluster.awaited == "2"
    assert cluster.next(0) is None
    cluster.end_turn("1")  # not its turn
    assert cluster.awaited == "2"
    cluster.end_turn("2")
    assert cluster.next(0) is None
    assert not cluster.changed


def test_whatever_else_happens_ends_a_turn_and_it_comes_again():
    cluster = two_jobs()
    cluster.book(Book("2", 150, 1), 0)
    assert cluster.next(0) == MayBeEarlier("2")
    cluster.enter(5)
    cluster.reschedule()
    assert cluster.awaited is None
    assert cluster.next(5) == MayBeEarlier("2")
    cluster.enter(6)
    cluster.leave("1", 6, JobState.COMPLETED)
    ready = cluster.next(6)
    assert ready is not None
    assert type(ready) is Ready
    assert ready.job == "2"


@pytest.mark.parametrize(("slot", "other"), [(150, 250), (50, 150)])
def test_the_slot_of_a_ready_job_is_not_given_to_another(slot, other):
    """Job 2 may give its nodes back, and wait for its slot."""
    cluster = two_jobs()
    cluster.leave("1", 0, JobState.COMPLETED)
    assert cluster.next(0).job == "2"
    cluster.reschedule()  # its answer is late
    cluster.next(0)
    assert cluster.book(Book("2", slot, 1), 0).booked
    cluster.submit(ClusterJob("3", 6, 100, 0, True))
    assert cluster.quote(Quote("3", slot), 0).at == other
    cluster.pass_over("2", 0, 1.0)
    assert cluster.quote(Quote("3", slot), 0).at == other


def test_a_ready_job_whose_answer_was_late_is_quoted_on_its_own_nodes():
    cluster = two_jobs()
    cluster.leave("1", 0, JobState.COMPLETED)
    assert cluster.next(0).job == "2"
    cluster.reschedule()  # the iteration waits no longer
    cluster.next(0)
    assert cluster.quote(Quote("2", 0), 0).at == 0
    assert cluster.book(Book("2", 30, 1), 0).booked
    assert cluster.job("2").state is JobState.READY
    assert cluster.free == 2
    cluster.pass_over("2", 0, 1.0)
    assert cluster.job("2").slot == 30
    assert not cluster.claim(Claim("2"), 29).claimed
    assert cluster.claim(Claim("2"), 30).claimed


def test_a_job_is_wanted_that_is_not_here_yet():
    cluster = OpenMeetingCluster(meeting("easy", "flat"))
    cluster.want("1", True)
    assert cluster.try_start("2", 0, 5) is False
    cluster.want("3", True)
    cluster.want("3", False)
    for job in "123":
        cluster.submit(ClusterJob(job, 6, 10, 0, True))
    assert [cluster.job(job).wanted for job in "123"] == [True, True, False]


def test_nothing_is_known_of_a_job_that_is_not_here():
    cluster = OpenMeetingCluster(meeting("easy", "flat"))
    cluster.unbook("1", 0)
    assert cluster.quote(Quote("1", 0), 0).at is None
    assert not cluster.book(Book("1", 0, 1), 0).booked
    assert not cluster.claim(Claim("1"), 0).claimed


def test_a_guard_is_told_once_and_kept():
    """Job 2 is the first of the queue; job 3 is wanted, and may push it."""
    cluster = two_jobs()
    cluster.submit(ClusterJob("3", 1, 500, 0, True, wanted=True))
    assert cluster.next(0).job == "3"
    assert cluster.take_changed() == ["2"]
    assert cluster.take_changed() == []
    assert cluster.job("2").guard == 150
    again = OpenMeetingCluster(cluster.settings)
    again.submit(cluster.job("2"))
    assert again.job("2").guard == 150


def some_wanted(share: str) -> OpenMeetingCluster:
    """At 50: job 1 runs until 100, job 2 needs all nodes; 3 to 5 of ann and 6 of bob are wanted, and run longer."""
    cluster = OpenMeetingCluster(replace(two_jobs().settings, mate_budget_share=Decimal(share)))
    cluster.submit(ClusterJob("1", 5, 100, 0, True, JobState.RUNNING, expected=100))
    cluster.submit(ClusterJob("2", 8, 100, 0, True))
    for job, requested, owner in (("3", 60, "ann"), ("4", 70, "ann"), ("5", 80, "ann"), ("6", 55, "bob")):
        cluster.submit(ClusterJob(job, 1, requested, 0, True, wanted=True, owner=owner))
    cluster.enter(50)
    return cluster


def test_an_owner_whose_share_is_used_up_waits_for_the_turn_and_others_do_not():
    cluster = some_wanted("0.5")
    for job, pushed in (("3", 10), ("6", 0)):
        assert cluster.next(50).job == job
        cluster.start(job, 50)
        assert cluster.job(job).pushed == pushed
    assert cluster.next(50) is None
    assert not cluster.try_start("4", 50, 0)
    cluster.submit(ClusterJob("7", 1, 50, 50, True, owner="ann"))  # it is backfilled
    assert cluster.next(50).job == "7"
    cluster.start("7", 50)
    assert cluster.job("7").pushed is None
    cluster.leave("7", 51, JobState.COMPLETED)
    assert cluster.try_start("4", 51, 0)
    assert cluster.job("4").pushed == 11
    assert cluster.starts.by_owner(51) == {"ann": (3, 2, 21), "bob": (1, 1, 0)}
    for job in "1346":
        cluster.leave(job, 60, JobState.COMPLETED)
    assert cluster.next(60).job == "2"
    cluster.start("2", 60)
    assert cluster.next(60) is None
    cluster.leave("2", 70, JobState.COMPLETED)
    assert cluster.next(70).job == "5"  # in its turn
    assert cluster.job("5").pushed is None


def test_jobs_that_have_nodes_and_no_answer_yet_count_too():
    cluster = some_wanted("0.5")
    assert cluster.next(50).job == "3"
    cluster.reschedule()  # its answer is late
    assert cluster.next(50).job == "6"
    assert not cluster.try_start("4", 50, 0)
    cluster.pass_over("3", 50, 1.0)
    assert cluster.job("3").pushed is None
    assert cluster.try_start("4", 50, 0)


@pytest.mark.parametrize(("share", "first"), [("1", "3"), ("0", None)])
def test_all_may_start_before_their_turn_or_none(share, first):
    ready = some_wanted(share).next(50)
    assert (ready and ready.job) == first


def test_what_was_counted_before_a_restart_counts():
    cluster = some_wanted("0.5")
    cluster.starts.recall([("ann", 0, Starts(1, 1, 40))])
    assert cluster.next(50).job == "6"


def test_tables_may_run_out_and_nothing_is_lost():
    cluster = two_jobs()
    cluster.book(Book("2", 150, 1), 0)
    cluster.want("2", True)
    before = cluster.job("2")
    for number in range(3, 900):
        cluster.submit(ClusterJob(str(number), 8, 10, 0, True))
        cluster.leave(str(number), 0, JobState.CANCELLED)
    assert cluster.job("2") == before
    assert cluster.next(0) == MayBeEarlier("2")


@pytest.mark.parametrize("pool", ["flat", "partitioned:2x2"])
def test_a_slot_on_nodes_that_are_gone_is_none(pool):
    """The machine has become smaller."""
    cluster = OpenMeetingCluster(replace(meeting("easy", pool), nodes=4))
    cluster.submit(ClusterJob("1", 4, 10, 0, True, slot=50, slot_block=2))
    assert cluster.job("1").slot == (50 if pool == "flat" else None)


def test_a_domain_that_does_not_meet_keeps_no_slot():
    cluster = OpenCluster(machine("fcfs", "easy", "flat"))
    cluster.submit(ClusterJob("1", 4, 10, 0, True, wanted=True, been_ready=True, guard=9, slot=50))
    assert cluster.job("1") == ClusterJob("1", 4, 10, 0, True)


def test_a_job_that_is_only_booked_counts_when_it_starts():
    cluster = some_wanted("1")
    assert cluster.try_ready("3", 50)
    assert cluster.job("3").pushed == 10
    assert cluster.starts.by_owner(50) == {}
    cluster.give_back("3", 50)
    assert cluster.job("3").pushed is None
    assert cluster.try_ready("3", 50)
    cluster.start("3", 50)
    assert cluster.starts.by_owner(50) == {"ann": (1, 1, 10)}


def test_a_job_that_is_booked_uses_up_its_owners_share():
    cluster = some_wanted("0.5")
    assert cluster.try_ready("3", 50)
    assert not cluster.try_ready("4", 50)
    assert cluster.try_ready("6", 50)
    cluster.give_back("3", 50)
    assert cluster.try_ready("4", 50)


def test_a_job_that_is_booked_keeps_its_slot_until_it_starts():
    cluster = some_wanted("1")
    assert cluster.book(Book("3", 200, 1), 50).booked
    kept = cluster.job("3")
    cluster.leave("1", 60, JobState.COMPLETED)
    assert cluster.try_ready("3", 60)
    cluster.give_back("3", 60)
    assert cluster.job("3") == replace(kept, block=cluster.job("3").block, expected=cluster.job("3").expected)
    assert cluster.try_ready("3", 60)
    cluster.start("3", 60)
    assert cluster.job("3").slot is None
