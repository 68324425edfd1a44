"""What coscheduling wants done, to be carried out in order: on the scheduler (by `domain`), and by the shell.

Records come before what is sent, so that a domain killed at any point restarts in a state that it had promised.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from cosched.core.protocol import Domain, JobId, Reply, Request
from cosched.core.story import NAMES, Detail, What, Why


class Timer(StrEnum):
    """The timers of a job, at most one of each; GRACE is a peer's."""

    RELEASE = "release"
    PATIENCE = "patience"
    RETRY = "retry"
    GRACE = "grace"


class Start(NamedTuple):
    """Start the job on the nodes it has, at an agreed instant (seconds since 1970) if there is one."""

    job: JobId
    at: float | None = None


class Hold(NamedTuple):
    """Keep the job's nodes for it; they are expected back at `until`."""

    job: JobId
    until: int


class Yield(NamedTuple):
    """Take the nodes back and pass the job over for the rest of this instant; its score is multiplied by `boost`."""

    job: JobId
    boost: float


class Release(NamedTuple):
    """Take a holding job's nodes back by force: it is queued, and last for the rest of this instant."""

    job: JobId


class AskAgain(NamedTuple):
    """A holding job is ready again, on the nodes that it has: questions about its mate follow."""

    job: JobId


class Try(NamedTuple):
    """Start the queued job if an iteration run now would, else note that it is wanted until then; tell with Tried.

    With `start_at` (seconds since 1970) it may be agreed that it starts at that instant, or a later one.
    """

    job: JobId
    wanted_until: int
    start_at: float | None = None


class Reschedule(NamedTuple):
    """Run a scheduling iteration: something about this job changed."""

    job: JobId


class PassOver(NamedTuple):
    """Take an offered job's nodes back, since others come first; it is offered again soon. An external scheduler's."""

    job: JobId


class HasMate(NamedTuple):
    """The job has a mate now, or has none any more."""

    job: JobId


class Wanted(NamedTuple):
    """The queued job could not be started for its mate, which holds nodes until then."""

    job: JobId
    until: int


class Call(NamedTuple):
    """Send a request of `job` to a peer; tell with Answered or CallFailed."""

    peer: Domain
    job: JobId
    request: Request


class Answer(NamedTuple):
    """Answer a peer's request."""

    peer: Domain
    request: Request
    answer: Reply


class SetTimer(NamedTuple):
    """Tell the job (or the peer, if it is a timer of peers) at instant `at`; replaces its timer of that kind."""

    job: JobId | Domain
    timer: Timer
    at: int


class ClearTimer(NamedTuple):
    """Forget this timer, if there is one."""

    job: JobId | Domain
    timer: Timer


class Record(NamedTuple):
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
