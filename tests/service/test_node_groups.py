"""The nodes of a domain whose manager schedules: what that tells of them, beside what our own jobs have."""

from types import SimpleNamespace
from unittest.mock import AsyncMock

import pytest

from cosched.service.api.views import Views
from cosched.service.manager.queues import BatchQueue
from cosched.service.peers.linking import Coupled
from cosched.service.wire.errors import Refusal
from cosched.v1.cluster_pb2 import NodeState
from cosched_adapters.manager import UnavailableError
from tests.service.offered_site import Site

STATES = {"n1": "busy", "n2": "idle", "n3": "down", "n4": "held", "n5": "busy", "n6": "idle"}


@pytest.fixture
def told(site: Site):
    async def groups(states: AsyncMock, times: int = 1) -> list[tuple[str, int, str]]:
        queue = BatchQueue(site.domain, SimpleNamespace(node_states=states), Coupled(["b"]))
        for _ in range(times):
            found = await Views(site.domain, site.clock).node_groups(queue)
        return [(NodeState.Name(group.state)[11:], group.count, ",".join(group.names)) for group in found]

    return groups


async def test_free_nodes_and_those_that_are_down_are_told_by_name(site: Site, told) -> None:
    """Our job 1 has two nodes; of another job, which we do not know, is the third one that is taken."""
    site.submit(1)
    site.hold(1)
    states = AsyncMock(return_value=STATES)
    assert await told(states, times=3) == [("HELD", 2, ""), ("IDLE", 2, "n2,n6"), ("DOWN", 1, "n3"), ("BUSY", 1, "")]
    assert states.await_count == 1  # for a moment


async def test_without_an_answer_nothing_is_said(told) -> None:
    with pytest.raises(Refusal) as refused:
        await told(AsyncMock(side_effect=UnavailableError("sinfo: no answer from Slurm within 5 s")))
    assert refused.value.reason == "MANAGER_UNREACHABLE"


async def test_who_knows_no_states_counts_what_our_jobs_leave(told) -> None:
    assert await told(AsyncMock(return_value={})) == [("IDLE", 10, "")]
