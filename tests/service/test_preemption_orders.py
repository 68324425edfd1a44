"""Orders to end runs that were preempted, or whose mates have ended or are queued again, and what mates are told."""

import pytest

from cosched.core.effects import Reschedule
from cosched.core.job import JobState
from cosched.core.protocol import EndedBy, GetMateStatus, Status, Terms, named_mate
from cosched.core.settings import CoschedulingSettings, OnMemberRequeued, Scheme
from cosched.service.domain.changes import Preempt
from tests.conformance.schedulers.histories import HOLD, chosen
from tests.conformance.schedulers.worlds import ExpressNode, ExpressWorld
from tests.service.job_records import queued
from tests.service.world import Faults, World, domain_a


@pytest.fixture(autouse=True)
def _calm(monkeypatch) -> None:
    """The scheduler preempts nothing of its own accord."""
    monkeypatch.setattr(ExpressNode, "express", 0)


def running(made: World, job: int, pair: str | None, names: str) -> ExpressNode:
    """Domain a; its job runs, and so does that of b, if there is one."""
    for name in names:
        made.nodes[name].submit(job, 4, 100, pair)
    made.run(1050)
    assert all(made.nodes[name].running for name in names)
    return made.nodes["a"]


def preempted(node: ExpressNode, job: str) -> list[object]:
    """What the domain orders when its scheduler takes a job's nodes, in the present turn."""
    scheduler = node.domain.scheduler
    scheduler._preempt(scheduler.jobs[job])
    node.domain.decisions.carry_out([Reschedule(job)])
    return node.domain.journal.changes.orders


@pytest.mark.parametrize("fault", ["order is lost", "end is lost", "it ends by itself"])
def test_an_order_is_repeated_after_a_restart(tmp_path, fault):
    """The domain dies before the run is told to end, or before it hears that it has ended."""
    made = domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.OFF), "a", ExpressNode).world
    a = running(made, 1, None, "a")
    with a.domain.turns.take():
        orders = preempted(a, "1")
        assert orders == [Preempt("1")]
        orders.clear()
    if fault == "end is lost":
        a.running.clear()
        a.stopped["1"] += 1
    a.end_for_good()
    if fault == "it ends by itself":
        made.run(1200)
    a.restart()
    made.run()
    assert (a.starts["1"], a.stopped["1"]) == ((1, 0) if fault == "it ends by itself" else (2, 1))
    assert a.store.job(1).state is JobState.COMPLETED


def test_a_mate_that_asks_is_told_that_the_job_waits(tmp_path):
    """And its story says why. When it starts again, alone, it says so, too."""
    made = ExpressWorld(tmp_path, 1, chosen("ab", (HOLD, HOLD)), Faults())
    a = running(made, 1, "p", "ab")
    with a.domain.turns.take():
        preempted(a, "1")
        reply = a.ask(GetMateStatus("1", "1"))
    assert reply.status is Status.QUEUING
    made.run()
    told = [event.detail.get("why") for event in a.store.events(0, [1], [], 10**6)]
    assert "preempted by its scheduler" in told
    assert "its mate started before it: desynchronised" in told
    assert (a.starts["1"], made.nodes["b"].starts["1"]) == (2, 1)


# A job follows its mate

ORDERED = ("a service stays", "a service dies once it has the order")


def dies(made: World, name: str, ordered) -> None:
    """Let a domain die, and start again, as soon as an order is on its record."""
    node = made.nodes[name]
    made.run_until(lambda: node.domain is not None and ordered(node.domain.jobs["1"]))
    node.restart()


@pytest.mark.parametrize("fault", ORDERED)
def test_a_job_that_follows_is_queued_again_with_its_mate_and_both_start_together(tmp_path, fault):
    settings = chosen("ab", (HOLD, HOLD), on_member_requeued=OnMemberRequeued.REQUEUE)
    made = ExpressWorld(tmp_path, 1, settings, Faults())
    a, b = running(made, 1, "p", "ab"), made.nodes["b"]
    with a.domain.turns.take():
        preempted(a, "1")
    if fault == ORDERED[1]:
        dies(made, "b", lambda record: record.preempted_at is not None)
    made.run()
    for node in (a, b):
        assert (node.starts["1"], node.stopped["1"], node.store.job(1).state) == (2, 1, JobState.COMPLETED)
        assert node.domain.scheduler.free == node.domain.scheduler.nodes
    of_a, of_b = (node.store.events(0, [1], [], -1) for node in (a, b))
    assert [event.at for event in of_a if event.what == "started"] == [e.at for e in of_b if e.what == "started"]
    told = [event.detail.get("why") for event in of_b if event.what == "is queued again"]
    assert told == ["its mate was queued again"]


@pytest.mark.parametrize("fault", ORDERED)
@pytest.mark.parametrize(
    ("terms", "mate", "ends"),
    [
        (Terms(ends_with=("a",)), JobState.COMPLETED, (JobState.COMPLETED, "ended with its mate")),
        (Terms(fail_together=True), JobState.FAILED, (JobState.FAILED, "its mate failed")),
        (Terms(), JobState.FAILED, (JobState.COMPLETED, "")),
    ],
)
def test_a_job_ends_with_its_mate_as_its_terms_say(tmp_path, fault, terms, mate, ends):
    made = World(tmp_path, 1, chosen("ab", (HOLD, HOLD)), Faults())
    a, b = made.nodes["a"], made.nodes["b"]
    a.submit(1, 4, 100, "p")
    b.run_times["1"] = 10**4
    b.expected.add("1")
    b._submit(queued(1, 4, 10**5, made.now, named=named_mate("a", "p")._replace(terms=terms), domain="b"))
    made.run(1050)
    assert a.running
    assert b.running
    a.running.clear()
    a.done.add("1")
    a.domain.end("1", mate)
    if fault == ORDERED[1] and ends[1]:
        dies(made, "b", lambda record: record.cancelled_by is not None)
    made.run()
    record = b.store.job(1)
    assert (record.state, record.end_text) == ends
    assert record.job.ended_by is (EndedBy.MATE if ends[1] else EndedBy.ITSELF)
    assert made.now < 1200 or not ends[1]
