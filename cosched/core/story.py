"""What can happen to a job by the rules of coscheduling, and why: the words of its story.

The values are those that stories store: databases, events.jsonl and messages have them. What people read is made of
them by those who show it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypedDict

from cosched.core.job import JobState
from cosched.core.protocol import Domain, JobId, Status


class What(StrEnum):
    """What happened to a job."""

    SUBMITTED = "submitted"
    LINKED = "is linked"
    UNLINKED = "is unlinked"
    HOLDS = "holds"
    HOLDS_ON = "holds on"  # at the end of its hold, since it would be lost with its nodes
    YIELDS = "yields"
    RELEASED = "is released"
    LOST_NODES = "lost its nodes"
    HAS_SLOT = "has a slot"
    LOST_SLOT = "lost its slot"
    KEEPS_SLOT = "keeps its slot for good"  # its group, which has windows, has begun
    REQUEUED = "is queued again"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PATIENCE_ENDED = "waits no longer for an unsubmitted mate"
    ASKS_TO_START_MATE = "asks to start its mate"
    ASKS_TO_TRY_MATE = "asks to try its mate"
    ANSWERS = "answers"  # it is asked to start for its mate
    PROPOSES_TO_GROUP = "proposes a start to its group"
    DROPS_PROPOSAL = "drops its proposal"
    BOOKED = "is booked"  # by a proposal of another member
    NOT_BOOKED = "is booked no longer"
    MEMBER_APART = "started without a member of its group"  # which was to start with it
    PEER_REFUSED = "was refused: misconfigured peer"
    WRONG_MATE = "names a wrong mate"
    HEARS_OF_MATE = "hears that its mate has changed"
    MATE_ENDED = "its mate has ended"  # before it started
    RUN_ENDS = "its run is ended"  # it follows its mate
    RUNS_ON = "runs on without its mate"  # which was queued again


ENDED: dict[JobState, What] = {
    JobState.COMPLETED: What.COMPLETED,
    JobState.FAILED: What.FAILED,
    JobState.CANCELLED: What.CANCELLED,
}


class Why(StrEnum):
    """Why a job started, holds, yields or is queued again."""

    # It starts together with its mate
    ASKED_BY_PEER = "asked by"
    MATE_COULD_START = "its mate could start"
    HOLDING_MATE_STARTED = "its holding mate started"
    AT_SLOT = "at its slot"
    ALL_BOOKED = "all members of its group are booked"

    # It loses its slot
    MATE_DROPPED_SLOT = "its mate's domain has dropped it"
    SLOT_OUTDATED = "its mate's domain does not know it"
    SLOT_NOT_KEPT = "its nodes were not free in time"
    NOT_CLAIMED = "its mate's domain did not start it"
    MATE_CHANGED = "it has no such mate any more"
    ENDED = "it has ended"

    # It starts without
    NO_MATE = "it has no mate"
    UNLINKED = "unlinked from its mate"
    COSCHEDULING_OFF = "coscheduling is off here"
    NO_SUCH_PAIR = "its mate's domain knows no such pair"
    PATIENCE_ENDED = "patience ended"
    MATE_STARTED_BEFORE = "its mate started before it: desynchronised"
    MATE_WILL_NOT_RUN = "its mate will not run:"
    NO_MEMBER_LEFT = "no other member of its group will start"
    OUTCOME_UNKNOWN = "its proposer does not answer"
    STARTED_UNASKED = "its resource manager did not wait"

    # It ends, or is queued again, because of its mate
    MATE_ENDED = "its mate has ended"  # also: it ends with that
    MATE_FAILED = "its mate failed"
    MATE_REQUEUED = "its mate was queued again"

    # It is queued again
    PREEMPTED = "preempted by its scheduler"
    TAKEN_BACK = "taken back by its resource manager"
    NOT_REQUEUED = "its resource manager cannot queue it again"  # so it runs on

    # It holds or yields; the queue shows these as the job's reason
    MATE_QUEUING = "MateQueuing"
    MATE_UNSUBMITTED = "MateUnsubmitted"
    MATE_UNKNOWN = "MateUnknown"
    MEMBER_LOST = "MemberLost"
    SUCCESSOR = "Successor"  # for another job in the place of a mate that was cancelled
    MATE_NOT_TOLD = "MateNotTold"  # it was queued again, and its mate's domain has not heard so
    INSTANT_PASSED = "InstantPassed"  # or it starts late
    WINDOW_AHEAD = "WindowAhead"  # others of its group have started
    PEER_UNREACHABLE = "PeerUnreachable"  # or it starts without its mate
    PEER_AWAY = "PeerAway"
    PEER_BUSY = "PeerBusy"
    PEER_REFUSED = "PeerRefused"
    PEER_DRAINING = "PeerDraining"
    DRAINING = "Draining"


TOGETHER = frozenset({Why.ASKED_BY_PEER, Why.MATE_COULD_START, Why.HOLDING_MATE_STARTED, Why.AT_SLOT, Why.ALL_BOOKED})
# What of the detail such a text ends with.
NAMES = {Why.ASKED_BY_PEER: "asked_by", Why.MATE_WILL_NOT_RUN: "mate_status"}


class Detail(TypedDict, total=False):
    """What is told beside what happened and why. Instants and times in seconds."""

    pair: str | None
    mate: JobId | None
    peer: Domain | None
    adopted: bool  # it named nobody, and the mate that named it has it now
    was: str  # the mate that a job was linked with before, for people
    or_alone: bool  # only this changed with a link
    final: bool  # its owner submits no other in its place
    runs: int  # how many it has begun
    problem: str  # a MateProblem, or empty
    asked_by: Domain  # of ASKED_BY_PEER
    mate_status: Status  # of MATE_WILL_NOT_RUN
    until: int  # also: how long it waits for another mate
    generation: int
    nodes: int
    yields: int
    capped: bool  # it would have held, but too many nodes are held already
    over_budget: bool  # or by its account's budget
    too_large: bool  # or alone it needs more than may be held
    slot: int  # the instant
    no_slot: bool  # its slots have kept nodes for as long as they may
    group: str
    others: list[Domain]  # the domains of its other members
    without: list[Domain]  # it goes on without its members there
    proposal: str
    gap_s: int | None  # it starts so long after its mate
    away_s: int  # its mate's domain has been away for so long
    request: str  # id of a call
    started: bool  # the answer to that call
