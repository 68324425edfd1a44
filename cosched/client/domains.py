"""A domain, its nodes and its peers, as the domain describes them."""

from __future__ import annotations

from cosched.client.fields import (
    duration,
    if_given,
    instant,
    job_if_given,
    many,
    plain,
    reference,
    seconds,
    word,
    words,
)
from cosched.client.view import View
from cosched.v1 import cluster_pb2

NODE_STATES = words(cluster_pb2.NodeState, "NODE_STATE_")
PEER_STATES = words(cluster_pb2.PeerState, "PEER_STATE_")
SCHEMES = words(cluster_pb2.Scheme, "SCHEME_")


class Drain(View[cluster_pb2.Drain]):
    """A drain: the domain makes no holds and no pairs."""

    since = instant("When it began.")
    until = instant("The expected end, as told to the peers.")
    settled_by = instant("Until when jobs that held already may go on holding.")

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The jobs that still hold nodes for their mates, as DOMAIN:ID; empty: the domain is drained."""
        return tuple(map(reference, self._message.waits_for))


class Peer(View[cluster_pb2.Peer]):
    """Another domain, as a domain sees it."""

    name = plain(str, "Its name.")
    address = plain(str, "HOST:PORT.")
    state = word(PEER_STATES, "reachable, unreachable, refused or unknown.")
    since = instant("Since when it is in this state.")
    round_trip = duration("How long its last answer took.")

    clock_offset = seconds("How far its clock is ahead of the domain's; None: unknown.")
    clock_uncertainty = seconds("The error of the clock offset, in either direction; None: unknown.")
    problem = plain(str, "What is wrong; empty if nothing is.")
    takes_groups = if_given(bool, "Whether it takes members of groups; None: unknown.")
    stopped_at = instant("When it said that it stops, and would be back; None: it did not, or is back.")
    back_by = instant("By when it said that it would be back; None: soon.")


class Domain(View[cluster_pb2.Domain]):
    """A policy domain."""

    name = plain(str, "Its name.")
    version = plain(str, "The version of the software that serves it.")
    manager = plain(str, "Its resource manager.")
    scheme = word(SCHEMES, "hold, yield or off.")

    @property
    def mate_budget(self) -> str:
        """The share of its waiting time by which the first job may be delayed by jobs whose mates have asked."""
        return self._message.mate_budget or "0"

    @property
    def mate_budget_share(self) -> str:
        """The share of a user's jobs of a week that may start so before their turn."""
        return self._message.mate_budget_share or "1"

    slots = plain(bool, "Whether pairs agree on instants at which they start, and their jobs never hold.")
    named_nodes = if_given(bool, "Whether a job may say which nodes it must have; None: its batch system decides that.")
    maps_applications = plain(
        bool, "Whether it chooses the nodes of a job that names its application, when the job is selected or tried."
    )

    def scheme_in_words(self) -> str:
        """Return the scheme with what differs from its defaults: scheme hold, slots on."""
        if self.scheme == "off":
            return "no coscheduling"
        from cosched.validation.schemes import PRESET, SchemeChoice, in_words  # slow, and seldom wanted

        meeting = {"mate_budget": self.mate_budget, "slots": "on" if self.slots else "off"}
        meets = self.scheme == SchemeChoice.MEET.core and meeting == PRESET.texts
        share = self._message.mate_budget_share
        words = {**meeting, **({"mate_budget_share": share} if share else {})}
        return in_words(SchemeChoice.MEET if meets else self.scheme, words)

    release_interval = duration("How long a hold lasts before it is released; 0: for ever.")
    max_held_fraction = plain(str, "The share of its nodes that may be held at once, a decimal number from 0 to 1.")

    @property
    def nodes(self) -> dict[str, int]:
        """How many nodes it has, by state."""
        return {state: getattr(self._message.nodes, state) for state in NODE_STATES.values()}

    @property
    def jobs(self) -> dict[str, int]:
        """How many of its jobs have not ended, by state."""
        return {name: getattr(self._message.jobs, name) for name in ("queued", "ready", "holding", "running")}

    peers = many(Peer, "The other domains that it is coupled with.")

    @property
    def default_peer(self) -> str:
        """The peer that is meant where a pair is named without a domain; empty: there are several, or none."""
        return self._message.default_peer or (self.peers[0].name if len(self.peers) == 1 else "")

    drain = if_given(Drain, "The drain in force; None: the domain does not drain.")
    now = instant("The time on its clock when it answered.")
    serving_since = instant("When it began to serve.")


class Nodes(View[cluster_pb2.NodeGroup]):
    """Nodes of equal state and job."""

    state = word(NODE_STATES, "idle, busy, held, down or unknown.")
    count = plain(int, "How many nodes these are.")
    names = many(str, "Their names; empty where nodes have none.")
    job = job_if_given("The job that has them, as DOMAIN:ID.")
    reason = plain(str, "Why they are down.")
