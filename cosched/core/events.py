"""What a policy domain is told: the events of `coscheduling`."""

from __future__ import annotations

from typing import NamedTuple

from cosched.core.job import JobState
from cosched.core.protocol import Domain, Failure, JobId, Reply, Request


class Submitted(NamedTuple):
    """A job is queued; it names a mate on `peer` by its id or by a `pair` name that both submissions carry, or none.

    `or_alone`: it starts alone if there is no such mate, whatever the settings say.
    """

    job: JobId
    peer: Domain = ""
    pair: str | None = None
    mate: JobId | None = None
    owner: str = ""
    or_alone: bool = False


class Linked(NamedTuple):
    """A job that has not started names this mate now, as in `Submitted`, instead of the one that it named, if any.

    Not while it waits for the answer to TryStartMate or StartJob: its mate may have started.
    """

    job: JobId
    peer: Domain
    pair: str | None = None
    mate: JobId | None = None
    or_alone: bool = False


class Unlinked(NamedTuple):
    """A job that has not started has no mate any more."""

    job: JobId


class Ready(NamedTuple):
    """The local scheduler has selected the job and assigned `nodes`: the paper's RunJob(j, N).

    A hold of it may last until `hold_limit` at most without delaying a reserved job (FOREVER: no limit). A job that
    `cannot_yield` would be lost with its nodes: it holds whatever the scheme and the cap, and is not released by force.
    """

    job: JobId
    nodes: int
    hold_limit: int
    cannot_yield: bool = False


class Tried(NamedTuple):
    """What came of the effect Try: the local scheduler started the job (at an agreed instant), or could not."""

    job: JobId
    started: bool
    at: float | None = None


class Started(NamedTuple):
    """The resource manager has started the job without having been told to."""

    job: JobId


class Requeued(NamedTuple):
    """The resource manager has taken a running job back into its queue."""

    job: JobId


class ReleaseDue(NamedTuple):
    """The release timer of a hold, or an operator's ReleaseHold."""

    job: JobId


class PatienceOver(NamedTuple):
    """The job has waited `mate_patience` since its submission."""

    job: JobId


class RetryDue(NamedTuple):
    """Time to ask again after a call whose outcome is unknown."""

    job: JobId


class NodesLost(NamedTuple):
    """The nodes that the job held are gone (down)."""

    job: JobId


class Finished(NamedTuple):
    """The job ended, or was cancelled before it began; `how` is a final state."""

    job: JobId
    how: JobState


class PeerThere(NamedTuple):
    """The peer is well, as it says itself: it answers, or it is back."""

    peer: Domain


class PeerAway(NamedTuple):
    """The peer gives no answer to whoever asks for its health."""

    peer: Domain


class PeerLeaves(NamedTuple):
    """The peer says goodbye, and that it will be back by that instant; 0: soon."""

    peer: Domain
    back_by: int = 0


class PeerDrains(NamedTuple):
    """The peer makes no pairs until that instant; 0: it does (again)."""

    peer: Domain
    until: int = 0


class GraceOver(NamedTuple):
    """The peer has been away for as long as it is waited for."""

    peer: Domain


class Drained(NamedTuple):
    """This domain makes no holds and no pairs from now on; what holds may do so until `settled_by`."""

    settled_by: int


class Resumed(NamedTuple):
    """This domain makes holds and pairs again."""


class Asked(NamedTuple):
    """A request of a peer."""

    peer: Domain
    request: Request


class Answered(NamedTuple):
    """A peer's answer to the `request` that `job` made."""

    job: JobId
    request: Request
    answer: Reply


class CallFailed(NamedTuple):
    """No answer came to the `request` that `job` made."""

    job: JobId
    request: Request
    failure: Failure


JobEvent = (  # of one job, `job`
    Submitted
    | Linked
    | Unlinked
    | Ready
    | Tried
    | Started
    | Requeued
    | ReleaseDue
    | PatienceOver
    | RetryDue
    | NodesLost
    | Finished
    | Answered
    | CallFailed
)
PeerEvent = PeerThere | PeerAway | PeerLeaves | PeerDrains | GraceOver  # of one peer, `peer`
Event = JobEvent | PeerEvent | Drained | Resumed | Asked
