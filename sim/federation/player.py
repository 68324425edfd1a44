"""The conductor's view of one policy domain in a lock-step replay."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from cosched.core.protocol import Domain


class Phase(IntEnum):
    """A part of an instant; the phases are gone through in this order (scheduling.md, Time and order)."""

    COMPLETIONS = 1
    TIMERS = 2
    SUBMISSIONS = 3
    ITERATIONS = 4


EVENTS = (Phase.COMPLETIONS, Phase.TIMERS, Phase.SUBMISSIONS)
ALL = (*EVENTS, Phase.ITERATIONS)


class Advanced(NamedTuple):
    """What came of one step of a player."""

    changed: Sequence[Domain]  # the domains that started a job because this one asked them to
    instant: int  # the last instant that it has gone through
    timers_fired: bool


class JobOutcome(NamedTuple):
    """What became of one job; instants, UNKNOWN where there is none; `state` is a JobState."""

    ready: int
    start: int
    end: int
    holds: int
    yields: int
    held_node_seconds: int  # in holds that have ended
    hold_start: int  # of the hold that lasts
    state: int


class Player(Protocol):
    """Plays one policy domain.

    What is to come here may change whenever this or another player advances, since players call each other.
    """

    @property
    def name(self) -> Domain:
        """The domain."""

    @property
    def next(self) -> int | None:
        """The next instant at which something happens here, as far as known; None if nothing does."""

    def has_timer(self, now: int) -> bool:
        """Whether a timer is due now."""

    @property
    def has_submissions(self) -> bool:
        """Whether any job is still to be submitted."""

    @property
    def has_jobs(self) -> bool:
        """Whether any job runs or is still to be submitted."""

    def advance(self, now: int, phases: Sequence[Phase], until: int = 0) -> Advanced:
        """Go through these phases of `now`, then on alone through instants before `until` (all phases were given).

        It goes on alone until it has changed another domain or has no job to submit.
        """

    def results(self) -> tuple[Sequence[JobOutcome], int]:
        """Return the results of all submitted jobs, in trace order, and the number of released holds."""
