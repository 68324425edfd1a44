"""The clients that call other domains."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from cosched.core.protocol import Domain, Failure, Found, MateJobId, MateProblem, MemberTold, Reply, Request, TellMember
from cosched.service.configuration_sections import Peer
from cosched.service.peers.clock_offset import Offset
from cosched.service.peers.outcomes import CallError
from cosched.service.peers.peer import PeerClient
from cosched.service.peers.peer_view import PeerView
from cosched.service.wire.tls import PeerCredentials
from cosched.v1.coscheduling_pb2 import GetMateStatusRequest, GetMateStatusResponse, TellPresenceRequest
from cosched.v1.explain_pb2 import ExplainMatesRequest, ExplainMatesResponse
from cosched.v1.page_pb2 import DescribeJobsRequest, DescribeJobsResponse
from cosched.v1.rendezvous_pb2 import GetPlaceRequest, GetPlaceResponse
from cosched.words.wrong_mates import ANY_OF

__all__ = ["CallError", "PeerClients"]


class PeerClients:
    """All peers of this domain. Belongs to one asyncio loop."""

    def __init__(
        self,
        here: Domain,
        peers: Sequence[Peer],
        timeout: float,
        credentials: PeerCredentials | None,
        told: Callable[[PeerView], None],
        health: Callable[[Domain, bool], None] = lambda *_: None,
    ) -> None:
        """`timeout`: seconds for each call; `told` is called when a peer's state changes; no credentials: plaintext.

        `health` is called at each `beat` with whether the peer is well; not if the peer answers that it is not.
        """
        self._peers = {peer.name: PeerClient(here, peer, timeout, credentials, told, health) for peer in peers}

    async def call(self, peer: Domain, request: Request) -> Reply:
        """Make a request of a peer; CallError. The call is cancelled, without an outcome, if `close` comes first."""
        if ANY_OF in peer:  # its mate's domain is not named: nobody can be asked
            return MateJobId(Found.NO_PAIR, None, MateProblem.NO_DOMAIN)
        return await self._client(peer).call(request)

    async def tell_members(self, peer: Domain, news: Sequence[TellMember]) -> Sequence[MemberTold]:
        """Tell a peer that jobs of ours have changed; return its answers, in order. CallError."""
        return await self._client(peer).tell_members(news)

    async def place(self, peer: Domain, question: GetPlaceRequest) -> GetPlaceResponse:
        """Ask a peer where its job can be reached; CallError."""
        return await self._client(peer).ask(question, GetPlaceResponse, "does not tell where jobs are")

    async def describe(self, peer: Domain, question: DescribeJobsRequest) -> DescribeJobsResponse:
        """Ask a peer what our page may show of its jobs; CallError."""
        return await self._client(peer).ask(question, DescribeJobsResponse, "describes no jobs")

    async def explain(self, peer: Domain, question: ExplainMatesRequest) -> ExplainMatesResponse:
        """Ask a peer when its jobs start that are mates of ours; CallError."""
        return await self._client(peer).ask(question, ExplainMatesResponse, "does not tell when jobs start")

    async def status(self, peer: Domain, question: GetMateStatusRequest) -> GetMateStatusResponse:
        """Ask a peer when its job began that is a mate of ours; CallError."""
        return await self._client(peer).ask(question, GetMateStatusResponse, "does not tell states")

    async def compare_clocks(self, peer: Domain) -> Offset | None:
        """Return how far this peer's wall clock is ahead of ours; it is asked if that is unknown. None: no answer."""
        if self.clock_offset(peer) is None:
            with suppress(CallError):
                await self._client(peer).compare_clocks()
        return self.clock_offset(peer)

    def _client(self, peer: Domain) -> PeerClient:
        if peer not in self._peers:
            raise CallError(Failure.REFUSED, f"no peer {peer} is configured here")
        return self._peers[peer]

    async def beat(self, peers: Collection[Domain] | None = None) -> None:
        """Ask these peers (None: all) for their health and their time, all at once; the views show the results."""
        asked = self._peers.keys() if peers is None else self._peers.keys() & set(peers)
        await asyncio.gather(*(self._peers[name].beat() for name in asked))

    async def tell(self, presence: TellPresenceRequest, peers: Collection[Domain], timeout: float) -> None:
        """Tell these peers, all at once, whether this domain is up. A lost message does no harm."""
        await asyncio.gather(*(self._peers[name].tell(presence, timeout) for name in peers))

    def view(self, peer: Domain) -> PeerView:
        """Return what is known of this peer; KeyError."""
        return self._peers[peer].view()

    def clock_offset(self, peer: Domain) -> Offset | None:
        """Return how far this peer's wall clock is ahead of ours; None if it is unknown."""
        return self._peers[peer].clocks.now if peer in self._peers else None

    def waits_for_starts(self, peer: Domain) -> bool:
        """Return whether this peer starts jobs at agreed instants that lie ahead, as it said last."""
        return peer in self._peers and self._peers[peer].waits_for_starts

    async def without_groups(self, peers: Collection[Domain]) -> list[Domain]:
        """Return those of the peers that take no members of groups. They are asked, unless they have said that they do.

        One that does not answer, or is not configured here, is not among them.
        """
        known = {name: self._peers[name] for name in peers if name in self._peers}
        await asyncio.gather(*(peer.compare_clocks() for peer in known.values() if not peer.takes_groups))
        return [name for name, peer in known.items() if peer.takes_groups is False]

    def views(self) -> list[PeerView]:
        """Return what is known of each peer, in the order of the configuration."""
        return [peer.view() for peer in self._peers.values()]

    async def close(self) -> None:
        """Close the connections and cancel open calls; no call may follow."""
        for peer in self._peers.values():
            await peer.close()
