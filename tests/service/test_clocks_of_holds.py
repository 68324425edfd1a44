"""Until when a peer's job holds, as a domain reads it whose clock differs from the peer's."""

from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from cosched.core.protocol import named_mate
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.api.coscheduling_api import CoschedulingApi
from cosched.service.manager.queues import Queue
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.peers.clock_offset import Offset
from cosched.service.wire.callers import PLAINTEXT, Caller
from cosched.service.wire.pair_messages import GET_MATE_JOB_ID, TRY_START_MATE
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.job_records import queued
from tests.service.world import domain_a

PEER = Caller(None, None, operator=False, via=PLAINTEXT)


@pytest.mark.parametrize("ahead", [600, 0, -600, None])
async def test_a_domain_gives_way_for_as_long_as_the_peer_s_job_holds(tmp_path: Path, ahead: int | None) -> None:
    """It did so 600 s too long, or not at all. A peer whose clock is not known is believed."""
    node = domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.HOLD))
    world = node.world
    node.run_times |= {"1": 10, "2": 10}
    for job, nodes in ((1, 10), (2, 5)):  # the second waits for the nodes of the first
        named = named_mate("b", "p") if job == 2 else None
        node._submit(queued(job, nodes, 100, world.now, owner="ann", named=named))
    offset = {"b": Offset(ahead, 0.01) if ahead is not None else None}
    agreed, queue = AgreedStart(None, offset.get, 0.5), Queue(None)
    api = CoschedulingApi(node.domain, frozenset("b"), lambda _: PEER, agreed, queue, AsyncMock(), pytest.fail)
    caller = wire.JobRef(domain="b", job_id="7")
    await api.ask(wire.GetMateJobIdRequest(job=caller, pair="p", owner="ann"), None, GET_MATE_JOB_ID)
    ours = wire.JobRef(domain="a", job_id="2")
    request = wire.TryStartMateRequest(request_id="b/7/1", job=ours, caller=caller)
    request.hold_until.seconds = world.now + 100 + (ahead or 0)
    assert not (await api.ask(request, None, TRY_START_MATE)).started
    assert node.domain.scheduler.job("2").wanted_until == world.now + 100
