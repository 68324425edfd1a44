"""What a policy domain is told: the events of `coscheduling`."""

from __future__ import annotations

from cosched.core.job import JobState
from cosched.core.messages import message
from cosched.core.protocol import NO_MATE, Domain, Failure, JobId, MateJobId, MateName, Reply, Request


@message
class JobEvent:
    """Something happens to a job."""

    job: JobId


@message
class PeerEvent:
    """Something happens to a peer, or comes from it."""

    peer: Domain


@message
class Submitted(JobEvent):
    """A job is queued; it names this mate, if any."""

    named: MateName = NO_MATE
    owner: str = ""


@message
class Linked(JobEvent):
    """A job that has not started names this mate from now on, instead of the one that it named, if any.

    Not while it waits for the answer to TryStartMate or StartJob: its mate may have started.
    """

    named: MateName


@message
class Unlinked(JobEvent):
    """A job that has not started has no mate any more."""


@message
class Ready(JobEvent):
    """The local scheduler has selected the job and assigned `nodes`: the paper's RunJob(j, N).

    A hold of it may last until `hold_limit` at most without delaying a reserved job (FOREVER: no limit). A job that
    `cannot_yield` would be lost with its nodes: it holds whatever the scheme and the cap, and is not released by force.
    """

    nodes: int
    hold_limit: int
    cannot_yield: bool = False


@message
class Tried(JobEvent):
    """What came of the effect Try: the local scheduler started the job (at an agreed instant), or could not."""

    started: bool
    at: float | None = None


@message
class Started(JobEvent):
    """The resource manager has started the job without having been told to."""


@message
class Requeued(JobEvent):
    """A running job has lost its nodes and is queued again: it was preempted, or its resource manager took it back.

    `keeps_work`: when it starts again it goes on where it was, not from its beginning.
    """

    keeps_work: bool = False


@message
class ReleaseDue(JobEvent):
    """The release timer of a hold, or an operator's ReleaseHold."""


@message
class PatienceOver(JobEvent):
    """The job has waited `mate_patience` since its submission."""


@message
class RetryDue(JobEvent):
    """Time to ask again after a call whose outcome is unknown."""


@message
class NodesLost(JobEvent):
    """The nodes that the job held are gone (down)."""


@message
class Finished(JobEvent):
    """The job ended, or was cancelled before it began; `how` is a final state."""

    how: JobState


@message
class PeerThere(PeerEvent):
    """The peer is well, as it says itself: it answers, or it is back."""


@message
class PeerAway(PeerEvent):
    """The peer gives no answer to whoever asks for its health."""


@message
class PeerLeaves(PeerEvent):
    """The peer says goodbye, and that it will be back by that instant; 0: soon."""

    back_by: int = 0


@message
class PeerDrains(PeerEvent):
    """The peer makes no pairs until that instant; 0: it does (again)."""

    until: int = 0


@message
class GraceOver(PeerEvent):
    """The peer has been away for as long as it is waited for."""


@message
class Drained:
    """This domain makes no holds and no pairs from now on; what holds may do so until `settled_by`."""

    settled_by: int


@message
class Resumed:
    """This domain makes holds and pairs again."""


@message
class Asked(PeerEvent):
    """A request of a peer."""

    request: Request


@message
class Answered(JobEvent):
    """A peer's answer to the `request` that `job` made."""

    request: Request
    answer: Reply


@message
class MateHeardOf(JobEvent):
    """The mate's domain said this of the mate that the job names at present, though the job did not ask."""

    answer: MateJobId


@message
class CallFailed(JobEvent):
    """No answer came to the `request` that `job` made."""

    request: Request
    failure: Failure


Event = JobEvent | PeerEvent | Drained | Resumed
