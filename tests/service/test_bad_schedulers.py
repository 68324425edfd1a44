"""A scheduler that fails is named, with the call and the job; and a job with which it fails can be put aside."""

import itertools
import json
import sys
import threading

import pytest

from cosched.core.domain import PolicyDomain
from cosched.core.job import JobState
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.schedulers.faults import blamed, hanging
from cosched.schedulers.loading import kinds
from cosched.service import ending
from cosched.service.planning.reasons import Reasons
from tests.live.bad_scheduler import BAD, Bad
from tests.service.world import Node, domain_a

WHO = "the scheduler bad (tests.live.bad_scheduler)"
BOOM = "RuntimeError: boom (bad_scheduler.py, misbehave)"
ASIDE = "mend that package, or put the job aside by cosched serve --without-job 1"


class BadNode(Node):
    """Job 1 says where its scheduler fails, and how."""

    kind, said = BAD, {}

    def _scheduler(self):
        return Bad(10)

    def columns(self, record):
        return json.dumps(self.said) if record.id == 1 else None


@pytest.fixture
def node(tmp_path):
    return domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.HOLD), kind=BadNode)


def fault_in(act):
    with pytest.raises(AssertionError, match="broken") as broken:
        act()
    return blamed(broken.value.__cause__, BAD)


@pytest.mark.parametrize(
    ("call", "how", "said"),
    [
        *((call, "boom", f"has failed in {call}, at job 1: {BOOM}") for call in ("submit", "next", "start", "leave")),
        ("next", "no slot", "has answered MayBeEarlier(job='1') to next, at job 1"),
        ("start", "nonsense", "has answered 'nonsense' to start, at job 1"),
    ],
)
def test_the_call_and_the_job_are_named(node, call, how, said):
    node.said = {"trip": call, "how": how}
    fault = fault_in(lambda: node.submit(1, 4, 10, None) or node.world.run(2000))
    assert fault.line == f"{WHO} {said}: {ASIDE}"


@pytest.mark.parametrize(
    ("how", "said"), [("nonsense", "'nonsense'"), ("stranger", "Ready(job='999', allocation=Allocation(nodes=1")]
)
def test_an_answer_about_no_job_is_named(node, how, said):
    node.said = {"trip": "next", "how": how}
    fault = fault_in(lambda: node.submit(1, 4, 10, None))
    assert fault.line.startswith(f"{WHO} has answered {said}")
    assert fault.line.endswith(" to next: mend that package")


def test_what_others_do_wrong_is_no_fault_of_the_scheduler():
    with pytest.raises(ValueError, match="Expecting") as raised:
        json.loads("{")
    assert blamed(raised.value, BAD) is None
    assert hanging(sys._getframe(), BAD, 5) is None


def test_a_scheduler_that_tells_jobs_without_end_is_named(node, monkeypatch):
    seen = []
    monkeypatch.setattr(PolicyDomain, "_given", lambda *_: seen.append(hanging(sys._getframe(), BAD, 5)))
    node.domain.policy.schedule(1000)
    assert seen[0].line.startswith(f"{WHO} has not returned for 5 s from next, which tells jobs without end: mend")


def test_a_scheduler_that_waits_for_a_processor_of_a_busy_host_does_not_hang(monkeypatch):
    monkeypatch.setattr(ending, "LOOK", 0.001)
    monkeypatch.setattr(ending, "LOOKS", 0.005)
    answered, looks = threading.Event(), itertools.count()

    def waits(_thread):
        if next(looks) == 100:
            answered.set()
        return 0.0

    assert not ending.answers(threading.Event(), threading.get_native_id())  # it sleeps, in this thread
    monkeypatch.setattr(ending, "own_seconds", waits)
    assert ending.answers(answered, 0)


def test_the_package_of_a_scheduler_is_named():
    kind = kinds()["batch"]
    with pytest.raises(AttributeError) as raised:
        kind.own_texts(None)
    assert "cosched.schedulers.batch:BATCH of coscheduling " in blamed(raised.value, kind).short


def begin_again(node, aside=()):
    node.aside = aside
    node.restart()


def test_a_job_with_which_it_fails_is_put_aside_and_the_others_run(node):
    node.said = {"trip": "next"}
    fault_in(lambda: node.submit(1, 4, 10, None))
    assert fault_in(lambda: begin_again(node)).job == "1"
    for aside in (("1",), ()):
        begin_again(node, aside)
        [job] = node.domain.jobs.values()
        assert (job.state, job.user_hold, "1" in node.domain.scheduler) == (JobState.QUEUED, True, False)
        assert node.domain.aside == {"1"}
    assert "an operator has put it aside" in Reasons(node.domain).of(job, None).text
    rows = node.store._connection.execute
    assert list(rows("SELECT job FROM events WHERE what = 'is put aside'")) == [(1,)]
    assert list(rows("SELECT method, job, detail FROM audit")) == [("PutAside", "1", "--without-job")]
    node.submit(2, 4, 10, None)
    node.world.run(node.world.now + 100)
    assert node.store.job(2).state is JobState.COMPLETED


def test_what_is_released_is_told_to_the_scheduler_again(node):
    node.said = {"trip": "next"}
    fault_in(lambda: node.submit(1, 4, 10, None))
    begin_again(node, ("1",))
    node.said = {}
    record = node.domain.jobs["1"]
    with node.domain.turns.take():
        record.columns, record.user_hold = None, False
        node.domain.put_back("1")
        node.domain.enqueue(record)
        node.domain.journal.save(record)
    begin_again(node)
    assert node.domain.aside == set()
    assert node.domain.jobs["1"].state is JobState.RUNNING


def test_a_job_that_runs_is_ended_and_the_scheduler_hears_nothing_of_it(node):
    node.said = {"trip": "leave"}
    node.submit(1, 4, 10, None)
    assert node.domain.jobs["1"].state is JobState.RUNNING
    begin_again(node, ("1",))
    assert node.domain.jobs["1"].cancelled_by == "cosched serve --without-job"
    assert node.domain.scheduler.free == 10
    node.world.run(2000)
    assert node.store.job(1).state is JobState.CANCELLED


def test_a_job_that_holds_loses_its_nodes(node):
    node.said = {"trip": "leave"}
    node.submit(1, 4, 10, "p")
    node.world.run(1010)
    assert node.domain.jobs["1"].state is JobState.HOLDING
    begin_again(node, ("1",))
    assert node.domain.jobs["1"].state is JobState.QUEUED
    assert (node.domain.core.ledger.held_nodes, node.domain.scheduler.free) == (0, 10)
    node.domain.end("1", JobState.CANCELLED)
    assert "1" not in node.domain.jobs


def test_a_job_that_is_not_there_cannot_be_put_aside(node):
    with pytest.raises(Exception, match="--without-job 7: no such job waits or runs here: leave it out"):
        begin_again(node, ("7",))
