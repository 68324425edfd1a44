"""The conductor's view of the policy domains of a lock-step replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.job import JobState
from cosched.core.protocol import Domain
from cosched_sim.holds_and_yields import Holds, Yields
from cosched_sim.workload.allocations import Allocations
from cosched_sim.workload.jobs import UNKNOWN, Ints


class Phase(IntEnum):
    """A part of an instant; the phases are gone through in this order (scheduling.md, Time and order).

    NEWS is a phase of services only: see `live_link`.
    """

    COMPLETIONS = 1
    SCRIPT = 2
    TIMERS = 3
    SLOTS = 4
    SUBMISSIONS = 5
    NEWS = 6
    ITERATIONS = 7


EVENTS = (Phase.COMPLETIONS, Phase.SCRIPT, Phase.TIMERS, Phase.SLOTS, Phase.SUBMISSIONS)
ALL = (*EVENTS, Phase.ITERATIONS)


class Advanced(NamedTuple):
    """How far a player has come alone."""

    instant: int  # the last one that it has gone through
    changed: Sequence[Domain]  # the domains in which it changed something since their last iterations
    last: Domain | None  # which iterated last; None: there is news, or slots have changed others, and none has since
    timers_fired: bool  # timers, or events of a script
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


class Results(NamedTuple):
    """What came of one domain; see DomainResult. `jobs` has a column for each field of JobOutcome, in trace order.

    `events`: only of a service, see `live.events`.
    """

    jobs: Mapping[str, Ints]
    releases: int
    holds: Holds | None = None
    yields: Yields | None = None
    allocations: Allocations | None = None
    counts: Mapping[str, Any] = MappingProxyType({})
    restarts: Mapping[int, int] = MappingProxyType({})
    events: Sequence[dict[str, Any]] = ()


def in_columns(outcomes: Iterable[JobOutcome]) -> dict[str, Ints]:
    """Return a column for each field."""
    table = np.array(list(outcomes), np.int64).reshape(-1, len(JobOutcome._fields))
    return dict(zip(JobOutcome._fields, table.T, strict=True))


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
        """Return whether a timer, or an event of a script, is due now. After TIMERS: whether a timer of a slot is."""

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

    def iterate(self, domain: Domain, now: int) -> Sequence[Domain]:
        """Let this domain iterate until nothing changes; that of a service until there is news.

        Returns the domains that this has changed: it has started a job there, or a slot was set, moved or dropped.
        """

    def go_on(self, now: int, until: int) -> Advanced:
        """Go through `now`, then on alone through instants before `until`.

        It goes on until it has changed a domain of another player, or as long as it has jobs to submit. One that goes
        on after that stops before timers that are due while no job runs. If slots have changed another player's domain,
        it goes through the submissions of that instant, but not through its iterations. A service goes on as long as
        there is no news.
        """

    def results(self, domain: Domain, now: int) -> Results:
        """Return what came of all submitted jobs of this domain until now."""
