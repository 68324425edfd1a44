"""A domain, its nodes and its peers, as the domain describes them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from cosched.client.view import UNKNOWN, View, reference, span, when, words
from cosched.v1 import cluster_pb2
from cosched.validation.schemes import PRESET, SchemeChoice, in_words

NODE_STATES = words(cluster_pb2.NodeState, "NODE_STATE_")
PEER_STATES = words(cluster_pb2.PeerState, "PEER_STATE_")
SCHEMES = words(cluster_pb2.Scheme, "SCHEME_")


class Domain(View[cluster_pb2.Domain]):
    """A policy domain."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Its name."""
        return self._message.name

    @property
    def version(self) -> str:
        """The version of the software that serves it."""
        return self._message.version

    @property
    def manager(self) -> str:
        """Its resource manager."""
        return self._message.manager

    @property
    def scheme(self) -> str:
        """hold, yield or off."""
        return SCHEMES.get(self._message.scheme, UNKNOWN)

    @property
    def mate_budget(self) -> str:
        """The share of its waiting time by which the first job may be delayed by jobs whose mates have asked."""
        return self._message.mate_budget or "0"

    @property
    def mate_budget_share(self) -> str:
        """The share of a user's jobs of a week that may start so before their turn."""
        return self._message.mate_budget_share or "1"

    @property
    def slots(self) -> bool:
        """Whether pairs agree on instants at which they start, and their jobs never hold."""
        return self._message.slots

    @property
    def named_nodes(self) -> bool | None:
        """Whether a job may say which nodes it must have; None: its batch system decides that."""
        return self._message.named_nodes if self._message.HasField("named_nodes") else None

    @property
    def maps_applications(self) -> bool:
        """Whether it chooses the nodes of a job that names its application, when the job is selected or tried."""
        return self._message.maps_applications

    def scheme_in_words(self) -> str:
        """Return the scheme with what differs from its defaults: scheme hold, slots on."""
        if self.scheme == "off":
            return "no coscheduling"
        meeting = {"mate_budget": self.mate_budget, "slots": "on" if self.slots else "off"}
        meets = self.scheme == SchemeChoice.MEET.core and meeting == PRESET.texts
        share = self._message.mate_budget_share
        words = {**meeting, **({"mate_budget_share": share} if share else {})}
        return in_words(SchemeChoice.MEET if meets else self.scheme, words)

    @property
    def release_interval(self) -> timedelta | None:
        """How long a hold lasts before it is released; 0: for ever."""
        return span(self._message, "release_interval")

    @property
    def max_held_fraction(self) -> str:
        """The share of its nodes that may be held at once, a decimal number from 0 to 1."""
        return self._message.max_held_fraction

    @property
    def nodes(self) -> dict[str, int]:
        """How many nodes it has, by state."""
        return {state: getattr(self._message.nodes, state) for state in NODE_STATES.values()}

    @property
    def jobs(self) -> dict[str, int]:
        """How many of its jobs have not ended, by state."""
        return {name: getattr(self._message.jobs, name) for name in ("queued", "ready", "holding", "running")}

    @property
    def peers(self) -> tuple[Peer, ...]:
        """The other domains that it is coupled with."""
        return tuple(map(Peer, self._message.peers))

    @property
    def drain(self) -> Drain | None:
        """The drain in force; None: the domain does not drain."""
        return Drain(self._message.drain) if self._message.HasField("drain") else None

    @property
    def now(self) -> datetime | None:
        """The time on its clock when it answered."""
        return when(self._message, "now")

    @property
    def serving_since(self) -> datetime | None:
        """When it began to serve."""
        return when(self._message, "serving_since")


class Drain(View[cluster_pb2.Drain]):
    """A drain: the domain makes no holds and no pairs."""

    __slots__ = ()

    @property
    def since(self) -> datetime | None:
        """When it began."""
        return when(self._message, "since")

    @property
    def until(self) -> datetime | None:
        """The expected end, as told to the peers."""
        return when(self._message, "until")

    @property
    def settled_by(self) -> datetime | None:
        """Until when jobs that held already may go on holding."""
        return when(self._message, "settled_by")

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The jobs that still hold nodes for their mates, as DOMAIN:ID; empty: the domain is drained."""
        return tuple(map(reference, self._message.waits_for))


class Peer(View[cluster_pb2.Peer]):
    """Another domain, as a domain sees it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Its name."""
        return self._message.name

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return self._message.address

    @property
    def state(self) -> str:
        """reachable, unreachable, refused or unknown."""
        return PEER_STATES.get(self._message.state, UNKNOWN)

    @property
    def since(self) -> datetime | None:
        """Since when it is in this state."""
        return when(self._message, "since")

    @property
    def round_trip(self) -> timedelta | None:
        """How long its last answer took."""
        return span(self._message, "round_trip")

    @property
    def clock_offset(self) -> timedelta | None:
        """How far its clock is ahead of the domain's; None: unknown."""
        return _seconds(self._message, "clock_offset")

    @property
    def clock_uncertainty(self) -> timedelta | None:
        """The error of the clock offset, in either direction; None: unknown."""
        return _seconds(self._message, "clock_uncertainty")

    @property
    def problem(self) -> str:
        """What is wrong; empty if nothing is."""
        return self._message.problem

    @property
    def takes_groups(self) -> bool | None:
        """Whether it takes members of groups; None: unknown."""
        return self._message.takes_groups if self._message.HasField("takes_groups") else None


def _seconds(message: cluster_pb2.Peer, field: Literal["clock_offset", "clock_uncertainty"]) -> timedelta | None:
    return timedelta(seconds=getattr(message, field)) if message.HasField(field) else None


class Nodes(View[cluster_pb2.NodeGroup]):
    """Nodes of equal state and job."""

    __slots__ = ()

    @property
    def state(self) -> str:
        """idle, busy, held, down or unknown."""
        return NODE_STATES.get(self._message.state, UNKNOWN)

    @property
    def count(self) -> int:
        """How many nodes these are."""
        return self._message.count

    @property
    def names(self) -> tuple[str, ...]:
        """Their names; empty where nodes have none."""
        return tuple(self._message.names)

    @property
    def job(self) -> str | None:
        """The job that has them, as DOMAIN:ID."""
        return reference(self._message.job) if self._message.HasField("job") else None

    @property
    def reason(self) -> str:
        """Why they are down."""
        return self._message.reason
