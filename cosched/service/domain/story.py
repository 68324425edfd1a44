"""What the core and the service note, told for people: the kind of an event, one line of text, and a job's reason.

A job that waits for days yields again and again for the same reason; of those yields the story keeps the 1st, 2nd,
4th, 8th and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self

from cosched.core.effects import Record
from cosched.core.protocol import FOREVER
from cosched.core.story import TOGETHER, What, Why
from cosched.service.domain.began import Late
from cosched.v1 import domain_pb2 as wire
from cosched.validation.durations import span
from cosched.words.reasons import OTHER, STARTING, in_words
from cosched.words.wrong_mates import wrong_mate, wrong_member

# A job's reason, in one word: one of these, or why it holds or yields
HELD_BY_USER = "JobHeldUser"
PUT_ASIDE = "JobHeldAdmin"
CANCELLING = "Cancelling"
WAITS_IN_QUEUE = "Priority"
MATE_HOLDS = "MateHolding"
MEMBER_LOST = "on_member_lost"  # by whom a job was cancelled
ENDED_WITH = "ended with its mate"  # or why
FOR_MATE = frozenset({ENDED_WITH, Why.MATE_ENDED, Why.MATE_FAILED, Why.MATE_REQUEUED})
HELD_CAP = "HeldCap"
TOO_LARGE = "TooLargeToHold"
HELD_BUDGET = "HeldBudget"
HAS_SLOT = "MateSlot"
NO_SLOT = "SlotShare"

StoredDetail = Mapping[str, Any]
Write = Callable[[StoredDetail, Callable[[int], str]], str]  # the latter writes an instant


class Noted(StrEnum):
    """What the service notes beside the core's records: each as it is stored, and the kind of its event."""

    kind: int

    def __new__(cls, stored: str, kind: int) -> Self:
        """See Enum: the kind is no part of the value."""
        noted = str.__new__(cls, stored)
        noted._value_, noted.kind = stored, kind
        return noted

    READY = "is ready", wire.EVENT_KIND_READY
    NO_ANSWER = "gets no answer", wire.EVENT_KIND_PEER
    ANSWERED = "is answered after all", wire.EVENT_KIND_PEER  # the call that got no answer was repeated
    TO_BE_CANCELLED = "is to be cancelled", wire.EVENT_KIND_WARNING
    STARTS_ALONE = "starts alone", wire.EVENT_KIND_WARNING  # a batch system's job that can have no mate
    WRONG_GROUP = "waits for a group that cannot be", wire.EVENT_KIND_WARNING
    STAYS = "stays as it was", wire.EVENT_KIND_WARNING  # its comment names a group, or another one, too late
    ALLOCATED = "runs on fewer or all of its nodes", wire.EVENT_KIND_RESIZED
    SIZED = "runs on a size that was chosen for it", wire.EVENT_KIND_RESIZED
    HARVESTED = "gives nodes", wire.EVENT_KIND_RESIZED
    RESIZED = "has another number of nodes", wire.EVENT_KIND_RESIZED  # by a batch system
    GETS_OF = "gets nodes of another job", wire.EVENT_KIND_RESIZED
    GIVEN = "is given nodes", wire.EVENT_KIND_RESIZED
    GIVES_BACK = "gives back what others gave for it", wire.EVENT_KIND_RESIZED
    ADAPTED = "has adapted to its nodes", wire.EVENT_KIND_RESIZED
    PREDICTS = "tells how long it takes on each size", wire.EVENT_KIND_RESIZED
    NOT_ADAPTED = "has not adapted to its nodes", wire.EVENT_KIND_WARNING
    PEER_AWAY = "peer is away", wire.EVENT_KIND_PEER
    PEER_THERE = "peer is there", wire.EVENT_KIND_PEER
    PEER_DRAINS = "peer drains", wire.EVENT_KIND_PEER
    DRAINS = "drains", wire.EVENT_KIND_WARNING
    RESUMED = "is resumed", wire.EVENT_KIND_WARNING
    PUT_ASIDE = "is put aside", wire.EVENT_KIND_WARNING
    BEGAN = "begins", wire.EVENT_KIND_BEGAN  # some time after its start was ordered
    WAITS_TO_BEGIN = "waits to begin", wire.EVENT_KIND_WARNING
    APART = "began apart from its mate", wire.EVENT_KIND_WARNING


