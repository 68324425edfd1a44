"""Which peers take members of groups: they say so with their clocks, over real connections."""

import pytest

from cosched.core.protocol import GetMember, GetProposal, ProposeGroupStart, Settled, SettleGroupStart
from cosched.v1 import cluster_pb2 as states
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.on_wire import write_request
from tests.service.peer_world import HASTY, World, a_world, world
from tests.service.replies import BOOKED, NO, NO_GROUPS, SETTLED, STARTED, UNKNOWN, mate_is
from tests.service.test_peer_clocks import a_world_with, nothing, well_ahead

__all__ = ["world"]

UNKNOWN_THERE = {
    GetMember("17", "run7", ("eureka", "intrepid"), "ann"): NO_GROUPS,
    ProposeGroupStart("intrepid/17/1", "4", "17", 0, 60): NO,
    SettleGroupStart("intrepid/17/1", "4", "17", start=True): Settled(False),
    GetProposal("intrepid/17/1", "4", "17"): UNKNOWN,
}


async def test_a_peer_that_says_so_takes_members_of_groups_and_is_asked_once():
    async with a_world_with(well_ahead) as world:
        assert world.view().takes_groups is None
        assert await world.peers.without_groups(["eureka", "polaris"]) == []
        assert world.view().takes_groups is True
        await world.eureka.stop()
        assert await world.peers.without_groups(["eureka"]) == []


@pytest.mark.parametrize("clock", [nothing, None])
async def test_a_peer_that_does_not_say_so_takes_none_until_it_does(clock):
    async with a_world_with(clock) as world:
        assert await world.peers.without_groups(["eureka"]) == ["eureka"]
        if clock is not None:
            world.eureka.clock = well_ahead
            await world.eureka.restart()
            assert await world.peers.without_groups(["eureka"]) == []


async def test_of_a_peer_that_does_not_answer_nothing_is_known(world: World):
    await world.eureka.stop()
    with world.waiting(HASTY):
        assert await world.peers.without_groups(["eureka"]) == []
    assert world.view().takes_groups is None


async def test_a_peer_that_does_not_know_the_calls_for_groups_takes_none():
    async with a_world(direct=True) as world:
        for request, answer in UNKNOWN_THERE.items():
            assert await world.call(request) == answer
        assert (world.view().state, world.view().problem) == (states.PEER_STATE_REACHABLE, "")


async def test_groups_and_their_answers_go_over_a_connection():
    eureka = wire.JobRef(domain="eureka", job_id="4")
    answers = {
        wire.GetMemberRequest: wire.GetMemberResponse(lookup=wire.MATE_LOOKUP_FOUND, member=eureka),
        wire.ProposeGroupStartRequest: wire.ProposeGroupStartResponse(vote=wire.GROUP_VOTE_BOOKED),
        wire.SettleGroupStartRequest: wire.SettleGroupStartResponse(current=True),
        wire.GetProposalRequest: wire.GetProposalResponse(outcome=wire.PROPOSAL_OUTCOME_STARTED),
    }
    async with a_world(direct=True, others=answers) as world:
        said = [await world.call(request) for request in UNKNOWN_THERE]
        assert said == [mate_is("4"), BOOKED, SETTLED, STARTED]
        assert [write_request(request, "intrepid", "eureka") for request in UNKNOWN_THERE] == world.eureka.seen
