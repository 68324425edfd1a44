"""What slots may keep: those of an owner with a peer, which lies, are bounded in node-time; then the pair yields."""

from decimal import Decimal
from itertools import count
from pathlib import Path

import pytest

from cosched.core.effects import Call
from cosched.core.job import JobState
from cosched.core.protocol import (
    GetMateJobId,
    GetMateStatus,
    MateTried,
    ProposeGroupStart,
    SettleGroupStart,
    TryStartMate,
    named_mate,
)
from cosched.core.settings import CoschedulingSettings, Scheme
from tests.service.job_records import queued
from tests.service.outside import Outside
from tests.service.replies import BOOKED, NO, QUEUING, SETTLED, mate_is
from tests.service.world import Node, domain_a

SHARE = Decimal("0.01")
MEETS = CoschedulingSettings(scheme=Scheme.YIELD, slots=True, slot_share=SHARE)
RUN = 4


class Liar:
    """Domain b: it agrees on slots, keeps them, and starts nothing."""

    def __init__(self, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
        self.node, self.numbers = node, count(1)
        may_book = MateTried(False, None, may_book=True)
        self.answers = {GetMateStatus: QUEUING, TryStartMate: may_book, SettleGroupStart: SETTLED}
        monkeypatch.setattr(Outside, "call", lambda outside, call: self._called(outside, call))

    def _called(self, outside: Outside, call: Call) -> None:
        answer = self.answers.get(type(call.request))
        if isinstance(call.request, GetMateJobId):
            answer = mate_is(call.job)
        if isinstance(call.request, ProposeGroupStart):
            at = call.request.not_before
            answer = NO if at is None else BOOKED._replace(earliest=at)
        outside.later(self.node.world.now, lambda: self.node.domain.calls.answered(call, answer))

    def propose(self, ahead: int = 0, job: str = "1") -> str:
        """A slot, which is kept if it is booked: its name; empty: it is refused. A job that asks is waited for."""
        while self.node.domain.state(job) is JobState.READY:
            self.node.world.run(self.node.world.now + 1)
        name, at = f"b/{job}/{next(self.numbers)}", self.node.world.now + ahead
        told = self.node.ask(ProposeGroupStart(name, job, job, 0, 60, not_before=at, book=True))
        if told != BOOKED._replace(earliest=at):
            assert told == NO
            return ""
        self.node.ask(SettleGroupStart(name, job, job, start=False, keep=True))
        return name

    def each(self, seconds: int, act, until: int) -> None:
        for instant in range(self.node.world.now, until, seconds):
            self.node.world.at(instant, act)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Domain a of ten nodes."""
    return domain_a(tmp_path, MEETS)


@pytest.fixture
def liar(node: Node, monkeypatch: pytest.MonkeyPatch) -> Liar:
    return Liar(node, monkeypatch)


def submit(node: Node, job: int, nodes: int, *, pair: bool = False, owner: str = "u") -> None:
    node.run_times[str(job)] = RUN
    named = named_mate("b", f"p{job}") if pair else None
    node._submit(queued(job, nodes, RUN, node.world.now, owner=owner, named=named))
    if pair:
        node.ask(GetMateJobId(str(job), f"p{job}", None, owner))


def ran(node: Node, first: int, jobs: int, seconds: int) -> int:
    """How many of so many jobs of others, of the whole machine, run in this time."""
    for job in range(first, first + jobs):
        submit(node, job, 10)
    node.world.run(node.world.now + seconds)
    return sum(str(job) in node.started_at for job in range(first, first + jobs))


def test_slots_that_are_never_started_do_not_idle_the_machine(node: Node, liar: Liar):
    submit(node, 1, 10, pair=True)
    liar.each(1, liar.propose, node.world.now + 2000)
    assert ran(node, 10, 20, 130) == 20


def test_nor_do_slots_that_are_dropped_before_they_come(node: Node, liar: Liar):
    def ahead() -> None:
        name = liar.propose(20)
        if name:
            drop = SettleGroupStart(name, "1", "1", start=False)
            node.world.at(node.world.now + 18, lambda: node.ask(drop))

    submit(node, 1, 10, pair=True)
    liar.each(1, ahead, node.world.now + 2000)
    assert ran(node, 10, 20, 250) == 20


def test_what_was_kept_is_charged_and_kept_over_a_restart_and_is_made_up_for_by_time(node: Node, liar: Liar):
    liar.answers[TryStartMate] = MateTried(False)
    submit(node, 1, 10, pair=True)
    node.world.run(node.world.now + 65)
    assert liar.propose()
    node.world.run(node.world.now + 60)
    kept = node.store.cost(1)[3]
    assert 300 <= kept <= 320
    assert not liar.propose()
    node._die()
    node.world.run(node.world.now + 3)
    assert not liar.propose()
    again = node.domain.core.ledger.next_slot(node.domain.core.jobs["1"])
    assert node.world.now < again < node.world.now + 10 * kept / (SHARE * 10)
    node.world.run(again + 1)
    assert liar.propose()


def test_other_owners_have_slots_until_the_peer_has_used_up_its_own_share(node: Node, liar: Liar):
    liar.answers[TryStartMate] = MateTried(False)
    for job, owner in ((1, "u"), (2, "v"), (3, "w")):
        submit(node, job, 10, pair=True, owner=owner)
    node.world.run(node.world.now + 65)
    booked = []
    for job in "1231":
        booked.append(bool(liar.propose(job=job)))
        node.world.run(node.world.now + 60)
    assert booked == [True, True, False, False]


def test_a_pair_that_may_have_no_slot_yields_and_says_why(node: Node, liar: Liar):
    submit(node, 1, 10, pair=True)
    node.world.run(node.world.now + 100)
    assert not liar.propose()
    assert node.domain.jobs["1"].reason == "SlotShare"
    assert node.domain.jobs["1"].slot is None
