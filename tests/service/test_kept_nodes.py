"""What a peer's calls can keep: nodes for no longer, and no more of them, than the domain's own settings say."""

from dataclasses import replace
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cosched.core.effects import Call
from cosched.core.events import CallFailed
from cosched.core.job import JobState
from cosched.core.protocol import (
    Failure,
    GetMateStatus,
    GetMember,
    GetProposal,
    ProposeGroupStart,
    SettleGroupStart,
    named_group,
)
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from cosched.service.api.views import Views
from tests.service.job_records import queued
from tests.service.outside import Outside
from tests.service.replies import BOOKED, BUSY, DROPPED, NO, QUEUING, SETTLED, mate_is
from tests.service.world import Node, domain_a

RELEASE, PATIENCE = 20, 30
SETTINGS = CoschedulingSettings(
    scheme=Scheme.YIELD,
    release_interval=RELEASE,
    release_jitter=Decimal(0),
    peer_patience=PATIENCE,
    on_peer_unreachable=OnUnreachable.YIELD,
)
FOR_EVER = 86_400_000  # seconds: the longest lease that the protocol has


class Liar:
    """Domain b: its jobs propose whatever they like, and it answers what keeps the nodes here for longest."""

    def __init__(self, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
        self.node = node
        self.numbers = count(1)
        self.answers = {GetMateStatus: QUEUING, ProposeGroupStart: NO, SettleGroupStart: SETTLED}
        monkeypatch.setattr(Outside, "call", lambda outside, call: self._called(outside, call))

    def _called(self, outside: Outside, call: Call) -> None:
        answer = mate_is(call.job) if isinstance(call.request, GetMember) else None
        answer = answer or self.answers.get(type(call.request))
        if answer is not None:
            outside.later(self.node.world.now, lambda: self.node.domain.calls.answered(call, answer))
        elif isinstance(call.request, GetProposal):
            failed = CallFailed(call.job, call.request, Failure.TIMEOUT, call.peer)
            outside.later(self.node.world.now + 1, lambda: self.node.domain.calls.failed(call, failed, "no answer"))

    def propose(self, job: str = "1", lease: int = FOR_EVER) -> Any:
        return self.node.ask(ProposeGroupStart(f"b/{job}/{next(self.numbers)}", job, job, 0, lease))

    def drop(self, job: str = "1") -> None:
        last = next(self.numbers) - 1
        self.node.ask(SettleGroupStart(f"b/{job}/{last}", job, job, start=False))

    def each_second(self, act, until: int) -> None:
        for instant in range(self.node.world.now, until):
            self.node.world.at(instant, act)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Domain a of ten nodes."""
    return domain_a(tmp_path, SETTINGS)


@pytest.fixture
def liar(node: Node, monkeypatch: pytest.MonkeyPatch) -> Liar:
    return Liar(node, monkeypatch)


def submit(node: Node, job: int, nodes: int, *, group: bool = False) -> None:
    node.run_times[str(job)] = 10**6
    named = named_group(f"g{job}", ("b",)) if group else None
    node._submit(queued(job, nodes, 1000, node.world.now, named=named))
    if group:
        assert node.ask(GetMember(str(job), f"g{job}", ("a", "b"), "u")).job == str(job)


def has_yielded(node: Node, nodes: int) -> None:
    """Job 1 waits in the queue for the others of its group."""
    submit(node, 1, nodes, group=True)
    node.world.run(node.world.now + 60)


def start_of_another(node: Node) -> int:
    """When a job of another user that needs the whole machine starts."""
    submit(node, 9, 10)
    began = node.world.now
    node.world.run(began + 1000)
    return node.started_at["9"] - began


def test_no_lease_is_longer_than_that_of_the_receiver(node: Node, liar: Liar):
    has_yielded(node, 10)
    assert liar.propose() == BOOKED
    assert start_of_another(node) <= RELEASE + PATIENCE + PATIENCE // 4 + 1


def test_a_word_of_the_proposer_ends_it_at_once(node: Node, liar: Liar):
    liar.answers[GetProposal] = DROPPED
    has_yielded(node, 10)
    assert liar.propose() == BOOKED
    assert start_of_another(node) <= RELEASE + 1


@pytest.mark.parametrize("drops", [False, True])
def test_proposals_that_follow_each_other_have_one_lease_together(node: Node, liar: Liar, drops: bool):
    def renew() -> None:
        if drops:
            liar.drop()
        liar.propose(lease=3)

    has_yielded(node, 10)
    liar.each_second(renew, node.world.now + 900)
    node.world.run(node.world.now + 1)
    assert start_of_another(node) <= RELEASE + 2


def test_a_job_that_is_ready_by_itself_yields_when_it_was_kept_for_so_long(node: Node, liar: Liar):
    del liar.answers[GetMateStatus]
    submit(node, 1, 10, group=True)
    assert node.domain.state("1") is JobState.READY
    liar.each_second(lambda: (liar.drop(), liar.propose(lease=3)), node.world.now + 900)
    liar.answers[GetMateStatus] = QUEUING
    assert start_of_another(node) <= RELEASE + 2


def test_what_is_kept_counts_under_the_cap_and_one_job_may_exceed_it(node: Node, liar: Liar):
    for job in (1, 2, 3, 4):
        submit(node, job, 2, group=True)
    submit(node, 5, 10, group=True)
    node.world.run(node.world.now + 60)
    assert [liar.propose(str(job)) for job in (1, 2, 3)] == [BOOKED, BOOKED, BUSY]
    assert node.domain.scheduler.free == 6
    for job in "12":
        node.ask(SettleGroupStart(f"b/{job}/{job}", job, job, start=False))
    assert liar.propose("4") == BOOKED
    assert node.domain.core.ledger.booked == {"4": 2}
    node.restart()
    assert node.domain.core.ledger.booked == {"4": 2}
    node.ask(SettleGroupStart("b/4/4", "4", "4", start=False))
    node.world.run(node.world.now + 3)
    assert liar.propose("5") == BOOKED


def test_what_is_kept_leaves_less_to_hold(node: Node, liar: Liar):
    has_yielded(node, 2)
    node.domain.core.ledger.configure(replace(SETTINGS, scheme=Scheme.HOLD))
    assert liar.propose() == BOOKED
    submit(node, 2, 4, group=True)
    submit(node, 3, 3, group=True)
    node.world.run(node.world.now + 2)
    assert [node.domain.state(job) for job in "23"] == [JobState.QUEUED, JobState.HOLDING]


def test_whose_nodes_are_kept_for_whom_is_shown(node: Node, liar: Liar):
    has_yielded(node, 3)
    liar.propose()
    views = Views(node.domain, node.domain.clock)
    assert (views.node_counts().held, views.node_counts().busy, views.node_counts().idle) == (3, 0, 7)
    shown = views.job(node.domain.jobs["1"])
    assert shown.reason == "kept for b:1"
    assert shown.holds.hold_until.seconds == node.domain.clock.to_wall(node.world.now + RELEASE)
