"""The nodes that are kept for offered jobs: offline, with the job on record there, so that they stay the job's.

They stay so even if the service or the server restarts. OpenPBS 22.05 to 23.06 brings all nodes online when its server
restarts (openpbs issue 2579); the record stays. So nodes on record that are online are taken offline again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from cosched_adapters.batch_job import Phase
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.batch_job import BatchJob
from cosched_adapters.pbs.calls import Pbs
from cosched_adapters.pbs.commands import NodeRow
from cosched_adapters.pbs.register import Register
from cosched_adapters.programs import until_it_answers
from cosched_adapters.tasks import OwnTasks

LOST_AFTER = 60.0  # seconds for which a node is down: after a restart of the server all are, for some seconds
_DOWN = ("down", "unresolvable", "stale", "state-unknown", "provisioning", "sleep")  # states of a lost node
_TAKEN = ("job-exclusive", "job-busy", "resv-exclusive")  # of one that another job has got
_LOG = logging.getLogger(__name__)


class HeldNodes:
    """The held nodes of one server; `clock` is the loop's.

    An answer that takes longer than `guard` seconds makes nodes go offline. `lost` gets each job that has lost a node.
    """

    def __init__(
        self, pbs: Pbs, tasks: OwnTasks, clock: Callable[[], float], guard: float, lost: Callable[[BatchJob], None]
    ) -> None:
        self._pbs, self._tasks, self._clock, self._guard = pbs, tasks, clock, guard
        self._lost = lost
        self._down: dict[str, float] = {}  # nodes that are down, and since when
        self._to_free: dict[str, str] = {}  # nodes that we still hold for a job that does not wait on them any more
        self._changing = asyncio.Lock()  # one change at a time of which nodes are offline, and for whom

    def take_up(self, nodes: Iterable[NodeRow], register: Register) -> None:
        """Go on with the holds of an earlier service; nodes of jobs that do not wait any more are freed."""
        held: dict[str, dict[str, str]] = {}
        for node in nodes:
            if (holder := commands.held_for(node.holder)) is not None:
                held.setdefault(holder[0], {})[node.name] = holder[1]
        for job_id, chunks in held.items():
            job = register.jobs.get(job_id)
            if job is not None and job.phase is Phase.QUEUED and job.nodes == len(chunks):
                register.note_offer(job, commands.joined(chunks))
                job.offline = True
                register.report_offer(job)
            else:
                self._to_free |= dict.fromkeys(chunks, job_id)

    def keep(self, job: BatchJob) -> None:
        """Take the nodes of an offered job offline, if the answer takes long."""
        self._tasks.begin(self._keep(job, job.nodelist))

    async def _keep(self, job: BatchJob, vnodes: str) -> None:
        await asyncio.sleep(self._guard)
        async with job.order, self._changing:
            if not job.keeps(vnodes) or job.offline:
                return
            nodes = await until_it_answers(self._pbs.nodes)
            if not job.keeps(vnodes):
                return
            if any(node.name in job.kept and "offline" in node.states for node in nodes):  # an administrator's doing
                self._lost(job)
                return
            job.offline = True
            await until_it_answers(lambda: self._pbs.hold(job.job_id, vnodes))
            for node in commands.chunks(vnodes):
                self._to_free.pop(node, None)  # an earlier hold was still to be freed
            if not job.keeps(vnodes):
                self._to_free |= dict.fromkeys(commands.chunks(vnodes), job.job_id)
                self._tasks.begin(self._free_nodes())
                return
        await self._pbs.schedule()  # others were turned away from these nodes: PBS is to try them on other ones

    def free(self, job: BatchJob) -> None:
        """Let others have the nodes of a job that does not wait on them any more."""
        if job.offline:
            self._to_free |= dict.fromkeys(commands.chunks(job.nodelist), job.job_id)
        job.offline = False
        self._tasks.begin(self._free_nodes())

    async def _free_nodes(self) -> None:
        """Put the nodes that we hold for nobody online, and let PBS fill them."""
        if self._to_free:
            await until_it_answers(self._free_ours)
        await self._pbs.schedule()

    async def _free_ours(self) -> None:
        """Free those nodes that still have our note: an administrator who wants a node to stay offline removes it."""
        async with self._changing:
            freed = dict(self._to_free)
            holders = {row.name: commands.held_for(row.holder) for row in await self._pbs.nodes()}
            ours = [node for node, job in freed.items() if (held := holders.get(node)) and held[0] == job]
            await self._pbs.let_go(ours)
            self._to_free = {node: job for node, job in self._to_free.items() if freed.get(node) != job}

    async def check(self, jobs: Iterable[BatchJob]) -> None:
        """Find nodes of offered jobs that are lost or online again, and nodes that were to be freed and are not."""
        held = [job for job in jobs if job.phase is Phase.OFFERED]
        if not held and not self._to_free:
            return
        nodes, now = {node.name: node for node in await self._pbs.nodes()}, self._clock()
        down = [node.name for node in nodes.values() if set(node.states) & set(_DOWN)]
        self._down = {node: self._down.get(node, now) for node in down}
        lost = {node for node, since in self._down.items() if now >= since + LOST_AFTER}
        for job in held:
            if job.phase is not Phase.OFFERED or job.admitted:
                continue
            online = [node for name in job.kept if (node := nodes.get(name)) and _is_ours_online(node, job)]
            if lost.intersection(job.kept) or any(set(node.states) & set(_TAKEN) for node in online):
                _LOG.warning("job %s has lost a node that was kept for it", job.job_id)
                self._lost(job)
            elif online:
                self._tasks.begin(self._keep_again(job, job.nodelist))
        if self._to_free:
            self._tasks.begin(self._free_nodes())

    async def _keep_again(self, job: BatchJob, vnodes: str) -> None:
        async with job.order, self._changing:
            if job.keeps(vnodes) and job.offline:
                _LOG.warning("nodes of job %s are online: they are taken offline for it again", job.job_id)
                await self._pbs.hold(job.job_id, vnodes)


def _is_ours_online(node: NodeRow, job: BatchJob) -> bool:
    held = commands.held_for(node.holder)
    return job.offline and held is not None and held[0] == job.job_id and "offline" not in node.states
