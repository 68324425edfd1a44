"""Orders to end runs that were preempted, and what mates are told."""

from __future__ import annotations

import pytest

from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import GetMateStatus, Status
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.domain.changes import Preempt
from tests.conformance.schedulers.histories import HOLD, chosen
from tests.conformance.schedulers.worlds import ExpressNode, ExpressWorld
from tests.service.world import Faults, World


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
    node.domain.decisions.carry_out([])
    return node.domain.journal.changes.orders


@pytest.mark.parametrize("fault", ["order is lost", "end is lost", "it ends by itself"])
def test_an_order_is_repeated_after_a_restart(tmp_path, fault):
    """The domain dies before the run is told to end, or before it hears that it has ended."""
    made = ExpressWorld(tmp_path, 1, {"a": CoschedulingSettings(scheme=Scheme.OFF)}, Faults())
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
    a.store.close()
    a.begin()
    made.run()
    assert (a.starts["1"], a.stopped["1"]) == ((1, 0) if fault == "it ends by itself" else (2, 1))
    assert a.store.job(1).state is JobState.COMPLETED
    made.close()


def test_a_mate_that_asks_is_told_that_the_job_waits(tmp_path):
    """And its story says why. When it starts again, alone, it says so, too."""
    made = ExpressWorld(tmp_path, 1, chosen("ab", (HOLD, HOLD)), Faults())
    a = running(made, 1, "p", "ab")
    with a.domain.turns.take():
        preempted(a, "1")
        reply = a.domain.questions.ask(Asked("b", GetMateStatus("1", "1")))
    assert reply.status is Status.QUEUING
    made.run()
    told = [event.detail.get("why") for event in a.store.events(0, [1], [], 10**6)]
    assert "preempted by its scheduler" in told
    assert "its mate started before it: desynchronised" in told
    assert (a.starts["1"], made.nodes["b"].starts["1"]) == (2, 1)
    made.close()
