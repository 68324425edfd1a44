"""A scheduler of one's own (CONTRIBUTING.md): short jobs come first, and take the nodes of longer ones.

A job that loses its nodes is queued again in its place, and begins anew. Those submitted `--steady yes` lose none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.plain import RUNNING, PlainJob, PlainScheduler, Turns
from cosched.schedulers.column import Column
from cosched.schedulers.kind import ClusterJob, SchedulerKind
from cosched.schedulers.waits import Waits
from cosched.validation.sections import CoschedulingFields
from cosched.validation.types import Seconds, Settings

STEADY = Column.of_words("steady", "no", "yes", help="yes: it gives its nodes to no short job (no)")


class ExpressKeys(Settings):
    """The keys that only a domain with this scheduler has."""

    express: Annotated[Seconds, Field(description="jobs that ask for at most this time come first (10m)")] = 600


@dataclass(frozen=True)
class ExpressSettings:
    """A machine of `nodes` nodes; jobs of at most `express` s come first. `slots`: whether jobs are given slots."""

    nodes: int
    express: int
    slots: bool = False


class ShortFirst(Turns):
    """Jobs of at most `express` s come first, and take the nodes of others."""

    def __init__(self, scheduler: Express, express: int) -> None:
        super().__init__(scheduler)
        self._express = express

    def _is_short(self, job: PlainJob) -> bool:
        return job.asked.requested <= self._express

    def order(self, queued: Iterable[PlainJob]) -> Iterable[PlainJob]:
        """See Turns."""
        return sorted(queued, key=self._is_short, reverse=True)

    def taker(self, job: PlainJob) -> bool:
        """See Turns: all short jobs take nodes from the same ones."""
        return self._is_short(job)

    def givers(self, job: PlainJob) -> list[PlainJob]:
        """Those that were submitted last give first."""
        if not self._is_short(job):
            return []
        busy = self._scheduler.busy.values()
        running = [other for other in busy if other.state is RUNNING and not self._is_short(other)]
        givers = [other for other in running if not other.asked.columns.get("steady")]
        return sorted(givers, key=lambda other: other.number, reverse=True)


class Express(PlainScheduler):
    """The queue and the nodes; of each job, and of all, it keeps how often nodes were taken."""

    capabilities = Capabilities(preempt=True, slots=True)
    keeps = PlainScheduler.keeps | {"preempted"}

    def __init__(self, settings: ExpressSettings) -> None:
        turns = partial(ShortFirst, express=settings.express)
        super().__init__(settings.nodes, slots=settings.slots, turns=turns)
        self.preempted = 0

    def _preempt(self, job: PlainJob) -> None:
        super()._preempt(job)
        job.kept["preempted"] = job.kept.get("preempted", 0) + 1
        self.preempted += 1

    def counts(self) -> Mapping[str, Any]:
        """See OpenScheduler."""
        return {"preempted": self.preempted}

    kept_of_domain = counts

    def recall(self, kept: Mapping[str, Any]) -> None:
        """See OpenScheduler."""
        self.preempted = kept["preempted"]


class ExpressKind(SchedulerKind):
    """What the scheduler brings beside its rules."""

    name = "express"
    purpose = "short jobs take the nodes of others, which begin anew"
    keys = ExpressKeys
    capabilities = Express.capabilities
    without = ("mate_budget", "yield_boost")

    def settings(self, keys: ExpressKeys, nodes: int, coscheduling: CoschedulingFields) -> ExpressSettings:
        """See SchedulerKind."""
        return ExpressSettings(nodes, keys.express, coscheduling.meeting.slots)

    def open(self, settings: ExpressSettings) -> Express:
        """See SchedulerKind."""
        return Express(settings)

    def columns(self) -> Sequence[Column]:
        """See SchedulerKind."""
        return (STEADY,)

    def why(self, scheduler: Express, job: ClusterJob, ahead: int, word: str) -> Waits:  # type: ignore[override]
        """See SchedulerKind."""
        told, lost = super().why(scheduler, job, ahead, word), job.kept.get("preempted", 0)
        gave = f"{told.text}; so often it gave its nodes to short jobs: {lost}"
        return Waits("gave_way", gave, "submit it with --steady yes") if lost else told

    def line(self, facts: Mapping[str, Any]) -> str:
        """See SchedulerKind."""
        return f"jobs that lost their nodes: {facts[self.name]['preempted']:,}"


EXPRESS = ExpressKind()
