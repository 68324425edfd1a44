"""What peers tell the page, and what is left of it while they are away."""

from types import SimpleNamespace
from typing import Any

import pytest

from cosched.client import Domain
from cosched.service.page.overview import _cards
from cosched.service.page.peers_told import PeersTold
from cosched.service.page.viewers import Viewer
from cosched.v1 import cluster_pb2, page_pb2
from tests.service.test_page_words import NODES, NOW


class Peers:
    """One peer, b, which answers while it is there."""

    state = cluster_pb2.PEER_STATE_REACHABLE

    def view(self, _: str) -> SimpleNamespace:
        return SimpleNamespace(state=self.state)

    async def describe(self, peer: str, _: page_pb2.DescribeJobsRequest) -> page_pb2.DescribeJobsResponse:
        return page_pb2.DescribeJobsResponse(domain=cluster_pb2.Domain(name=peer, nodes=NODES))


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"scheme": cluster_pb2.SCHEME_HOLD, "slots": True}, "hold, slots on"),
        ({"scheme": cluster_pb2.SCHEME_YIELD, "slots": True, "mate_budget": "0.5"}, "meet"),
        ({"scheme": cluster_pb2.SCHEME_OFF}, "no coscheduling"),
    ],
)
def test_a_card_says_the_scheme_as_cosched_domains_does(fields: dict[str, Any], shown: str) -> None:
    (card,) = _cards(Domain(cluster_pb2.Domain(name="a", **fields)), {}, NOW)
    assert [value for name, value, _ in card.facts if name == "Scheme"] == [shown]


async def test_a_peer_that_is_away_is_shown_as_it_was_with_its_age() -> None:
    peers, here = Peers(), cluster_pb2.Domain(name="a", peers=[cluster_pb2.Peer(name="b")])

    async def card(told: PeersTold):
        found = await told.about(Viewer("ann", False, "ann"), {"b": ()})
        return _cards(Domain(here), found, NOW)[1]

    told = PeersTold("a", peers, 1.0, "{} is silent".format)
    seen = await card(told)
    assert (seen.note, seen.nodes) == ("", "8 nodes: 4 idle, 4 busy; at most 8 held")
    peers.state = cluster_pb2.PEER_STATE_UNREACHABLE
    told._told.clear()
    away = await card(told)
    assert (away.note, away.nodes, away.shares) == ("as of 0 s ago", seen.nodes, seen.shares)
    assert not (await card(PeersTold("a", peers, 1.0, "{} is silent".format))).shares, "it has never told"
