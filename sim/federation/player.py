"""The conductor's view of the policy domains of a lock-step replay."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.job import JobState
from cosched.core.protocol import Domain
from cosched.workload.jobs import UNKNOWN


class Phase(IntEnum):
    """A part of an instant; the phases are gone through in this order (scheduling.md, Time and order)."""

    COMPLETIONS = 1
    TIMERS = 2
    SLOTS = 3
    SUBMISSIONS = 4
    ITERATIONS = 5


EVENTS = (Phase.COMPLETIONS, Phase.TIMERS, Phase.SLOTS, Phase.SUBMISSIONS)
ALL = (*EVENTS, Phase.ITERATIONS)


class Advanced(NamedTuple):
    """How far a player has come alone."""

    instant: int  # the last one that it has gone through
    changed: Sequence[Domain]  # the domains in which it changed something since their last iterations
    last: Domain | None  # which iterated last; None: slots have changed other domains, and none has iterated since
    timers_fired: bool
    before_timers: bool = False  # timers of this instant, and all phases after them, are still to come


class JobOutcome(NamedTuple):
    """The outcome of one job: instants, UNKNOWN where there is none; `state` is a JobState."""

    ready: int
    start: int
    end: int
    holds: int
    yields: int
    held_node_seconds: int  # in holds that have ended
    hold_start: int  # of the hold that lasts
    state: int

    @classmethod
    def of(cls, job: PairedJob, end: int) -> JobOutcome:
        """Return the outcome of a job that coscheduling knows."""
        return cls(
            ready=UNKNOWN if job.ready_at is None else job.ready_at,
            start=UNKNOWN if job.started_at is None else job.started_at,
            end=end,
            holds=job.holds,
            yields=job.yields,
            held_node_seconds=job.held_node_seconds,
            hold_start=job.held_since if job.state is JobState.HOLDING else UNKNOWN,
            state=int(job.state),
        )


class Player(Protocol):
    """Plays one or several policy domains.

    Its next events may change whenever this or another player advances, since players call each other.
    """

    @property
    def domains(self) -> Sequence[Domain]:
        """The domains."""

    @property
    def next(self) -> int | None:
        """The next known instant at which something happens here; None if nothing does."""

    def has_timer(self, now: int) -> bool:
        """Whether a timer is due now. After the phase TIMERS: whether one of a slot is."""

    @property
    def has_submissions(self) -> bool:
        """Whether any job is still to be submitted."""

    @property
    def has_jobs(self) -> bool:
        """Whether any job runs or is still to be submitted."""

    def advance(self, now: int, phases: Sequence[Phase]) -> Sequence[Domain]:
        """Take all domains through these phases of `now`, which are any but iterations.

        Returns the other players' domains that this has changed, by slots that have come.
        """

    def iterate(self, domain: Domain, now: int, before: Sequence[Phase] = ()) -> Sequence[Domain]:
        """Take all domains through the phases `before`; then this domain iterates until nothing changes.

        Returns the domains that this has changed: it has started a job there, or a slot was set, moved or dropped.
        """

    def go_on(self, now: int, until: int) -> Advanced:
        """Go through `now`, then on alone through instants before `until`.

        It goes on until it has changed a domain of another player, or as long as it has jobs to submit. One that goes
        on after that stops before timers that are due while no job runs. If slots have changed another player's domain,
        it goes through the submissions of that instant, but not through its iterations.
        """

    def results(self, domain: Domain) -> tuple[Sequence[JobOutcome], int]:
        """Return the results of all submitted jobs, in trace order, and the number of released holds."""
