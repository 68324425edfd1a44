"""What a domain knows of its machines, and when they would start a job."""

from __future__ import annotations

from datetime import datetime

from cosched.client.domains import NODE_STATES
from cosched.client.view import UNKNOWN, View, instant, when
from cosched.v1 import machines_pb2


class Machine(View[machines_pb2.Machine]):
    """A machine."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Its full name."""
        return self._message.name

    @property
    def segment(self) -> str:
        """The network that it is in."""
        return self._message.segment

    @property
    def node(self) -> str | None:
        """What its domain calls it; None: the domain gives nodes by their number."""
        return self._message.node or None

    @property
    def state(self) -> str:
        """idle, busy, held, down or unknown."""
        return NODE_STATES.get(self._message.state, UNKNOWN)

    @property
    def speed(self) -> float | None:
        """MHz; None: not known."""
        return self._message.speed if self._message.HasField("speed") else None

    @property
    def cpu(self) -> float | None:
        """The share of a processor that a new process gets, 0 to 1, whatever jobs have the node; None: not known."""
        return self._message.cpu if self._message.HasField("cpu") else None

    @property
    def memory(self) -> float | None:
        """MB of 2^20 bytes that an application may use; None: not known."""
        return self._message.memory if self._message.HasField("memory") else None


class Link(View[machines_pb2.Link]):
    """One direction of a link between machines or segments."""

    __slots__ = ()

    @property
    def start(self) -> str:
        """Where it leads from."""
        return self._message.start

    @property
    def to(self) -> str:
        """Where it leads to."""
        return self._message.to

    @property
    def bandwidth(self) -> float | None:
        """Mb/s of 10^6 bits; None: not known."""
        return self._message.bandwidth if self._message.HasField("bandwidth") else None

    @property
    def latency(self) -> float | None:
        """Seconds; None: not known."""
        return self._message.latency if self._message.HasField("latency") else None


class Machines(View[machines_pb2.ListMachinesResponse]):
    """The machines of a domain."""

    __slots__ = ()

    @property
    def machines(self) -> tuple[Machine, ...]:
        """In the domain's order."""
        return tuple(map(Machine, self._message.machines))

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that are known, between them and to others."""
        return tuple(map(Link, self._message.links))

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the domain's sources of information."""
        return tuple(self._message.problems)

    @property
    def gathered_at(self) -> datetime:
        """When the sources were asked."""
        return instant(self._message.gathered_at)


class StartQuote(View[machines_pb2.QuoteStartResponse]):
    """When a job would start that were submitted now; nothing is promised."""

    __slots__ = ()

    @property
    def at(self) -> datetime | None:
        """When; None: that cannot be foreseen."""
        return when(self._message, "at")

    @property
    def wait(self) -> float | None:
        """How many seconds from now that is; 0: at once. None: that cannot be foreseen."""
        return None if self.at is None else (self.at - instant(self._message.now)).total_seconds()
