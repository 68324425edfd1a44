"""Gives running jobs the nodes that their scheduler wants them to have, step by step, and waits for what they say.

Two records differ for a while: what the scheduler gives to a job (its allocation), and what it has in its manager. Each
step brings them nearer, and may be repeated, so nothing else is to be remembered over a restart:

* a job that is to have fewer nodes is told so, and keeps them until it has acknowledged that, or ends;
* a job that is to have more gets them as soon as they are free, and is told then.

The scheduler gives no node twice. So all that wait for nodes get them once all others have answered.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from cosched.core.protocol import JobId
from cosched.service.configuration import Configuration
from cosched.service.domain.live_domain import LiveDomain
from cosched_adapters.launcher import ElasticLauncher, NodesBusyError
from cosched_adapters.manager import ManagerError

LOOK = 1.0  # seconds between looks for jobs that have not answered in time
ON_RESIZE_IGNORED = "on_resize_ignored"  # by whom a job is cancelled
TOLD_AGAIN = "it is told again"
WAITED_FOR = "what waits for its nodes goes on waiting"
NOT_IN_USE = "the new ones stay its own"
IS_ENDED = "it is ended, as on_resize_ignored has it"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ResizeRules:
    """How long a job may take to answer, in seconds, and whether one that keeps its nodes twice as long is ended."""

    patience: int = 60
    end_ignoring: bool = False

    @classmethod
    def of(cls, configuration: Configuration) -> Self:
        """Return those of a configuration."""
        return cls(configuration.manager.resize_patience, configuration.manager.on_resize_ignored == "end")


class Resizes:
    """The sizes of the jobs of a domain in its manager."""

    def __init__(self, domain: LiveDomain, launcher: ElasticLauncher, rules: ResizeRules) -> None:
        self._domain, self._launcher, self.rules = domain, launcher, rules
        self._lock = asyncio.Lock()
        self._used: dict[JobId, int] = {}  # what the scheduler knows of the nodes that jobs occupy
        self._freed = asyncio.Event()

    async def freed(self, patience: float) -> None:
        """Wait until nodes may have become free, at most so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._freed.wait(), patience)

    def nodes_are_free(self) -> None:
        """Note that some may be: a job has ended, or has given some up."""
        self._freed.set()
        self._freed = asyncio.Event()

    def occupied(self, job: JobId) -> tuple[str, ...]:
        """Return the nodes that nobody but this job can have now."""
        with suppress(ManagerError):
            return self._launcher.nodes_of(job)
        return ()

    async def settle(self) -> None:
        """Take the next step of each job that has not what it should."""
        async with self._lock:
            for step in (self._take_back, self._give):
                for job in self._running():
                    try:
                        await step(job)
                    except NodesBusyError:
                        continue  # those that have them are told already
                    except ManagerError as error:
                        _LOG.warning("job %s cannot be resized: %s", job, error)
                    finally:
                        self._tell_used(job, len(self.occupied(job)))

    def _tell_used(self, job: JobId, nodes: int) -> None:
        """Let the scheduler know how many nodes nobody else can have."""
        if nodes and self._used.get(job) != nodes:
            self._used[job] = nodes
            self._domain.uses(job, nodes)

    def room(self, job: JobId, nodes: int) -> None:
        """NodesBusyError: so many nodes more are not free for the job, beside those that others keep for their mates.

        Others with mates that have started come before one that has none, as their mates run already.
        """
        running = {other: record for other, record in self._domain.jobs.items() if record.is_launched}
        has = {other: len(self.occupied(other)) for other in running}
        free = self._domain.scheduler.nodes - sum(has.values()) - self._domain.scheduler.kept_free()
        if running[job].job.group is None or has[job]:
            starting = (other for other, record in running.items() if record.job.group is not None and not has[other])
            free -= sum(running[other].node_count for other in starting)
        if nodes > free:
            raise NodesBusyError(f"{nodes} nodes are wanted, and {max(0, free)} are free")

    def _running(self) -> list[JobId]:
        return [job for job, record in self._domain.jobs.items() if record.sizing and record.is_launched]

    async def _take_back(self, job: JobId) -> None:
        """Let others have the nodes that the job does not use any more; tell it which to give up."""
        if (sizing := self._domain.sizes.of(job)) is None or not (occupied := self.occupied(job)):
            return
        if not sizing.names:
            self._domain.turns.happen(self._domain.sizes.tell, job, occupied, at_start=True)
        elif sizing.settled and len(sizing.names) < len(occupied):
            await self._domain.turns.durable()
            await self._launcher.keep(job, sizing.names)
            self.nodes_are_free()
        self._tell(job)

    async def _give(self, job: JobId) -> None:
        if (given := self._given(job)) and 0 < (occupied := len(self.occupied(job))) < given:
            self.room(job, given - occupied)
            self._tell_used(job, given)
            await self._launcher.grow(job, given)
        self._tell(job)

    def _given(self, job: JobId) -> int:
        """Return how many nodes the scheduler gives to a job; 0: it has ended."""
        return self._domain.jobs[job].node_count if job in self._domain.jobs else 0

    def _tell(self, job: JobId) -> None:
        """Tell the job of its nodes, as many as it should have if it has them, unless it knows."""
        sizing, occupied, given = self._domain.sizes.of(job), self.occupied(job), self._given(job)
        if sizing is None or len(occupied) < given:
            return
        names = [*sizing.names, *(name for name in occupied if name not in sizing.names)][:given]
        if names != sizing.names:
            self._domain.turns.happen(self._domain.sizes.tell, job, names)

    def forget(self, job: JobId) -> None:
        """Note that the job, or its run, is over."""
        self._used.pop(job, None)

    # Answers

    async def watch(self) -> None:
        """Look for jobs that do not answer, for ever."""
        while True:
            await asyncio.sleep(LOOK)
            for job in self._running():
                self._look(job)

    def _look(self, job: JobId) -> None:
        sizing, now = self._domain.sizes.of(job), self._domain.clock.now()
        if sizing is None or sizing.told_at is None or now < sizing.told_at + self.rules.patience:
            return
        gives_up = len(sizing.names) < len(self.occupied(job))
        last = sizing.reminders > 0
        end = last and gives_up and self.rules.end_ignoring
        why = IS_ENDED if end else TOLD_AGAIN if not last else WAITED_FOR if gives_up else NOT_IN_USE
        _LOG.warning("job %s has not answered that it uses %s nodes: %s", job, len(sizing.names), why)
        self._domain.turns.happen(self._domain.sizes.remind, job, last=last, why=why)
        if end:
            self._domain.turns.happen(self._domain.sizes.end, job, ON_RESIZE_IGNORED)
