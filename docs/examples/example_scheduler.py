"""A scheduler of one's own (CONTRIBUTING.md): short jobs come first, and take the nodes of longer ones.

A job that loses its nodes is queued again in its place, and begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.plain import RUNNING, PlainJob, PlainScheduler
from cosched.schedulers.kind import Ended, SchedulerKind
from cosched.validation.sections import CoschedulingFields
from cosched.validation.types import Seconds, Settings


class ExpressKeys(Settings):
    """The keys that only a domain with this scheduler has."""

    express: Annotated[Seconds, Field(description="jobs that ask for at most this time come first (10m)")] = 600


@dataclass(frozen=True)
class ExpressSettings:
    """A machine of `nodes` nodes; jobs of at most `express` s come first. No job is given a slot."""

    nodes: int
    express: int
    slots: bool = False


class Express(PlainScheduler):
    """The queue and the nodes."""

    capabilities = Capabilities(preempt=True)

    def __init__(self, settings: ExpressSettings) -> None:
        super().__init__(settings.nodes)
        self._express = settings.express
        self.preempted = 0

    def _is_short(self, job: PlainJob) -> bool:
        return job.asked.requested <= self._express

    def _order(self, queued: Iterable[PlainJob]) -> Iterable[PlainJob]:
        return sorted(queued, key=self._is_short, reverse=True)

    def _givers(self, job: PlainJob) -> list[PlainJob]:
        """Those that were submitted last give first."""
        if not self._is_short(job):
            return []
        return [other for other in reversed(self.jobs.values()) if other.state is RUNNING and not self._is_short(other)]

    def _preempt(self, job: PlainJob) -> None:
        super()._preempt(job)
        self.preempted += 1

    def counts(self) -> Mapping[str, Any]:
        """See OpenScheduler."""
        return {"preempted": self.preempted}


class ExpressKind(SchedulerKind):
    """What the scheduler brings beside its rules."""

    name = "express"
    purpose = "short jobs take the nodes of others, which begin anew"
    keys = ExpressKeys
    capabilities = Express.capabilities
    without = ("mate_budget", "yield_boost")

    def settings(self, keys: ExpressKeys, nodes: int, coscheduling: CoschedulingFields) -> ExpressSettings:  # noqa: ARG002
        """See SchedulerKind."""
        return ExpressSettings(nodes, keys.express)

    def open(self, settings: ExpressSettings) -> Express:
        """See SchedulerKind."""
        return Express(settings)

    def facts(self, keys: ExpressKeys, counts: Mapping[str, Any], ended: Ended) -> dict[str, Any]:  # noqa: ARG002
        """See SchedulerKind."""
        express = {"express": keys.express, **counts}
        return {"policy": "short jobs first", "backfill": "none", "node_pool": "flat", self.name: express}

    def line(self, facts: Mapping[str, Any]) -> str:
        """See SchedulerKind."""
        return f"jobs that lost their nodes: {facts[self.name]['preempted']:,}"


EXPRESS = ExpressKind()
