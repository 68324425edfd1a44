"""A peer that proposes again and again, and never starts, has nodes kept here for an ever smaller part of the time."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cosched.core.events import LeaseOver
from cosched.core.job import JobState
from cosched.core.protocol import GetMember, GetProposal, ProposeGroupStart, SettleGroupStart, Vote, named_group
from cosched.core.settings import CoschedulingSettings, Scheme
from tests.service.job_records import queued
from tests.service.replies import DROPPED, NO, QUEUING, mate_is
from tests.service.world import Node, domain_a

LEASE, NODES = 3, 10
SETTINGS = CoschedulingSettings(scheme=Scheme.YIELD, slot_share=Decimal("0.01"))


class Besieged:
    """Domain a, whose job 1 of group g has yielded; member 7 of b proposes as it likes. Nothing leaves a."""

    def __init__(self, node: Node, calls: list[Any]) -> None:
        self.node, self.calls, self.number = node, calls, 0
        node.run_times["1"] = 100
        node._submit(queued(1, NODES, 100, node.world.now, owner="ann", named=named_group("g", ("b",))))
        node.ask(GetMember("7", "g", ("a", "b"), "ann"))
        no = NO
        for answer in (mate_is("7"), QUEUING, no):
            node.domain.calls.answered(calls[-1], answer)
        assert node.domain.state("1") is JobState.QUEUED

    def propose(self) -> Vote:
        self.number += 1
        return self.node.ask(ProposeGroupStart(f"b/7/{self.number}", "1", "7", 0, LEASE)).vote

    def drop(self) -> None:
        self.node.ask(SettleGroupStart(f"b/7/{self.number}", "1", "7", start=False))

    def second(self) -> bool:
        """The next second: the lease may be over, and b says that it has dropped it. Whether nodes are kept."""
        self.node.world.now += 1
        promise = self.node.domain.core.jobs["1"].group.promise
        if promise is not None and promise.until <= self.node.world.now:
            self.node.domain.timer_due(LeaseOver("1"))
            assert isinstance(self.calls[-1].request, GetProposal)
            self.node.domain.calls.answered(self.calls[-1], DROPPED)
        return self.node.domain.state("1") is JobState.READY

    def kept(self, seconds: int) -> int:
        """For how many seconds nodes are kept, if b proposes whenever they are not."""
        kept = 0
        for _ in range(seconds):
            if self.node.domain.state("1") is JobState.QUEUED:
                self.propose()
            kept += self.second()
        return kept


@pytest.fixture
def settings() -> CoschedulingSettings:
    return SETTINGS


@pytest.fixture
def besieged(tmp_path: Path, calls: list[Any], settings: CoschedulingSettings) -> Besieged:
    return Besieged(domain_a(tmp_path, settings), calls)


def test_a_peer_that_proposes_in_vain_has_to_wait_ever_longer(besieged: Besieged) -> None:
    assert besieged.kept(12) >= 8, "a few may fail without any pause"
    assert besieged.kept(600) <= 30
    told = [event for event in besieged.node.store.events(0, [1], [], -1) if "until" in event.detail]
    assert told
    assert all(event.detail["peer"] == "b" for event in told)


def test_what_it_has_had_kept_is_charged_to_the_job_for_which_it_was(besieged: Besieged) -> None:
    kept = besieged.kept(60)
    charged = besieged.node.store._connection.execute("SELECT owner, pair, SUM(booked) FROM charges").fetchall()
    assert charged[0][:2] == ("ann", "g")
    assert charged[0][2] >= NODES * kept


def test_a_start_ends_the_pause(besieged: Besieged) -> None:
    besieged.kept(100)
    vain = besieged.node.domain.core.promises.vain
    besieged.node.world.now += 1000
    assert besieged.propose() is Vote.BOOKED
    assert vain._in_vain
    besieged.node.ask(SettleGroupStart(f"b/7/{besieged.number}", "1", "7", start=True))
    assert besieged.node.domain.state("1") is JobState.RUNNING
    assert not vain._in_vain
    assert not vain._until


def test_what_fails_at_once_counts_for_nothing(besieged: Besieged) -> None:
    for _ in range(50):
        assert besieged.propose() is Vote.BOOKED
        besieged.second()
        besieged.drop()
        besieged.second()


@pytest.mark.parametrize("settings", [replace(SETTINGS, slot_share=Decimal(1))])
def test_nothing_is_bounded_where_slot_share_bounds_nothing(besieged: Besieged) -> None:
    """As in simulations, and in replays of the paper's rules."""
    assert besieged.kept(120) >= 80