NOT_TOLD = {What.ASKS_TO_START_MATE, What.ASKS_TO_TRY_MATE, What.ANSWERS}  # what comes of them is told
NOT_TOLD |= {What.PROPOSES_TO_GROUP, What.DROPS_PROPOSAL}
NOT_TOLD_OF_PAIRS = {What.BOOKED, What.NOT_BOOKED}  # at its slot, where what comes of it is told soon
KINDS: dict[What | Noted, int] = {
    **{noted: noted.kind for noted in Noted},
    What.SUBMITTED: wire.EVENT_KIND_SUBMITTED,
    **dict.fromkeys((What.HOLDS, What.HOLDS_ON), wire.EVENT_KIND_HELD),
    What.YIELDS: wire.EVENT_KIND_YIELDED,
    What.RELEASED: wire.EVENT_KIND_RELEASED,
    **dict.fromkeys((What.HAS_SLOT, What.LOST_SLOT, What.KEEPS_SLOT), wire.EVENT_KIND_SLOT),
    **dict.fromkeys((What.BOOKED, What.NOT_BOOKED), wire.EVENT_KIND_SLOT),
    What.STARTED: wire.EVENT_KIND_STARTED,
    **dict.fromkeys((What.COMPLETED, What.FAILED, What.CANCELLED), wire.EVENT_KIND_ENDED),
    What.LINKED: wire.EVENT_KIND_LINKED,
    What.UNLINKED: wire.EVENT_KIND_UNLINKED,
    What.PATIENCE_ENDED: wire.EVENT_KIND_UNKNOWN,
    What.HEARS_OF_MATE: wire.EVENT_KIND_PEER,
    **dict.fromkeys((What.LOST_NODES, What.REQUEUED, What.PEER_REFUSED, What.WRONG_MATE), wire.EVENT_KIND_WARNING),
    **dict.fromkeys((What.MEMBER_APART, What.MATE_ENDED, What.RUN_ENDS, What.RUNS_ON), wire.EVENT_KIND_WARNING),
}

_LATE: dict[str, str] = {
    Late.RESTARTED: "{its} service was restarted meanwhile",
    Late.MANAGER: "{its} resource manager was late",
    Late.ORDERED_LATE: "{its} start was ordered only then",
}
WHY_OF_PAIRS: dict[str, str] = {Why.OUTCOME_UNKNOWN: "its mate's domain has proposed this start, and does not answer"}
WHY_OF_GROUPS: dict[str, str] = {  # where the word itself is about a mate
    Why.MATE_STARTED_BEFORE: "another member of its group started before it: desynchronised",
    Why.UNLINKED: "unlinked from its group",
    Why.MATE_DROPPED_SLOT: "the domain of another member has dropped it",
    Why.SLOT_OUTDATED: "the domain of another member does not know it",
    Why.NOT_CLAIMED: "the domain of the member that has proposed it did not start it",
    Why.MATE_CHANGED: "other members take part than before",
}
REASON_ENDS = {What.STARTED, What.COMPLETED, What.FAILED, What.CANCELLED}
QUEUED_AGAIN = {What.SUBMITTED, What.RELEASED, What.LOST_NODES, What.REQUEUED, What.LINKED, What.UNLINKED}


def kept_for(domain: str, job: str) -> str:
    """Return why a job keeps its nodes and does not start: that job has proposed a start of its group."""
    return f"kept for {domain}:{job}"


def is_told(record: Record, last_why: Why | None, *, of_pair: bool) -> bool:
    """Return whether this is worth an event; `last_why` is why the job yielded last."""
    if of_pair and record.what in NOT_TOLD_OF_PAIRS:
        return False
    if record.what is What.PEER_REFUSED:
        return last_why is not Why.PEER_REFUSED  # else its yields tell how often
    if record.what is not What.YIELDS or record.why is not last_why:
        return True
    yields = record.detail["yields"]
    return yields & (yields - 1) == 0


