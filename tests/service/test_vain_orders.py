"""A peer may repeat what changes nothing as often as it likes: that fills neither the audit nor the story."""

from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from google.protobuf.duration_pb2 import Duration

from cosched.core.protocol import (
    GetMateJobId,
    GetProposal,
    ProposeGroupStart,
    SettleGroupStart,
    StartJob,
    TryStartMate,
    named_mate,
)
from cosched.core.settings import CoschedulingSettings
from cosched.service.api.coscheduling_api import CoschedulingApi
from cosched.service.domain.peer_news import MOST
from cosched.service.manager.queues import Queue
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.wire.call_on_wire import CallOnWire
from cosched.service.wire.callers import PLAINTEXT, Caller
from cosched.service.wire.group_messages import GET_PROPOSAL, PROPOSE_GROUP_START, SETTLE_GROUP_START
from cosched.service.wire.pair_messages import START_JOB, TRY_START_MATE
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.job_records import queued
from tests.service.world import Node, domain_a

PEER = Caller(None, None, operator=False, via=PLAINTEXT)
ORDERS: list[tuple[CallOnWire[Any, Any, Any, Any], Any]] = [
    (TRY_START_MATE, TryStartMate("b/9/{}", "1", "9", 0)),
    (START_JOB, StartJob("b/9/{}", "1", "9", 1)),
    (PROPOSE_GROUP_START, ProposeGroupStart("b/9/{}", "1", "9", 0, 60)),
    (SETTLE_GROUP_START, SettleGroupStart("b/9/{}", "1", "9", start=False)),
    (GET_PROPOSAL, GetProposal("b/9/{}", "1", "9")),
]


class Called:
    """Domain a as its peer b calls it; a's job 1 of pair p waits for b's job 7."""

    def __init__(self, node: Node) -> None:
        self.node = node
        queue, agreed = Queue(None), AgreedStart(None, lambda _: None, 0.5)
        self.api = CoschedulingApi(node.domain, frozenset("b"), lambda _: PEER, agreed, queue, AsyncMock(), pytest.fail)
        node.run_times["1"] = 10**6
        node._submit(queued(1, 10, 10**6, node.world.now, named=named_mate("b", "p")))
        node.ask(GetMateJobId("7", "p", None, "u"))

    async def order(self, call: CallOnWire[Any, Any, Any, Any], request: Any, number: int) -> None:
        if "request_id" in request._fields:
            request = request._replace(request_id=request.request_id.format(number))
        await self.api.ask(call.write_request(request, "b", "a"), None, call)

    def tell(self, presence: int, expected: int) -> None:
        told = wire.TellPresenceRequest(domain="b", presence=presence, expected=Duration(seconds=expected))
        self.api._hear("b", told)

    def audit(self) -> list[tuple[str, str, int]]:
        self.node.domain.refused_changes.close()
        return [(row.method, row.outcome, row.times) for row in self.node.store.audit(100)]

    def told(self) -> list[str]:
        return [event.what for event in self.node.store.events(0, (), (), -1) if event.job is None]


@pytest.fixture
def called(tmp_path: Path) -> Called:
    return Called(domain_a(tmp_path, CoschedulingSettings(peer_grace=120)))


@pytest.mark.parametrize(("call", "request_"), ORDERS, ids=lambda one: getattr(one, "name", ""))
async def test_orders_about_a_job_that_is_not_the_caller_s_mate_are_summed_in_the_audit(called, call, request_) -> None:
    before = called.node.store.commits
    for number in range(50):
        await called.order(call, request_, number)
    assert called.node.store.commits == before + 1
    assert called.audit() == [(call.name, "NO_MATE", 50)]


async def test_orders_about_mates_are_in_the_audit_one_by_one(called: Called) -> None:
    for number in range(3):
        await called.order(TRY_START_MATE, TryStartMate("b/7/{}", "1", "7", 0), number)
    assert called.audit() == [("TryStartMate", "OK", 1)] * 3


DRAINING, SERVING, LEAVING = wire.PRESENCE_DRAINING, wire.PRESENCE_SERVING, wire.PRESENCE_LEAVING


@pytest.mark.parametrize(("presence", "told"), [(SERVING, 1), (DRAINING, 2), (LEAVING, 1)])
def test_presence_that_is_told_again_without_a_change_is_no_event(called: Called, presence: int, told: int) -> None:
    """The first word of a peer tells that it is there, too; each means an end that is later by the time passed."""
    for _ in range(50):
        called.tell(presence, 600)
        called.node.world.now += 1
    assert len(called.told()) == told


def test_another_end_of_a_drain_is_told(called: Called) -> None:
    for expected in (600, 600, 7200):
        called.tell(DRAINING, expected)
    assert len(called.told()) == 3


def test_presence_that_changes_all_the_time_is_told_a_few_times_a_minute(called: Called) -> None:
    for second in range(120):
        called.tell(DRAINING if second % 2 else SERVING, 60 * second)
        called.node.world.now += 1
    assert MOST < len(called.told()) <= 3 * MOST
    assert called.node.domain.core.peers.is_draining("b", called.node.world.now)
