"""What coscheduling wants done, to be carried out in order: on the scheduler (by `domain`), and by the shell.

Records come before what is sent, so that a domain killed at any point restarts in a state that it had promised.
"""

from __future__ import annotations

from enum import StrEnum

from cosched.core.messages import message
from cosched.core.protocol import Domain, JobId, Reply, Request
from cosched.core.story import NAMES, Detail, What, Why


class Timer(StrEnum):
    """The timers of a job, at most one of each; GRACE is a peer's."""

    RELEASE = "release"
    PATIENCE = "patience"
    RETRY = "retry"
    GRACE = "grace"


@message
class Start:
    """Start the job on the nodes it has, at an agreed instant (seconds since 1970) if there is one."""

    job: JobId
    at: float | None = None


@message
class Hold:
    """Keep the job's nodes for it; they are expected back at `until`."""

    job: JobId
    until: int


@message
class Yield:
    """Take the nodes back and pass the job over for the rest of this instant; its score is multiplied by `boost`."""

    job: JobId
    boost: float


@message
class Release:
    """Take a holding job's nodes back by force: it is queued, and last for the rest of this instant."""

    job: JobId


@message
class AskAgain:
    """A holding job is ready again, on the nodes that it has: questions about its mate follow."""

    job: JobId


@message
class Try:
    """Start the queued job if an iteration run now would, else note that it is wanted until then; tell with Tried.

    With `start_at` (seconds since 1970) it may be agreed that it starts at that instant, or a later one.
    """

    job: JobId
    wanted_until: int
    start_at: float | None = None


@message
class Reschedule:
    """Run a scheduling iteration: something about this job changed."""

    job: JobId


@message
class PassOver:
    """Take an offered job's nodes back, since others come first; it is offered again soon. An external scheduler's."""

    job: JobId


@message
class HasMate:
    """The job has a mate now, or has none any more."""

    job: JobId


@message
class Wanted:
    """The queued job could not be started for its mate, which holds nodes until then."""

    job: JobId
    until: int


@message
class Call:
    """Send a request of `job` to a peer; tell with Answered or CallFailed."""

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
    """Tell the job (or the peer, if it is a timer of peers) at instant `at`; replaces its timer of that kind."""

    job: JobId | Domain
    timer: Timer
    at: int


@message
class ClearTimer:
    """Forget this timer, if there is one."""

    job: JobId | Domain
    timer: Timer


@message
class Record:
    """Note for the job's story: what happened and why."""

    job: JobId
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


ForScheduler = Start | Hold | Yield | Release | AskAgain | Try | Reschedule | HasMate
Effect = ForScheduler | Wanted | Call | Answer | SetTimer | ClearTimer | Record
