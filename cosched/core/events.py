"""What happens to a policy domain: the events that it is told."""

from __future__ import annotations

from cosched.core.allocation import Allocation
from cosched.core.job import JobState
from cosched.core.messages import message
from cosched.core.protocol import NO_MATE, Domain, EndedBy, Failure, JobId, MateJobId, Named, Reply, Request
from cosched.core.story import Why


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
    """A job is queued; it names this mate or group, if any. `adoptable`: see PairedJob."""

    named: Named = NO_MATE
    owner: str = ""
    adoptable: bool = False


@message
class Linked(JobEvent):
    """A job that has not started names this mate or group from now on, instead of what it named, if anything.

    Not while it waits for the answer to TryStartMate or StartJob: its mate may have started.
    """

    named: Named


@message
class Unlinked(JobEvent):
    """A job that has not started starts with nobody any more."""


NOT_HOLDABLE = 0  # a hold limit that every hold exceeds


@message
class Ready(JobEvent):
    """The local scheduler has selected the job and assigned nodes: the paper's RunJob(j, N).

    If the job holds until `hold_limit` or less, it delays no reserved job (FOREVER: it never does; NOT_HOLDABLE: it
    cannot hold, as some of its nodes are still others', who give them when it starts). A job that `cannot_yield` would
    be lost with its nodes: it holds, whatever scheme and cap say, and its hold is never released.
    """

    allocation: Allocation
    hold_limit: int
    cannot_yield: bool = False


@message
class MayBeEarlier(JobEvent):
    """It is the turn of a queued job that has a slot and does not fit now: perhaps an earlier slot can be agreed on."""


@message
class Quoted(JobEvent):
    """The outcome of the effect Quote: the job could start at the instant `at`; None: never."""

    at: int | None
    for_peer: bool


@message
class Booked(JobEvent):
    """The outcome of the effect Book of that `generation`: what the job has at the slot `at`; None: not that slot."""

    at: int
    generation: int
    allocation: Allocation | None
    for_peer: bool


@message
class Claimed(JobEvent):
    """The outcome of the effect Claim: the job is ready on the nodes of its slot; None: it is not."""

    allocation: Allocation | None
    for_peer: bool


@message
class SlotDue(JobEvent):
    """The slot of a job has come, whose nodes its domain claims."""


@message
class SlotLapsed(JobEvent):
    """The job has not been started at its slot in time, or nobody has said in time that the slot is kept."""


@message
class Tried(JobEvent):
    """The outcome of the effect Try: the scheduler started the job (`at` an agreed instant); None: it could not."""

    allocation: Allocation | None
    at: float | None = None


@message
class TriedReady(JobEvent):
    """The outcome of the effect TryReady: the job is ready on this; None: it is not."""

    allocation: Allocation | None


@message
class LeaseOver(JobEvent):
    """A member of a group waits for the outcome of a proposal, and is to ask for it."""


@message
class StartedUnasked(JobEvent):
    """The resource manager has started the job without having been told to."""

    allocation: Allocation | None = None


@message
class Requeued(JobEvent):
    """A running job has lost its nodes and is queued again: it was preempted, or its resource manager took it back.

    `why` says which. `keeps_work`: when it starts again it goes on where it was, not from its beginning.
    """

    keeps_work: bool = False
    why: Why = Why.TAKEN_BACK


@message
class RunsOn(JobEvent):
    """The job's resource manager cannot queue it again: it runs on, though the rules have ended its run (EndRun)."""


@message
class ReleaseDue(JobEvent):
    """A hold is to end: its release timer is due, or an operator asks for it (ReleaseHold)."""


@message
class CheckDue(JobEvent):
    """The job holds: it is time to ask whether its mates still wait."""


@message
class SuccessorDue(JobEvent):
    """The job has waited long enough, or long enough with nodes, for another in the place of a mate."""


@message
class PatienceOver(JobEvent):
    """The job has waited `mate_patience` since its submission."""


@message
class RetryDue(JobEvent):
    """A call got no answer: it is time to ask again."""


@message
class TellDue(JobEvent):
    """Members of the job's group have not acknowledged what they were told: it is time to tell it again."""


@message
class NodesLost(JobEvent):
    """The nodes of a ready or holding job are gone, e.g. down."""


@message
class Finished(JobEvent):
    """The job ended, or was cancelled before it started; `how` is a final state.

    `by`: who has ended it, if it was cancelled; where a resource manager does not say, it counts as its owner.
    """

    how: JobState
    by: EndedBy = EndedBy.OWNER


@message
class PeerThere(PeerEvent):
    """The peer says that it is well."""


@message
class PeerAway(PeerEvent):
    """The peer does not answer when asked whether it is well."""


@message
class PeerLeaves(PeerEvent):
    """The peer says that it stops now, and will be back by that instant; 0: soon."""

    back_by: int = 0


@message
class PeerDrains(PeerEvent):
    """The peer makes no pairs until that instant; 0: it makes pairs again."""

    until: int = 0


@message
class GraceOver(PeerEvent):
    """The grace of the peer is over: it has been away for as long as jobs wait for it."""


@message
class Drained:
    """This domain makes no new holds and no pairs from now on; jobs that hold may go on until `settled_by`."""

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
    """The `peer` answered the `request` that the job made."""

    request: Request
    answer: Reply
    peer: Domain = ""  # of a group; otherwise it is that of the mate


@message
class MateHeardOf(JobEvent):
    """The domain of a mate or member said this of it, though the job, which names it at present, did not ask."""

    answer: MateJobId
    peer: Domain = ""  # as in Answered


@message
class CallFailed(JobEvent):
    """The `request` that the job made to the `peer` got no answer."""

    request: Request
    failure: Failure
    peer: Domain = ""  # as in Answered


Event = JobEvent | PeerEvent | Drained | Resumed
