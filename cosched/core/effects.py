"""What coscheduling wants done, in this order: by the scheduler (`domain` tells it), and by the shell.

Records come before what is sent. So a domain that is killed at any point has recorded all that it told others.
"""

from __future__ import annotations

from enum import StrEnum

from cosched.core.allocation import Allocation
from cosched.core.job import SlotMoves
from cosched.core.messages import message
from cosched.core.protocol import Domain, JobId, Reply, Request
from cosched.core.story import NAMES, Detail, What, Why


class Timer(StrEnum):
    """The timers of a job, at most one of each kind; GRACE is a timer of a peer."""

    RELEASE = "release"
    PATIENCE = "patience"
    RETRY = "retry"
    GRACE = "grace"
    TELL = "tell"  # also of a job that has ended
    LEASE = "lease"  # how long a member of a group waits for the outcome of the proposal that has booked it
    SLOT = "slot"  # when it has come
    LAPSE = "lapse"  # how long a booked slot waits for its proposer
    CHECK = "check"  # when a job that holds asks whether its mates still wait
    SUCCESSOR = "successor"  # how long it waits for another in the place of a mate that was cancelled


OF_SLOTS = (Timer.SLOT, Timer.LAPSE)  # timers that fire after all others of an instant: those may give nodes back


@message
class JobEffect:
    """Something that is wanted for a job."""

    job: JobId


@message
class Start(JobEffect):
    """Start the job on the nodes it has, at an agreed instant (seconds since 1970) if there is one.

    `allocation`: what it starts on, once its scheduler has been told (`PolicyDomain`).
    """

    at: float | None = None
    allocation: Allocation | None = None


@message
class Hold(JobEffect):
    """Keep the job's nodes for it; the scheduler expects them back at `until`."""

    until: int


@message
class Yield(JobEffect):
    """Take the job's nodes back, and pass it over for the rest of this instant. Its score is multiplied by `boost`.

    `offer`: the number of the batch system's offer that this ends, here and below; 0: it has made none.
    """

    boost: float
    offer: int = 0


@message
class Release(JobEffect):
    """Take a holding job's nodes back. It is queued again, as the last one for the rest of this instant."""

    offer: int = 0


@message
class AskAgain(JobEffect):
    """A holding job is ready again on the nodes that it has. Questions about the others follow."""


@message
class Try(JobEffect):
    """Start the queued job if a scheduling iteration would start it now; otherwise it is wanted until `wanted_until`.

    The outcome is the event Tried. `start_at` (seconds since 1970): it may start at that instant, or at a later one
    that both domains agree on.
    """

    wanted_until: int
    start_at: float | None = None


@message
class Reschedule(JobEffect):
    """Run a scheduling iteration: something about this job changed."""


@message
class PassOver(JobEffect):
    """Give an offered job back to its batch system, since others come first. It is offered again soon."""

    offer: int


@message
class HasMate(JobEffect):
    """The job has got a mate or a group, or has lost it."""


@message
class CancelJob(JobEffect):
    """End the queued job, since a member of its group is lost, or has ended. Its end is the event Finished, later."""

    why: Why = Why.MEMBER_LOST


@message
class EndRun(JobEffect):
    """End the run of a job, as its owner's cancellation would. Its end is the event Finished, or Requeued, later.

    Finished tells how the run ended; in which state the job ends then is told by the rules: see PairedJob.ending.
    `again`: the job is queued again after that; where that cannot be, it is left alone, and the event is RunsOn. The
    order is repeated after a restart, so it may be about a run that is over.
    """

    why: Why
    again: bool = False


@message
class TryReady(JobEffect):
    """Make the queued job ready if a scheduling iteration would start it now. The outcome is the event TriedReady."""


@message
class GiveBack(JobEffect):
    """Queue a job that TryReady has made ready as it was queued before; it has not yielded."""


@message
class WantUntil(JobEffect):
    """The job is wanted until `until`: a member of its group holds nodes until then."""

    until: int


@message
class Want(JobEffect):
    """A mate has asked for the job: it may start before its turn. Not `wanted`: it has no such mate any more."""

    wanted: bool = True


@message
class Quote(JobEffect):
    """Find the earliest instant from `not_before` on at which the queued or ready job fits in the plan.

    The outcome is the event Quoted. `for_peer`: a peer has asked for it.
    """

    not_before: int
    for_peer: bool = False


@message
class Book(JobEffect):
    """Give the job the slot `at`, instead of any that it has. The outcome is the event Booked."""

    at: int
    generation: int
    for_peer: bool = False


@message
class MoveSlot(JobEffect):
    """The slot that the job has may be moved so from now on."""

    moves: SlotMoves


@message
class Unbook(JobEffect):
    """Take the job's slot away, if it has one."""


@message
class Claim(JobEffect):
    """Make the queued job ready, on the nodes of its slot, which has come. The outcome is the event Claimed."""

    for_peer: bool = False


@message
class EndTurn(JobEffect):
    """The job that could be before its slot (MayBeEarlier) has its answer: the iteration goes on."""


@message
class Wanted(JobEffect):
    """The queued job could not be started for another one, which holds nodes until `until`."""

    until: int


@message
class Call:
    """Send a request of the job to a peer. The outcome is the event Answered or CallFailed."""

    peer: Domain
    job: JobId
    request: Request


@message
class Answer:
    """Answer a peer's request."""

    peer: Domain
    request: Request
    answer: Reply


@message
class SetTimer:
    """Tell the timer's event at the instant `at`, of the job or the peer; this replaces its timer of that kind."""

    job: JobId | Domain
    timer: Timer
    at: int


@message
class ClearTimer:
    """Remove this timer, if there is one."""

    job: JobId | Domain
    timer: Timer


@message
class Record(JobEffect):
    """Note for the job's story: what happened and why."""

    what: What
    why: Why | None
    detail: Detail

    def stored(self) -> dict[str, object]:
        """Return the detail as stories store it: with the reason as a text, which says by whom where it needs to."""
        if self.why is None:
            return {**self.detail}
        kept: dict[str, object] = {"why": str(self.why), **self.detail}
        if (named := NAMES.get(self.why)) is not None:
            kept["why"] = f"{self.why} {kept.pop(named)}"
        return kept


OfSlots = Want | Quote | Book | MoveSlot | Unbook | Claim | EndTurn
OfGroups = TryReady | GiveBack | WantUntil
ForScheduler = Start | Hold | Yield | Release | AskAgain | Try | Reschedule | HasMate | OfSlots | OfGroups
Effect = ForScheduler | CancelJob | EndRun | Wanted | Call | Answer | SetTimer | ClearTimer | Record
