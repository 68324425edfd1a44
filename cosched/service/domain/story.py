"""What the core records, told for people: the kind of an event, one line of text, and a job's reason.

A job that waits for days yields again and again for the same reason; of those yields the story keeps the 1st, 2nd,
4th, 8th and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from cosched.core.effects import Record
from cosched.core.protocol import FOREVER
from cosched.v1 import domain_pb2 as wire
from cosched.wrong_mates import wrong_mate

HELD_BY_USER = "JobHeldUser"
CANCELLING = "Cancelling"
WAITS_IN_QUEUE = "Priority"
MATE_HOLDS = "MateHolding"
MATE_QUEUES = "MateQueuing"
MATE_UNKNOWN = "MateUnknown"

Detail = Mapping[str, Any]

KINDS: dict[str, int] = {
    "submitted": wire.EVENT_KIND_SUBMITTED,
    "is ready": wire.EVENT_KIND_READY,
    "holds": wire.EVENT_KIND_HELD,
    "yields": wire.EVENT_KIND_YIELDED,
    "is released": wire.EVENT_KIND_RELEASED,
    "started": wire.EVENT_KIND_STARTED,
    "completed": wire.EVENT_KIND_ENDED,
    "failed": wire.EVENT_KIND_ENDED,
    "cancelled": wire.EVENT_KIND_ENDED,
    "is linked": wire.EVENT_KIND_LINKED,
    "is unlinked": wire.EVENT_KIND_UNLINKED,
    "is to be cancelled": wire.EVENT_KIND_WARNING,
    "lost its nodes": wire.EVENT_KIND_WARNING,
    "is queued again": wire.EVENT_KIND_WARNING,
    "starts alone": wire.EVENT_KIND_WARNING,
    "holds on": wire.EVENT_KIND_HELD,
    "was refused: misconfigured peer": wire.EVENT_KIND_WARNING,
    "names a wrong mate": wire.EVENT_KIND_WARNING,
    "gets no answer": wire.EVENT_KIND_PEER,
    "asked for its mate": wire.EVENT_KIND_PEER,
    "peer is away": wire.EVENT_KIND_PEER,
    "peer is there": wire.EVENT_KIND_PEER,
    "peer drains": wire.EVENT_KIND_PEER,
    "drains": wire.EVENT_KIND_WARNING,
    "is resumed": wire.EVENT_KIND_WARNING,
}
NOT_TOLD = {"asks to start its mate", "asks to try its mate", "answers"}  # what comes of them is told

WHY = {
    MATE_QUEUES: "its mate waits in the queue",
    "MateUnsubmitted": "its mate is not submitted yet",
    "PeerUnreachable": "its mate's domain cannot be reached",
    "PeerAway": "its mate's domain is away and expected back",
    "PeerBusy": "its mate's domain is too busy to answer",
    "PeerDraining": "its mate's domain drains and makes no pairs",
    "Draining": "this domain drains and makes no pairs",
    "PeerRefused": "its mate's domain refuses this one: a misconfiguration",
}


def is_told(record: Record, last_why: str | None) -> bool:
    """Whether this is worth an event; `last_why` is why the job yielded last."""
    if record.what in NOT_TOLD:
        return False
    if record.what != "yields" or record.detail["why"] != last_why:
        return True
    yields = int(str(record.detail["yields"]))
    return yields & (yields - 1) == 0


def kind(what: str) -> int:
    """The EventKind of something that happened."""
    return KINDS.get(what, wire.EVENT_KIND_UNKNOWN)


def reason(record: Record) -> str | None:
    """The job's reason from now on, in one word; None: it stays."""
    if record.what == "yields":
        return "HeldCap" if record.detail.get("capped") else str(record.detail["why"])
    if record.what == "holds":
        return str(record.detail["why"])
    return "" if record.what in REASON_ENDS else WAITS_IN_QUEUE if record.what in QUEUED_AGAIN else None


def starts_together(record: Record) -> bool:
    """Whether a job of a pair that started did so with its mate."""
    why = str(record.detail["why"])
    return why.startswith("asked by ") or why in ("its holding mate started", "its mate could start")


REASON_ENDS = {"started", "completed", "failed", "cancelled"}
QUEUED_AGAIN = {"submitted", "is released", "lost its nodes", "is queued again", "is linked", "is unlinked"}


def text(what: str, detail: Detail, clock_time: Callable[[int], str]) -> str:
    """One line for people; `clock_time` writes an instant."""
    write = _TEXTS.get(what)
    return write(detail, clock_time) if write is not None else what


