"""What a domain knows of its machines, and when they would start a job."""

from __future__ import annotations

from cosched.client.domains import NODE_STATES
from cosched.client.fields import always, if_any, if_given, instant, instant_of, many, plain, word
from cosched.client.view import View
from cosched.v1 import machines_pb2


class Machine(View[machines_pb2.Machine]):
    """A machine."""

    name = plain(str, "Its full name.")
    segment = plain(str, "The network that it is in.")
    node = if_any(str, "What its domain calls it; None: the domain gives nodes by their number.")
    state = word(NODE_STATES, "idle, busy, held, down or unknown.")
    speed = if_given(float, "MHz; None: not known.")
    cpu = if_given(
        float, "The share of a processor that a new process gets, 0 to 1, whatever jobs have the node; None: not known."
    )
    memory = if_given(float, "MB of 2^20 bytes that an application may use; None: not known.")


class Link(View[machines_pb2.Link]):
    """One direction of a link between machines or segments."""

    start = plain(str, "Where it leads from.")
    to = plain(str, "Where it leads to.")
    bandwidth = if_given(float, "Mb/s of 10^6 bits; None: not known.")
    latency = if_given(float, "Seconds; None: not known.")


class Machines(View[machines_pb2.ListMachinesResponse]):
    """The machines of a domain."""

    machines = many(Machine, "In the domain's order.")
    links = many(Link, "The links that are known, between them and to others.")
    problems = many(str, "What is wrong with the domain's sources of information.")

    gathered_at = always("When the sources were asked.")


class StartQuote(View[machines_pb2.QuoteStartResponse]):
    """When a job would start that were submitted now; nothing is promised."""

    at = instant("When; None: that cannot be foreseen.")

    @property
    def wait(self) -> float | None:
        """How many seconds from now that is; 0: at once. None: that cannot be foreseen."""
        return None if self.at is None else (self.at - instant_of(self._message.now)).total_seconds()
