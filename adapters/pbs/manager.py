"""The PBS manager handles jobs that name a mate: the server's hook offers them, and qstat shows them.

PBS has no state in which a chosen job waits with its nodes. So the hook rejects the job, and every other job that would
get one of these nodes. If the answer takes longer than `guard`, the nodes are taken offline, with the job on record
there: so they stay the job's even if the service or the server restarts. `qrun -H` starts it on exactly these nodes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from cosched.adapters.batch_system import BatchReport, BatchSystem, BatchSystemFactory, JobOutlook, Known, Link
from cosched.adapters.findings import Finding
from cosched.adapters.manager import ManagerError, SlotsOnRecord, UnknownJobError
from cosched.adapters.pbs import commands
from cosched.adapters.pbs.book import Book, Job, Phase, known
from cosched.adapters.pbs.calls import Pbs
from cosched.adapters.pbs.commands import NodeRow
from cosched.adapters.pbs.ends import ended, gone
from cosched.adapters.pbs.hook_server import HookServer
from cosched.adapters.pbs.settings import PbsSettings, read_settings
from cosched.adapters.pbs.start_notice import StartNotice
from cosched.adapters.pbs.submitting import submit
from cosched.adapters.pbs.words import WordError, words
from cosched.adapters.permissions import Account
from cosched.adapters.programs import until_it_answers
from cosched.adapters.watch import Watch

_T = TypeVar("_T")
OTHERS_TURN = 2.0  # seconds that a released job is turned away, so that others get its nodes offered first
_UNTIL_ORDERED = 0.01  # seconds from an agreement to the order to start
LOST_AFTER = 60.0  # seconds for which a node is down: after a restart of the server all are, for some seconds
_DOWN = ("down", "unresolvable", "stale", "state-unknown", "provisioning", "sleep")  # states of a lost node
_LOG = logging.getLogger(__name__)


class PbsManager(BatchSystem):
    """See `adapters.batch_system`. An offered job waits in the queue, by the hook's word, until an order comes."""

    mate_field = "pair, mate or group resource"

    def __init__(self, settings: PbsSettings) -> None:
        self.settings = settings
        self._pbs = Pbs(settings)
        self._reports: asyncio.Queue[BatchReport] = asyncio.Queue()
        self._book = Book(
            self._reports.put_nowait,
            self._now,
            self._offered,
            ask_again=lambda: self._own(self._schedule_later(0)),
            look=lambda: self._watch.hint(),
        )
        self._watch = Watch(self._look, settings.poll_interval)
        heard = self._book.asked, self._changing, self._watch.hint, self._ended
        self._hooks = HookServer(settings.hook_socket, *heard, self._book.keeps_nodes, self._book.finding)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._down: dict[str, float] = {}  # nodes that are down, and since when by the loop's clock
        self._to_free: dict[str, str] = {}  # nodes that we still hold for a job that does not wait on them any more
        self._notes = asyncio.Lock()  # one change at a time of which nodes are offline, and for whom
        self._nodes = 0
        self._notice = StartNotice(settings.start_lead)

    @property
    def nodes(self) -> int:
        """See the protocol."""
        return self._nodes

    @property
    def start_lead(self) -> float:
        """See the protocol: as the last starts took."""
        return min(self.settings.start_lead, self._notice.seconds + _UNTIL_ORDERED)

    async def open(self) -> dict[str, Known]:
        """See the protocol; serves the hook."""
        nodes = await self._pbs.nodes()
        self._nodes = len(nodes)
        rows = await self._pbs.history()
        for row in rows:
            job = self._book.learn(row)
            if job is not None and row.state == "F":
                self._book.ended(job, ended(row))
        while not self._reports.empty():  # it only repeats what `open` returns
            self._reports.get_nowait()
            self._reports.task_done()
        self._take_up_holds(nodes)
        try:
            await self._hooks.open()
        except OSError as error:
            reason = f"the hook cannot be served at {self.settings.hook_socket}: {error.strerror}"
            raise ManagerError(reason) from error
        self._own(self._watch.run())
        self._watch.hint()
        self._own(self._schedule_later(0))  # PBS offers again what an earlier service did not keep
        return {job.job_id: known(job) for job in self._book.jobs.values()}

    def _take_up_holds(self, nodes: Iterable[NodeRow]) -> None:
        """Go on with the holds of an earlier service; nodes of jobs that do not wait any more are freed."""
        held: dict[str, dict[str, str]] = {}
        for node in nodes:
            if (holder := commands.held_for(node.holder)) is not None:
                held.setdefault(holder[0], {})[node.name] = holder[1]
        for job_id, chunks in held.items():
            job = self._book.jobs.get(job_id)
            if job is not None and job.phase is Phase.QUEUED and job.nodes == len(chunks):
                job.phase, job.vnodes, job.offline = Phase.OFFERED, commands.joined(chunks), True
                self._book.report_offer(job)
            else:
                self._to_free |= dict.fromkeys(chunks, job_id)

    async def reports(self) -> AsyncIterator[BatchReport]:
        """See the protocol."""
        while True:
            report = await self._reports.get()
            yield report
            self._reports.task_done()

    async def look(self, age: float = 0.0) -> bool:
        """See the protocol; at most once a second."""
        answered = await self._watch.fresh(age)
        await self._reports.join()
        return answered

    def outlooks(self) -> dict[str, JobOutlook]:
        """See the protocol."""
        return self._book.outlooks()

    def looked_at(self) -> float | None:
        """See the protocol."""
        return self._watch.seen_at

    # Orders

    async def start(self, job_id: str, at: float | None = None) -> bool:
        """See the protocol. A job that cannot be started now is reported as withdrawn."""
        job = self._book.jobs.get(job_id)
        if job is None or job.phase is not Phase.OFFERED:
            return False
        starting = self._own(self._start(job, at, job.changed))
        if at is None:
            await asyncio.shield(starting)
        return True

    async def let_find(self, job_id: str, finding: Mapping[str, str]) -> None:
        """See the protocol: the hook adds them to the job's own variables."""
        self._of(job_id).finding = dict(finding)

    async def _start(self, job: Job, at: float | None, offered: float) -> None:
        """`offered`: when the job was; another offer is not meant."""
        async with job.order:
            if at is not None:
                await asyncio.sleep(at - self._notice.seconds - time.time())
            if job.phase is not Phase.OFFERED or job.changed != offered:
                return
            job.admitted = True
            try:
                await self._run(job)
            finally:
                job.admitted = False
                self._free(job)

    async def _run(self, job: Job) -> None:
        began = self._now()
        try:
            await until_it_answers(lambda: self._pbs.run(job.job_id, job.vnodes))
        except UnknownJobError:  # it has ended
            self._watch.hint()
        except ManagerError as error:
            await self._not_run(job, error)
        else:
            self._notice.note(self._now() - began)
            self._book.runs(job, time.time())

    async def _not_run(self, job: Job, error: ManagerError) -> None:
        """qrun has failed; it fails too for a job that runs already: an earlier call had no answer, or PBS was faster.

        The scheduler may start it on its nodes as soon as it is admitted.
        """
        rows = await until_it_answers(lambda: self._pbs.details([job.job_id]))
        if any(row.state in ("R", "E") or (row.state == "F" and row.started_at is not None) for row in rows):
            self._book.runs(job, time.time())
            self._watch.hint()  # perhaps it has even ended
            return
        _LOG.warning("job %s cannot be started on its nodes: %s", job.job_id, error)
        self._withdraw(job)

    async def give_back(self, job_id: str, backoff: float | None = None) -> bool:
        """See the protocol; continues if the caller is cancelled."""
        pause = self.settings.backoff if backoff is None else backoff
        return await asyncio.shield(self._own(self._give_back(self._of(job_id), pause)))

    async def release(self, job_id: str) -> bool:
        """See the protocol; continues if the caller is cancelled."""
        return await asyncio.shield(self._own(self._give_back(self._of(job_id), OTHERS_TURN)))

    async def _give_back(self, job: Job, pause: float) -> bool:
        async with job.order:
            if job.phase is not Phase.OFFERED:
                return False
            now = self._now()
            job.phase, job.changed, job.turned_away = Phase.QUEUED, now, now + pause
            self._free(job)
        self._own(self._schedule_later(pause))
        return True

    async def try_start(self, job_id: str, patience: float | None = None) -> bool:
        """See the protocol."""
        job = self._of(job_id)
        if job.phase is Phase.QUEUED:
            await self._wait_for_offer(job, self.settings.try_patience if patience is None else patience)
        return job.phase is Phase.OFFERED

    async def _wait_for_offer(self, job: Job, patience: float) -> None:
        wanted = job.wanted = asyncio.get_running_loop().create_future()
        try:
            with suppress(TimeoutError, ManagerError):
                async with asyncio.timeout(patience):
                    await self.hasten(job.job_id)
                    await wanted
        except asyncio.CancelledError:
            if wanted.done() and not wanted.cancelled():
                self._book.report_offer(job)  # nobody waits for it any more
            raise
        finally:
            job.wanted = None

    async def hasten(self, job_id: str) -> None:
        """See the protocol."""
        self._of(job_id).turned_away = 0.0
        await self._pbs.schedule()

    async def cancel(self, job_id: str) -> None:
        """See the protocol."""
        await self._pbs.cancel(self._of(job_id).job_id)
        self._watch.hint()

    async def forget(self, job_id: str) -> None:
        """See the protocol: a job is forgotten when PBS forgets it."""

    # Mates

    async def adopt(self, job_id: str, link: Link, owner: str) -> None:
        """See the protocol: the job's resources name the mate."""
        if not self._book.names_no_mate(job_id):
            return
        for row in await self._pbs.details([job_id]):
            if row.owner == owner and row.state in ("Q", "H", "W") and not row.array:
                await self._name(job_id, link)
                await self.look()

    async def relink(self, job_id: str, link: Link) -> None:
        """See the protocol."""
        job = self._of(job_id)
        job.link = link
        await self._name(job_id, link)

    async def part(self, job_id: str) -> None:
        """See the protocol."""
        job = self._of(job_id)
        job.link = None
        await self._pbs.alter(job_id, words(None))

    async def _name(self, job_id: str, link: Link) -> None:
        try:
            resources = words(link)
        except WordError as error:
            raise ValueError(str(error)) from None
        await self._pbs.alter(job_id, resources)

    async def examine(self, service: Account, *, serving: bool, slots: SlotsOnRecord = dict) -> list[Finding]:  # noqa: ARG002
        """See the protocol."""
        from cosched.adapters.pbs.doctor import examine  # a service does not need it

        return await examine(self.settings, service, serving=serving)

    async def close(self) -> None:
        """Stop watching. Held nodes stay offline for their jobs; the next service goes on with them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._pbs.close()
        self._watch.close()
        await self._hooks.close()

    def _of(self, job_id: str) -> Job:
        job = self._book.jobs.get(job_id)
        if job is None:
            raise UnknownJobError(f"no job {job_id[:64]!a} with a mate is known to PBS")
        return job

    # Nodes

    def _offered(self, job: Job) -> None:
        self._own(self._hold(job, job.vnodes))

    async def _hold(self, job: Job, vnodes: str) -> None:
        """Take the nodes of an offered job offline, if the answer takes long."""
        await asyncio.sleep(self.settings.guard)
        async with job.order, self._notes:
            if not job.keeps(vnodes) or job.offline:
                return
            nodes = await until_it_answers(self._pbs.nodes)
            if not job.keeps(vnodes):
                return
            if any(node.name in job.kept and "offline" in node.states for node in nodes):  # an administrator's doing
                self._withdraw(job)
                return
            job.offline = True
            await until_it_answers(lambda: self._pbs.hold(job.job_id, vnodes))
            for node in commands.chunks(vnodes):
                self._to_free.pop(node, None)  # an earlier hold was still to be freed
            if not job.keeps(vnodes):
                self._to_free |= dict.fromkeys(commands.chunks(vnodes), job.job_id)
                self._own(self._free_nodes())
                return
        await self._pbs.schedule()  # others were turned away from these nodes: PBS is to try them on other ones

    def _free(self, job: Job) -> None:
        """Let others have the nodes of a job that does not wait on them any more."""
        if job.offline:
            self._to_free |= dict.fromkeys(commands.chunks(job.vnodes), job.job_id)
        job.offline = False
        self._own(self._free_nodes())

    async def _free_nodes(self) -> None:
        """Put the nodes that we hold for nobody online, and let PBS fill them."""
        if self._to_free:
            await until_it_answers(self._free_ours)
        await self._pbs.schedule()

    async def _free_ours(self) -> None:
        """Free those nodes that still have our note: an administrator who wants a node to stay offline removes it."""
        async with self._notes:
            freed = dict(self._to_free)
            holders = {row.name: commands.held_for(row.holder) for row in await self._pbs.nodes()}
            ours = [node for node, job in freed.items() if (held := holders.get(node)) and held[0] == job]
            await self._pbs.let_go(ours)
            self._to_free = {node: job for node, job in self._to_free.items() if freed.get(node) != job}

    async def _schedule_later(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await until_it_answers(self._pbs.schedule)

    # Looks at the queue

    def _changing(self, job_id: str) -> str | None:
        """A user is about to change a job: the nodes that are kept for it may not fit it any more."""
        job = self._book.jobs.get(job_id)
        if job is None or job.phase is not Phase.OFFERED:
            return None
        if job.admitted:
            return "the job is being started"
        self._withdraw(job)
        return None

    def _ended(self, job_id: str) -> None:
        if job_id in self._book.jobs:
            self._watch.hint()

    async def _look(self) -> None:
        began = self._now()
        rows = await self._pbs.queue()
        if missing := self._book.missing(rows, began):
            found = {row.job_id: row for row in await self._pbs.details(missing)}
            for job_id in missing:
                self._miss(self._book.jobs[job_id], found.get(job_id))
        self._book.see(rows, began)  # afterwards: a new job may have the mate of one that has ended
        if self._book.namesakes:
            self._book.namesakes.clear()
            self._own(self._schedule_later(0))
        for job in self._book.held_back(rows, began):
            self._withdraw(job)
        await self._check_nodes()

    def _miss(self, job: Job, row: commands.JobRow | None) -> None:
        """A job is not in the queue any more."""
        if row is not None and row.state != "F":
            return
        self._book.ended(job, gone(job.job_id, job.started) if row is None else ended(row, job.started))
        self._free(job)

    async def _check_nodes(self) -> None:
        """Find held nodes that are lost, and nodes that were to be freed and are not."""
        held = [job for job in self._book.jobs.values() if job.phase is Phase.OFFERED]
        if not held and not self._to_free:
            return
        now = self._now()
        down = [node.name for node in await self._pbs.nodes() if set(node.states) & set(_DOWN)]
        self._down = {node: self._down.get(node, now) for node in down}
        lost = {node for node, since in self._down.items() if now >= since + LOST_AFTER}
        for job in held:
            if not job.kept.isdisjoint(lost):
                _LOG.warning("job %s has lost a node that was kept for it", job.job_id)
                self._withdraw(job)
        if self._to_free:
            self._own(self._free_nodes())

    def _withdraw(self, job: Job) -> None:
        """A job has lost what was kept for it."""
        self._free(job)
        self._book.withdraw(job)

    # Tasks

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _own(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            if isinstance(error, ManagerError):
                _LOG.warning("%s", error)
            else:
                _LOG.error("a task of the PBS manager has failed", exc_info=error)


def _make(domain: str, directory: Path, settings: Mapping[str, object]) -> PbsManager:  # noqa: ARG001
    """Make the manager; SettingError."""
    return PbsManager(read_settings(directory, settings))


create = BatchSystemFactory(_make, submit, can_group=True)  # the entry point `pbs` of the group `cosched.adapters`
