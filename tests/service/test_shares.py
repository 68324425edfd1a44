"""Starts before their turn, counted by owner, bounded by `mate_budget_share`, and kept over a restart."""

import itertools
from decimal import Decimal
from pathlib import Path

import pytest

from cosched.core.effects import Call
from cosched.core.job import JobState
from cosched.core.protocol import GetMateJobId, MateTried, TryStartMate, named_mate
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.validation.schemes import SHARE
from tests.service.job_records import queued
from tests.service.outside import Outside
from tests.service.replies import QUEUING, mate_is
from tests.service.world import METRICS, Node, domain_a

CALLS = itertools.count(1)
MEETS = CoschedulingSettings(scheme=Scheme.YIELD, slots=True)


class SharingNode(Node):
    """An owner may start half of the jobs before their turn."""

    share = Decimal("0.5")


@pytest.fixture
def node(tmp_path: Path):
    """A domain of 10 nodes: bob's job 1 runs until 1105 on 6 of them, and his job 2 needs all."""
    node = domain_a(tmp_path, MEETS, kind=SharingNode)
    submit(node, 1, "bob", 6, 100)
    submit(node, 2, "bob", 10, 100)
    node.world.now += 50
    return node


def submit(node: Node, job: int, owner: str, nodes: int, run: int, pair: str | None = None) -> None:
    named = named_mate("b", pair) if pair else None
    node.run_times[str(job)] = run
    node._submit(queued(job, nodes, run + 5, node.world.now, owner=owner, named=named))


def is_started_for_its_mate(node: Node, job: int) -> bool:
    """Whether b's job of the same number, which is ready, has this one started; both are ann's."""
    node.ask(GetMateJobId(str(job), f"p{job}", None, "ann"))
    return node.ask(TryStartMate(f"b/{job}/{next(CALLS)}", str(job), str(job), 0)).started


def test_an_owner_whose_share_is_used_up_starts_nobody_else_before_the_turn_also_after_a_restart(node: Node) -> None:
    before, pushed = METRICS.starts_before_turn._value.get(), METRICS.pushed_seconds._value.get()
    for job, run in ((3, 65), (4, 80)):
        submit(node, job, "ann", 1, run, f"p{job}")
    assert is_started_for_its_mate(node, 3)
    assert (METRICS.starts_before_turn._value.get(), METRICS.pushed_seconds._value.get()) == (before + 1, pushed + 15)
    assert node.store.job(3).scheduled["pushed"] == 15
    assert node.store.starts() == [("ann", 0, (1, 1, 15)), ("bob", 0, (1, 0, 0))]

    node.restart()
    assert node.domain.scheduler.pushed("3") == 15
    assert not is_started_for_its_mate(node, 4)
    submit(node, 5, "ann", 1, 20)  # it is backfilled
    node.restart()
    assert node.domain.state("5") is JobState.RUNNING
    assert is_started_for_its_mate(node, 4)
    assert node.store.starts() == [("ann", 0, (3, 2, 30)), ("bob", 0, (1, 0, 0))]


def test_what_is_a_week_old_is_forgotten_on_disk_too(node: Node) -> None:
    assert node.store.starts() == [("bob", 0, (1, 0, 0))]
    node.world.now += 7 * 24 * 3600
    node.domain.end("1", JobState.COMPLETED)
    assert node.store.starts() == [("bob", 168, (1, 0, 0))]
    node.restart()
    assert node.domain.scheduler.starts.by_owner(node.world.now) == {"bob": (1, 0, 0)}


def test_by_default_nobody_s_jobs_overtake_a_whole_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ann's job 1 is in front, its mate refuses; 12 jobs of bob wait, behind them 48 of hers are wanted: all large."""

    def answer(outside: Outside, call: Call) -> None:
        answers = {GetMateJobId: mate_is(call.job), TryStartMate: MateTried(call.job != "1")}
        told = answers.get(type(call.request), QUEUING)
        outside.later(outside.world.now, lambda: outside.node.domain.calls.answered(call, told))

    monkeypatch.setattr(Outside, "call", answer)
    monkeypatch.setattr(Node, "share", SHARE)
    node = domain_a(tmp_path, MEETS)
    submit(node, 0, "bob", 10, 10)
    submit(node, 1, "ann", 10, 10, "p1")
    for job in range(2, 14):
        submit(node, job, "bob", 10, 10)
    for job in range(14, 62):
        submit(node, job, "ann", 10, 10, f"p{job}")
        assert not is_started_for_its_mate(node, job)
    while "13" not in node.started_at and node.world.now < 10**5:
        node.world.run(node.world.now + 1)
    assert sum(int(job) > 13 for job in node.started_at) == 0
