"""The batch scheduler of live domains that meet: turns, slots, guards, and shares of starts before turn."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from cosched.core.allocation import NOT_NOW
from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import MayBeEarlier, Ready
from cosched.core.job import JobState
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings, planning
from cosched.core.scheduling.starts import Starts
from tests.conformance.schedulers.kinds import machine


def meeting(backfill: str, pool: str, policy: str = "fcfs", budget: str = "0.5") -> ClusterSettings:
    return replace(machine(policy, backfill, pool), mate_budget=Decimal(budget), slots=True)


def test_who_meets():
    assert planning(OpenCluster(meeting("easy", "flat"))) is not None
    assert planning(OpenCluster(machine("fcfs", "easy", "flat"))) is None


def slot_of(cluster: OpenCluster, job: str) -> int | None:
    return cluster.job(job).kept.get("slot")


def two_jobs() -> OpenCluster:
    """Job 1 runs until 100 at most on 6 nodes of 8; job 2, which needs 6 too, is queued."""
    cluster = OpenCluster(meeting("easy", "flat"))
    for job, state, expected in (("1", JobState.RUNNING, 100), ("2", JobState.QUEUED, -1)):
        cluster.submit(ClusterJob(job, 6, 100, 0, True, state, expected=expected))
    cluster.enter(0)
    return cluster


@pytest.mark.parametrize(
    "settings", [machine("fcfs", "easy", "flat"), meeting("easy", "flat")], ids=["plain", "meeting"]
)
def test_a_job_that_is_queued_again_has_its_former_place(settings):
    """ "Jobs are ordered by score, highest first, then by submission time, then by their place in the trace." """
    cluster = OpenCluster(settings)
    for job, submitted in (("1", 0), ("2", 0), ("3", 1)):
        cluster.submit(ClusterJob(job, 8, 100, submitted, True))
    cluster.enter(2)
    assert cluster.next(2).job == "1"
    cluster.start("1", 2)
    cluster.leave("1", 5, JobState.CANCELLED)
    cluster.submit(ClusterJob("1", 8, 100, 0, True))
    cluster.submit(ClusterJob("4", 8, 100, 5, True))
    assert cluster.rows.copy().in_order(5) == ["1", "2", "3", "4"]


def test_a_turn_waits_until_it_ends():
    cluster = two_jobs()
    assert cluster.next(0) is None
    assert cluster.meeting.quote(Quote("2", 0), 0).at == 100
    assert cluster.meeting.book(Book("2", 150, 1), 0).allocation is not None
    assert cluster.next(0) == MayBeEarlier("2")
    assert cluster.awaited == "2"
    assert cluster.next(0) is None
    cluster.meeting.end_turn("1")  # not its turn
    assert cluster.awaited == "2"
    cluster.meeting.end_turn("2")
    assert cluster.next(0) is None
    assert not cluster.changed


def test_whatever_else_happens_ends_a_turn_and_it_comes_again():
    cluster = two_jobs()
    cluster.meeting.book(Book("2", 150, 1), 0)
    assert cluster.next(0) == MayBeEarlier("2")
    cluster.enter(5)
    cluster.reschedule()
    assert cluster.awaited is None
    assert cluster.next(5) == MayBeEarlier("2")
    cluster.enter(6)
    cluster.leave("1", 6, JobState.COMPLETED)
    ready = cluster.next(6)
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
    assert cluster.meeting.book(Book("2", slot, 1), 0).allocation is not None
    cluster.submit(ClusterJob("3", 6, 100, 0, True))
    assert cluster.meeting.quote(Quote("3", slot), 0).at == other
    cluster.pass_over("2", 0, 1.0)
    assert cluster.meeting.quote(Quote("3", slot), 0).at == other


def test_a_ready_job_whose_answer_was_late_is_quoted_on_its_own_nodes():
    cluster = two_jobs()
    cluster.leave("1", 0, JobState.COMPLETED)
    assert cluster.next(0).job == "2"
    cluster.reschedule()  # the iteration waits no longer
    cluster.next(0)
    assert cluster.meeting.quote(Quote("2", 0), 0).at == 0
    assert cluster.meeting.book(Book("2", 30, 1), 0).allocation is not None
    assert cluster.job("2").state is JobState.READY
    assert cluster.free == 2
    cluster.pass_over("2", 0, 1.0)
    assert slot_of(cluster, "2") == 30
    assert cluster.meeting.claim(Claim("2"), 29).allocation is None
    assert cluster.meeting.claim(Claim("2"), 30).allocation is not None


def test_a_job_is_wanted_that_is_not_here_yet():
    cluster = OpenCluster(meeting("easy", "flat"))
    cluster.meeting.want("1", True)
    assert cluster.try_start("2", 0, 5) is NOT_NOW
    cluster.meeting.want("3", True)
    cluster.meeting.want("3", False)
    for job in "123":
        cluster.submit(ClusterJob(job, 6, 10, 0, True))
    wanted = cluster.rows.tables.slots["wanted"]
    assert [bool(wanted[cluster.rows.row[job]]) for job in "123"] == [True, True, False]


def test_nothing_is_known_of_a_job_that_is_not_here():
    cluster = OpenCluster(meeting("easy", "flat"))
    cluster.meeting.unbook("1", 0)
    assert cluster.meeting.quote(Quote("1", 0), 0).at is None
    assert cluster.meeting.book(Book("1", 0, 1), 0).allocation is None
    assert cluster.meeting.claim(Claim("1"), 0).allocation is None


def test_a_guard_is_told_once_and_kept():
    """Job 2 is the first of the queue; job 3 is wanted, and may push it."""
    cluster = two_jobs()
    cluster.meeting.want("3", True)
    cluster.submit(ClusterJob("3", 1, 500, 0, True))
    assert cluster.next(0).job == "3"
    assert cluster.take_changed() == ["2"]
    assert cluster.take_changed() == []
    assert cluster.job("2").kept["guard"] == 150
    again = OpenCluster(cluster.settings)
    again.submit(cluster.job("2"))
    assert again.job("2").kept["guard"] == 150


def some_wanted(share: str) -> OpenCluster:
    """At 50: job 1 runs until 100, job 2 needs all nodes; 3 to 5 of ann and 6 of bob are wanted, and run longer."""
    cluster = OpenCluster(replace(two_jobs().settings, mate_budget_share=Decimal(share)))
    cluster.submit(ClusterJob("1", 5, 100, 0, True, JobState.RUNNING, expected=100))
    cluster.submit(ClusterJob("2", 8, 100, 0, True))
    for job, requested, owner in (("3", 60, "ann"), ("4", 70, "ann"), ("5", 80, "ann"), ("6", 55, "bob")):
        cluster.meeting.want(job, True)
        cluster.submit(ClusterJob(job, 1, requested, 0, True, owner=owner))
    cluster.enter(50)
    return cluster


def test_an_owner_whose_share_is_used_up_waits_for_the_turn_and_others_do_not():
    cluster = some_wanted("0.5")
    for job, pushed in (("3", 10), ("6", 0)):
        assert cluster.next(50).job == job
        cluster.start(job, 50)
        assert cluster.pushed(job) == pushed
    assert cluster.next(50) is None
    assert cluster.try_start("4", 50, 0) is NOT_NOW
    cluster.submit(ClusterJob("7", 1, 50, 50, True, owner="ann"))  # it is backfilled
    assert cluster.next(50).job == "7"
    cluster.start("7", 50)
    assert cluster.pushed("7") is None
    cluster.leave("7", 51, JobState.COMPLETED)
    assert cluster.try_start("4", 51, 0) is not NOT_NOW
    assert cluster.pushed("4") == 11
    assert cluster.starts.by_owner(51) == {"ann": (3, 2, 21), "bob": (1, 1, 0)}
    for job in "1346":
        cluster.leave(job, 60, JobState.COMPLETED)
    assert cluster.next(60).job == "2"
    cluster.start("2", 60)
    assert cluster.next(60) is None
    cluster.leave("2", 70, JobState.COMPLETED)
    assert cluster.next(70).job == "5"  # in its turn
    assert cluster.pushed("5") is None


def test_jobs_that_have_nodes_and_no_answer_yet_count_too():
    cluster = some_wanted("0.5")
    assert cluster.next(50).job == "3"
    cluster.reschedule()  # its answer is late
    assert cluster.next(50).job == "6"
    assert cluster.try_start("4", 50, 0) is NOT_NOW
    cluster.pass_over("3", 50, 1.0)
    assert cluster.pushed("3") is None
    assert cluster.try_start("4", 50, 0) is not NOT_NOW


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
    cluster.meeting.book(Book("2", 150, 1), 0)
    cluster.meeting.want("2", True)
    before = cluster.job("2")
    for number in range(3, 900):
        cluster.submit(ClusterJob(str(number), 8, 10, 0, True))
        cluster.leave(str(number), 0, JobState.CANCELLED)
    assert cluster.job("2") == before
    assert cluster.next(0) == MayBeEarlier("2")


@pytest.mark.parametrize("pool", ["flat", "partitioned:2x2"])
def test_a_slot_on_nodes_that_are_gone_is_none(pool):
    """The machine has become smaller."""
    cluster = OpenCluster(replace(meeting("easy", pool), nodes=4))
    cluster.submit(ClusterJob("1", 4, 10, 0, True, kept={"slot": 50, "slot_block": 2}))
    assert slot_of(cluster, "1") == (50 if pool == "flat" else None)


def test_a_domain_that_does_not_meet_keeps_no_slot():
    cluster = OpenCluster(machine("fcfs", "easy", "flat"))
    cluster.submit(ClusterJob("1", 4, 10, 0, True, kept={"been_ready": True, "guard": 9, "slot": 50}))
    assert cluster.job("1") == ClusterJob("1", 4, 10, 0, True)


def test_a_job_that_is_only_booked_counts_when_it_starts():
    cluster = some_wanted("1")
    assert cluster.try_ready("3", 50) is not NOT_NOW
    assert cluster.pushed("3") == 10
    assert cluster.starts.by_owner(50) == {}
    cluster.give_back("3", 50)
    assert cluster.pushed("3") is None
    assert cluster.try_ready("3", 50) is not NOT_NOW
    cluster.start("3", 50)
    assert cluster.starts.by_owner(50) == {"ann": (1, 1, 10)}


def test_a_job_that_is_booked_uses_up_its_owners_share():
    cluster = some_wanted("0.5")
    assert cluster.try_ready("3", 50) is not NOT_NOW
    assert cluster.try_ready("4", 50) is NOT_NOW
    assert cluster.try_ready("6", 50) is not NOT_NOW
    cluster.give_back("3", 50)
    assert cluster.try_ready("4", 50) is not NOT_NOW


def test_a_job_that_is_booked_keeps_its_slot_until_it_starts():
    cluster = some_wanted("1")
    assert cluster.meeting.book(Book("3", 200, 1), 50).allocation is not None
    kept = cluster.job("3")
    cluster.leave("1", 60, JobState.COMPLETED)
    assert cluster.try_ready("3", 60) is not NOT_NOW
    cluster.give_back("3", 60)
    assert cluster.job("3") == replace(kept, expected=cluster.job("3").expected)
    assert cluster.try_ready("3", 60) is not NOT_NOW
    cluster.start("3", 60)
    assert slot_of(cluster, "3") is None