def _because(detail: Detail) -> str:
    why = str(detail.get("why", ""))
    said = "" if why == MATE_UNKNOWN else WHY.get(why, why)
    return ": ".join(filter(None, (said, _wrong_mate(detail)))) if "problem" in detail else said


def _wrong_mate(detail: Detail) -> str:
    return wrong_mate(detail["peer"], detail.get("mate"), detail.get("pair"), detail["problem"])


def _nodes(detail: Detail) -> str:
    return f"{detail['nodes']} node{'s' if detail['nodes'] != 1 else ''}"


def _submitted(detail: Detail, _: Callable[[int], str]) -> str:
    if not detail.get("peer"):
        return "submitted"
    if detail.get("pair"):
        return f"submitted; its mate: the job of pair {detail['pair']} on {detail['peer']}"
    return f"submitted; its mate: {detail['peer']}:{detail['mate']}"


def _linked(detail: Detail, _: Callable[[int], str]) -> str:
    mate = f"{detail['peer']}:{detail.get('mate') or detail.get('pair')}"
    if "or_alone" in detail:
        return f"{'starts alone' if detail['or_alone'] else 'waits'} if its mate {mate} does not exist"
    return f"linked with {mate}{' instead of ' + detail['was'] if detail.get('was') else ''}"


def _holds(detail: Detail, clock_time: Callable[[int], str]) -> str:
    until = detail["until"]
    end = "until its mate can start" if until >= FOREVER else f"until {clock_time(until)} at most"
    return f"holds {_nodes(detail)} {end}: {_because(detail)}"


def _yields(detail: Detail, _: Callable[[int], str]) -> str:
    capped = "; it would have held, but too many nodes are held already" if detail.get("capped") else ""
    often = f" (yield {detail['yields']})" if detail["yields"] > 1 else ""
    return f"yields{often}: {_because(detail)}{capped}"


def _started(detail: Detail, _: Callable[[int], str]) -> str:
    gap = detail.get("gap_s")
    late = f", {gap} s late" if gap is not None else ""
    away = f"; it has been away for {timedelta(seconds=detail['away_s'])}" if detail.get("away_s") is not None else ""
    return f"started: {_because(detail)}{late}{away}"


def _ended(how: str) -> Callable[[Detail, Callable[[int], str]], str]:
    def write(detail: Detail, _: Callable[[int], str]) -> str:
        return f"{how}: {detail['why']}" if detail.get("why") else how

    return write


_TEXTS: dict[str, Callable[[Detail, Callable[[int], str]], str]] = {
    "submitted": _submitted,
    "is ready": lambda detail, _: f"is ready on {_nodes(detail)}",
    "holds": _holds,
    "yields": _yields,
    "is released": lambda _, __: "its hold is over: queued again, behind the others",
    "holds on": lambda detail, clock_time: (
        f"holds on until {clock_time(detail['until'])} at most: it would be lost with its nodes"
    ),
    "is queued again": lambda _, __: "its resource manager has queued it again",
    "starts alone": lambda detail, _: f"job {detail['of']} starts alone: {detail['why']}",
    "started": _started,
    "completed": _ended("completed"),
    "failed": _ended("failed"),
    "cancelled": _ended("cancelled"),
    "is linked": _linked,
    "names a wrong mate": lambda detail, _: f"{_wrong_mate(detail)}: it waits until it is linked or unlinked",
    "waits no longer for an unsubmitted mate": lambda _, __: "has lost patience with its mate",
    "is to be cancelled": lambda detail, _: f"is to be cancelled, by {detail['by']}",
    "is unlinked": lambda detail, _: f"unlinked from {detail['peer']}",
    "peer is away": lambda detail, clock_time: (
        f"{detail['peer']} is away, and waited for until {clock_time(detail['until'])}"
    ),
    "peer is there": lambda detail, _: f"{detail['peer']} is there",
    "peer drains": lambda detail, clock_time: (
        f"{detail['peer']} drains, and makes no pairs until {clock_time(detail['until'])}"
    ),
    "drains": lambda detail, clock_time: f"this domain drains until {clock_time(detail['until'])}, as far as is known",
    "is resumed": lambda _, __: "this domain is resumed: it makes pairs again",
    "gets no answer": lambda detail, _: f"gets no answer of {detail['peer']}: {detail['problem']}",
    "asked for its mate": lambda detail, _: f"{detail['peer']} says: {detail['lookup']}",
    "was refused: misconfigured peer": lambda detail, _: f"{detail['peer']} refuses this domain: a misconfiguration",
}
