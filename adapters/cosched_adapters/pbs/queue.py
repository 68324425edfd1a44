"""What PBS's managers have in common: jobs that name a mate, as looks at the queue find them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from cosched_adapters.batch_system import BatchSystem, Foreseen, NodeState
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.batch_job import BatchJob
from cosched_adapters.pbs.calls import Pbs
from cosched_adapters.pbs.commands import NodeRow
from cosched_adapters.pbs.ends import ended
from cosched_adapters.pbs.prospects import foresee, state_of
from cosched_adapters.pbs.register import Register
from cosched_adapters.pbs.settings import PbsSettings
from cosched_adapters.watched import WatchedQueue


class PbsQueue(WatchedQueue[BatchJob], BatchSystem):
    """A part of a manager, which gives it `_register`."""

    system = "PBS"
    _register: Register

    def __init__(self, settings: PbsSettings, pbs: Pbs, log: logging.Logger) -> None:
        super().__init__(settings, log)
        self.settings, self._pbs = settings, pbs

    async def _take_stock(self) -> list[NodeRow]:
        """Learn of all jobs, and drop reports that only repeat what `open` returns; return the nodes."""
        nodes = await self._pbs.nodes()
        self._nodes = len(nodes)
        for row in await self._pbs.history():
            job = self._register.learn(row)
            if job is not None and row.state == "F":
                self._register.note_end(job, ended(row))
        self._take_told()
        return nodes

    async def node_states(self) -> dict[str, NodeState]:
        return {node.name: state_of(node) for node in await self._pbs.nodes()}

    async def foresee(self, nodes: int, seconds: int, names: Sequence[str]) -> Foreseen:
        rows, queue = await asyncio.gather(self._pbs.nodes(), self._pbs.queue())
        return foresee(nodes, seconds, names, rows, queue, int(time.time()))

    async def cancel(self, job_id: str) -> None:
        await self._pbs.cancel(self._of(job_id).job_id)
        self._watch.hint()

    # Looks at the queue

    async def _look(self) -> None:
        await self._look_at_all()

    async def _look_at_all(self) -> tuple[list[commands.JobRow], float]:
        """Look at the queue; return what it shows, and when the look began."""
        began = self._register.begin_look()
        rows = await self._pbs.queue()
        if missing := self._register.missing({row.job_id for row in rows}, began):
            found = {row.job_id: row for row in await self._pbs.details([job.job_id for job in missing])}
            for job in missing:
                self._miss(job, found.get(job.job_id))
        await self._register.see(rows, began)  # afterwards: a new job may have the mate of one that has ended
        return rows, began

    def _miss(self, job: BatchJob, row: commands.JobRow | None) -> None:
        """Note that a job is not in the queue any more."""
        if row is None:
            self._register.note_end(job, job.lost("PBS does not know it any more"))
        elif row.state == "F":
            self._register.note_end(job, ended(row, job.started))