def reason(record: Record) -> str | None:
    """Return the job's reason from now on, in one word; None: it stays."""
    if record.what is What.YIELDS and record.detail.get("capped"):
        detail = record.detail
        return TOO_LARGE if detail.get("too_large") else HELD_BUDGET if detail.get("over_budget") else HELD_CAP
    if record.what is What.YIELDS and record.detail.get("no_slot"):
        return NO_SLOT
    if record.what in (What.HOLDS, What.YIELDS):
        return record.why
    if record.what is What.WRONG_MATE:
        return Why.MATE_UNKNOWN
    return "" if record.what in REASON_ENDS else WAITS_IN_QUEUE if record.what in QUEUED_AGAIN else None


def tells_of_common_start(what: str, detail: StoredDetail) -> bool:
    """Return whether what is stored tells that a job has started with its mate; the reason may end with a name."""
    return what == What.STARTED and str(detail.get("why", "")).startswith(tuple(TOGETHER))


def text(what: str, detail: StoredDetail, when: Callable[[int], str]) -> str:
    """Return one line for people, of what is stored, also by another version; `when` writes an instant."""
    write = TEXTS.get(what)
    return write(detail, when) if write is not None else what


def utc(seconds: int) -> str:
    """Return an instant for people, of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(" ").replace("+00:00", " UTC")


def _because(detail: StoredDetail) -> str:
    why, of_group = str(detail.get("why", "")), "group" in detail
    member = f"the member of its group on {detail['peer']}" if of_group and detail.get("peer") else OTHER
    texts = WHY_OF_GROUPS if of_group else WHY_OF_PAIRS
    said = texts.get(why) or in_words(why, of_group=of_group, member=member) or why
    said = "" if why == Why.MATE_UNKNOWN else said
    return ": ".join(filter(None, (said, _wrong_mate(detail)))) if "problem" in detail else said


def _wrong_mate(detail: StoredDetail) -> str:
    if detail.get("group"):
        return wrong_member(detail["peer"], detail["group"], detail["problem"])
    return wrong_mate(detail["peer"], detail.get("mate"), detail.get("pair"), detail["problem"])


def _nodes(detail: StoredDetail, key: str = "nodes") -> str:
    return f"{detail[key]} node{'s' if detail[key] != 1 else ''}"


def _submitted(detail: StoredDetail, _: Callable[[int], str]) -> str:
    if "others" in detail:
        return f"submitted; its group {detail['group']} has jobs on {' and '.join(detail['others'])}, too"
    if not detail.get("peer"):
        return "submitted"
    if detail.get("pair"):
        return f"submitted; its mate: the job of pair {detail['pair']} on {detail['peer']}"
    return f"submitted; its mate: {detail['peer']}:{detail['mate']}"


def _linked(detail: StoredDetail, _: Callable[[int], str]) -> str:
    was = f" instead of {detail['was']}" if detail.get("was") else ""
    if "group" in detail:
        return f"joins group {detail['group']}{was}"
    mate = f"{detail['peer']}:{detail.get('mate') or detail.get('pair')}"
    if detail.get("adopted"):
        return f"adopted by {mate}, which names it by its id"
    if "or_alone" in detail:
        return f"{'starts alone' if detail['or_alone'] else 'waits'} if its mate {mate} does not exist"
    return f"linked with {mate}{was}"


def _holds(detail: StoredDetail, when: Callable[[int], str]) -> str:
    until = detail["until"]
    others = "group" if "group" in detail else "mate"
    end = f"until its {others} can start" if until >= FOREVER else f"until {when(until)} at most"
    return f"holds {_nodes(detail)} {end}: {_because(detail)}"


def _slot(detail: StoredDetail, when: Callable[[int], str]) -> str:
    others = f"{detail['peer']}:{detail['mate']}" if detail.get("peer") else "its group"
    return f"slot at {when(detail['slot'])} with {others}"


def _yields(detail: StoredDetail, _: Callable[[int], str]) -> str:
    capped = f"; it would have held, but {_why_not_held(detail)}" if detail.get("capped") else ""
    often = f" (yield {detail['yields']})" if detail["yields"] > 1 else ""
    no_slot = "; slots like its own have kept nodes for as long as they may" if detail.get("no_slot") else ""
    return f"yields{often}: {_because(detail)}{capped}{no_slot}"


def _why_not_held(detail: StoredDetail) -> str:
    if detail.get("too_large"):
        return "is too large to hold here"
    used_up = "its account has held as much as it may a day"
    return used_up if detail.get("over_budget") else "too many nodes are held already"


def _not_booked(detail: StoredDetail, when: Callable[[int], str]) -> str:
    said = "keeps its nodes no longer: not all of its group could start"
    if "until" not in detail:
        return said
    often = f"that often in a row, that no job gets nodes for {detail['peer']} until {when(detail['until'])}"
    return f"{said}, {often}"


def _started(detail: StoredDetail, when: Callable[[int], str]) -> str:
    gap = detail.get("gap_s")
    late = f", {span(gap)} late" if gap is not None else ""
    away = f"; it has been away for {span(detail['away_s'])}" if detail.get("away_s") is not None else ""
    what = "started"
    if detail.get("starts_at") is not None:
        what = f"starts at {when(detail['starts_at'])}, as agreed"
    elif detail.get("waits"):
        what = "starts as soon as its batch system begins it"
    return f"{what}: {_because(detail)}{late}{away}"


def _began(detail: StoredDetail, _: Callable[[int], str]) -> str:
    return f"has begun, {span(detail['after_s'])} after its start was ordered" if detail["after_s"] else "has begun"


def _apart(detail: StoredDetail, _: Callable[[int], str]) -> str:
    late, peer = detail["apart_s"], detail["peer"]
    other = f"{peer}:{detail['mate']}" if detail.get("mate") else peer
    mate = f"the member {other} of its group" if "group" in detail else f"its mate {other}"
    why = _LATE.get(detail["why"], "{its} start was late").format(its="its" if late > 0 else "that")
    length = f"{abs(late):.1f} s" if abs(late) < 10 else span(abs(late))
    return f"began {length} after {mate}: {why}" if late > 0 else f"{mate} began {length} later: {why}"


def why_cancelled(by: str) -> str:
    """Return why a job ended that was cancelled by this user, or setting, or for its mate."""
    return by if by in FOR_MATE else f"by {by}"


def _requeued(detail: StoredDetail, _: Callable[[int], str]) -> str:
    if detail.get("why") == Why.PREEMPTED:
        return "preempted: queued again, its nodes are others'"
    if detail.get("why") == Why.MATE_REQUEUED:
        return f"queued again: {_because(detail)}"
    return "its resource manager has queued it again"


def _runs_on(detail: StoredDetail, _: Callable[[int], str]) -> str:
    if detail.get("why") == Why.NOT_REQUEUED:
        return f"runs on without its mate: {_because(detail)}"
    return f"runs on without its mate, which was queued again: that has begun {detail['runs']} runs, or it is too late"


def _mate_ended(detail: StoredDetail, when: Callable[[int], str]) -> str:
    mate = f"{detail['peer']}:{detail['mate']}"
    return f"{mate} has ended: another may come in its place until {when(detail['until'])}"


def _ended(how: str) -> Write:
    return lambda detail, _: f"{how}: {detail['why']}" if detail.get("why") else how


TEXTS: dict[str, Write] = {
    What.SUBMITTED: _submitted,
    Noted.READY: lambda detail, _: f"is ready on {_nodes(detail)}",
    What.HOLDS: _holds,
    What.YIELDS: _yields,
    What.RELEASED: lambda _, __: "its hold is over: queued again, behind the others",
    What.HOLDS_ON: lambda detail, when: (
        f"holds on until {when(detail['until'])} at most: it would be lost with its nodes"
    ),
    What.REQUEUED: _requeued,
    Noted.STARTS_ALONE: lambda detail, _: f"job {detail['of']} starts alone: {detail['why']}",
    Noted.WRONG_GROUP: lambda detail, _: f"{detail['why']}; it waits until it is unlinked",
    Noted.STAYS: lambda _, __: (
        "names another group or mate now, and stays as it was: a group counts at submission only"
    ),
    What.STARTED: _started,
    What.COMPLETED: _ended("completed"),
    What.FAILED: _ended("failed"),
    What.CANCELLED: _ended("cancelled"),
    What.LINKED: _linked,
    What.WRONG_MATE: lambda detail, _: f"{_wrong_mate(detail)}: it waits until it is linked or unlinked",
    What.PATIENCE_ENDED: lambda detail, _: (
        f"waits no longer for {'members' if 'group' in detail else 'a mate'} that nobody has submitted"
    ),
    Noted.TO_BE_CANCELLED: lambda detail, _: f"is to be cancelled, by {detail['by']}",
    What.HEARS_OF_MATE: lambda detail, _: f"hears that its mate on {detail['peer']} has changed, and asks",
    What.MATE_ENDED: _mate_ended,
    What.RUN_ENDS: lambda detail, _: f"its run is ended: {_because(detail)}",
    What.RUNS_ON: _runs_on,
    What.LOST_NODES: lambda _, __: "lost its nodes",
    What.HAS_SLOT: lambda detail, when: f"has a {_slot(detail, when)}",
    What.LOST_SLOT: lambda detail, when: f"lost its slot at {when(detail['slot'])}: {_because(detail)}",
    What.KEEPS_SLOT: lambda detail, when: f"starts at {when(detail['slot'])}: its group has begun",
    What.BOOKED: lambda _, __: "keeps its nodes for its group, which may start now",
    What.NOT_BOOKED: _not_booked,
    What.MEMBER_APART: lambda detail, _: (
        f"started without {'the member of its group' if 'group' in detail else 'its mate'} on {detail['peer']}"
    ),
    What.UNLINKED: lambda detail, _: f"unlinked from {detail.get('peer') or 'group ' + detail['group']}",
    Noted.ALLOCATED: lambda detail, _: f"runs on {detail['nodes']} of the {_nodes(detail, 'ideal')} that it can use",
    Noted.SIZED: lambda detail, _: f"runs on {_nodes(detail)}, and its best size is {detail['best']}: {detail['why']}",
    Noted.HARVESTED: lambda detail, _: (
        f"gives {_nodes(detail, 'fewer')} to job {detail['to']}, and keeps {detail['nodes']}"
    ),
    Noted.RESIZED: lambda detail, _: f"has {_nodes(detail)} now, as its resource manager says",
    Noted.GETS_OF: lambda detail, _: f"gets {_nodes(detail, 'more')} of job {detail['of']}",
    Noted.GIVEN: lambda detail, _: f"gets {_nodes(detail, 'more')} that nobody needs, and has {detail['nodes']}",
    Noted.GIVES_BACK: lambda _, __: "gives back what others gave for it: that was in vain",
    Noted.ADAPTED: lambda detail, _: f"uses {_nodes(detail)} now",
    Noted.PREDICTS: lambda detail, _: (
        f"predicts iterations of {detail['on_least']:.3g} s on {_nodes(detail, 'least')}, "
        f"{detail['on_ideal']:.3g} s on {detail['ideal']}"
    ),
    Noted.NOT_ADAPTED: lambda detail, _: f"has not answered that it uses {_nodes(detail)}: {detail['why']}",
    Noted.PEER_AWAY: lambda detail, when: f"{detail['peer']} is away, and waited for until {when(detail['until'])}",
    Noted.PEER_THERE: lambda detail, _: f"{detail['peer']} is there",
    Noted.PEER_DRAINS: lambda detail, when: (
        f"{detail['peer']} drains, and makes no pairs until {when(detail['until'])}"
    ),
    Noted.DRAINS: lambda detail, when: f"this domain drains until {when(detail['until'])}, as far as is known",
    Noted.RESUMED: lambda _, __: "this domain is resumed: it makes pairs again",
    Noted.PUT_ASIDE: lambda _, __: "put aside: the scheduler is told nothing of it until an operator releases it",
    Noted.NO_ANSWER: lambda detail, _: f"gets no answer of {detail['peer']}: {detail['problem']}",
    Noted.ANSWERED: lambda detail, _: f"is answered by {detail['peer']} after all",
    What.PEER_REFUSED: lambda detail, _: f"{detail['peer']} refuses this domain: a misconfiguration",
    Noted.BEGAN: _began,
    Noted.WAITS_TO_BEGIN: lambda detail, _: f"waits to begin: {STARTING.get(detail['why'], detail['why'])}",
    Noted.APART: _apart,
}
