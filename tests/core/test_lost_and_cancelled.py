"""Jobs that lose their nodes or are cancelled, in each state."""

import pytest

from cosched.core.effects import ClearTimer, Hold, Release, Timer
from cosched.core.events import Answered, NodesLost, PatienceOver, ReleaseDue
from cosched.core.job import JobState
from cosched.core.protocol import MateStatus, MateTried, Status

from .driver import NO, DomainA, decided, of, told

# Lost nodes


def test_a_holding_job_that_loses_its_nodes_is_queued_again_and_its_hold_stale(a):
    a.hold_or_yield()
    a.now = 30
    effects = a.feed(NodesLost("j"))
    assert ClearTimer("j", Timer.RELEASE) in effects
    assert told(effects) == ["lost its nodes"]
    assert of(effects, Release) == []  # the local scheduler has taken them
    assert (a.state(), a.core.ledger.held_nodes, a.job().held_node_seconds) == (JobState.QUEUED, 0, 120)
    assert decided(a.asked_start(generation=1)) == []
    assert a.asked_status() == MateStatus(Status.QUEUING, 1, None)


def test_a_ready_job_that_loses_its_nodes_is_queued_again_and_its_readiness_stale(a):
    a.run_job(Status.QUEUING)
    generation = a.asked_status().generation
    question = a.awaited()
    a.feed(NodesLost("j"))
    assert a.state() is JobState.QUEUED
    assert a.feed(Answered("j", question, MateTried(NO))) == []
    a.ready()
    assert decided(a.asked_start(generation)) == []


# Cancelling: "cancelled, failed, unknown | it will not run | j starts"


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.READY, JobState.HOLDING, JobState.RUNNING])
def test_a_job_can_be_cancelled_in_each_state(state):
    a = DomainA(mate_patience=500)
    a.submit()
    if state is JobState.READY:
        a.ready()
    elif state is JobState.HOLDING:
        a.hold_or_yield()
    elif state is JobState.RUNNING:
        a.run_job(Status.UNKNOWN)
    assert a.state() is state
    a.asked_id()
    effects = a.finish(JobState.CANCELLED)
    assert told(effects) == ["cancelled"]
    assert (ClearTimer("j", Timer.RELEASE) in effects) is (state is JobState.HOLDING)
    assert ClearTimer("j", Timer.PATIENCE) in effects
    assert decided(effects) == []
    assert (a.state(), a.core.ledger.held_nodes) == (JobState.CANCELLED, 0)
    status = a.asked_status()
    assert (status.status, status.started_at) == (Status.CANCELLED, 0 if state is JobState.RUNNING else None)


def test_timers_of_a_cancelled_job_are_ignored():
    a = DomainA(mate_patience=500)
    a.hold_or_yield()
    a.finish(JobState.CANCELLED)
    assert a.feed(ReleaseDue("j")) == a.feed(PatienceOver("j")) == []


def test_a_hold_begins_again_with_its_nodes_counted_once(a):
    for _ in range(3):
        assert decided(a.hold_or_yield(nodes=5)) == [Hold]
        assert a.core.ledger.held_nodes == 5
        a.feed(ReleaseDue("j"))
    assert a.core.ledger.held_nodes == 0
