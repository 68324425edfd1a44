"""The Grid Engine manager handles jobs that name a mate: the queue's prolog is their gate, and qstat shows them.

A chosen job has its slots, and its prolog blocks: users see it run, but its time has not begun. The prolog's end lets
it start; with code 99 it is queued again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from cosched.core.protocol import Named
from cosched_adapters.batch_job import SECOND, Phase
from cosched_adapters.batch_system import BatchSystem, BatchSystemFactory, Known, LoneJob
from cosched_adapters.findings import Finding
from cosched_adapters.gridengine.batch_job import BatchJob
from cosched_adapters.gridengine.calls import GridEngine
from cosched_adapters.gridengine.commands import JobRow, RefusedError, words_of
from cosched_adapters.gridengine.ends import ended
from cosched_adapters.gridengine.gates import Gate, Gates
from cosched_adapters.gridengine.records import Records
from cosched_adapters.gridengine.register import Register
from cosched_adapters.gridengine.settings import GridEngineSettings, read_settings
from cosched_adapters.gridengine.submitting import submit
from cosched_adapters.manager import End, Ended, NoRequeueError, SlotsOnRecord
from cosched_adapters.mate_fields import ADOPTABLE, is_adoptable
from cosched_adapters.permissions import Account
from cosched_adapters.programs import until_it_answers
from cosched_adapters.root_hooks import RootHooks
from cosched_adapters.watched import WatchedQueue

OTHERS_TURN = 4.0  # seconds for which a released job is held back, so that others get its slots offered first
_ACCOUNTED = 30.0  # seconds after which accounting has a job's end, or never will
_LONGEST_END = 90.0  # seconds that a job may take to be gone: an execd finds ends that an earlier one missed every 60 s
_SELDOM = 0.1  # of the time that we have waited for an end: the pause until we look again
_LEAD = 0.05  # seconds that a prolog needs to hear an instant
_LOG = logging.getLogger(__name__)


class GridEngineManager(WatchedQueue[BatchJob], BatchSystem):
    """See `adapters.batch_system`. An offered job has its slots, and waits in its prolog."""

    system = "Grid Engine"
    others_turn = OTHERS_TURN
    mate_field = "pair, mate or group context"
    start_lead = _LEAD
    _register: Register

    def __init__(self, settings: GridEngineSettings) -> None:
        super().__init__(settings, _LOG)
        self.settings = settings
        self._engine = GridEngine(settings)
        self._records = Records(settings.records)
        self._register = Register(self._reports.put_nowait, self._now, self._records)
        gates = Gates(lambda gate: self._tasks.begin(self._asked(gate)), self._gone, self._ending)
        self._hooks = RootHooks(settings.hook_socket, gates.answer)

    async def open(self) -> dict[str, Known]:
        """See the protocol; serves the prologs."""
        self._nodes = await self._engine.slots()
        self._register.jobs |= {job.job_id: job for job in self._records.open()}
        await self._look()
        self._take_told()
        await self._serve(self._hooks, "the prologs")
        self._watch.hint()
        return self._all_known()

    # Orders

    async def start(self, job_id: str, at: float | None = None) -> bool:
        """See the protocol. What the prolog is told is on disk before."""
        job = self._register.jobs.get(job_id)
        if job is None or job.phase is not Phase.OFFERED or job.gate is None:
            return False
        gate, job.gate = job.gate, None
        self._register.let_go(job, gate.run, time.time() if at is None else at)
        gate.start(at, job.finding)
        self._tasks.begin(self._tell_started(job, gate.run))
        return True

    async def _tell_started(self, job: BatchJob, run: str) -> None:
        await asyncio.sleep((job.started or 0.0) - time.time())
        if job.phase is Phase.RUNNING and job.run == run:
            self._register.tell_started(job)

    async def _give_back(self, job: BatchJob, pause: float, offer: int | None) -> bool:
        """Keep the job back, then let its prolog end with 99: else Grid Engine would offer it again at once.

        A hold would not do: once a job has run, qmaster 8.1.9 saves neither a hold of it nor the end of the hold. After
        a restart of the qmaster, a job that was held back once would wait for good.

        An execd that was started anew takes 60 s to find that prologs have ended. Until then the turn that was given
        back looks as one that runs. So which turn it was is on disk before the prolog ends.
        """
        async with job.order:
            if job.phase is not Phase.OFFERED or offer not in (None, job.number):
                return False
            number, gate = job.number, job.gate
            row = await self._row_of(job)
            job.given_back = row.turn if row is not None else ""
            await self._put_off(job, time.time() + pause)
            if job.offered_as != number or gate is None:
                return False
            job.phase, job.gate, job.changed = Phase.QUEUED, None, self._now()
            gate.requeue()
            await self._until_queued(job)
        return True

    async def _until_queued(self, job: BatchJob) -> None:
        """Wait until Grid Engine has queued the job again, or it has ended."""
        while job.phase is Phase.QUEUED:
            row = await self._row_of(job)
            if row is None or row.pending:
                break
            await asyncio.sleep(0.1)
        job.changed = self._now()

    async def _row_of(self, job: BatchJob) -> JobRow | None:
        """Return a job with its state, once the qmaster answers; None: it has ended."""
        rows = await until_it_answers(self._engine.queue)
        return next((row for row in rows if row.job_id == job.job_id), None)

    async def _put_off(self, job: BatchJob, until: float) -> None:
        job.kept_back = until
        self._records.keep(job)
        await until_it_answers(lambda: self._engine.put_off(job.job_id, until))

    async def requeue(self, job_id: str) -> None:
        job = self._of(job_id)
        if job.phase is Phase.RUNNING:
            try:
                await self._engine.rerun(job_id)
            except RefusedError as error:
                raise NoRequeueError(f"job {job_id} cannot be queued again by Grid Engine: {error}") from None
            self._watch.hint()

    async def hasten(self, job_id: str) -> None:
        job = self._of(job_id)
        if job.kept_back > time.time():  # else its user may want it to begin later
            await self._put_off(job, time.time())

    async def cancel(self, job_id: str) -> None:
        """See the protocol. The prolog of a deleted job must end by itself."""
        job = self._of(job_id)
        if job.phase is Phase.ENDED:
            return
        await self._engine.cancel(job_id)
        job.deleted = True
        self._records.keep(job)
        self._watch.hint()

    # Mates

    async def adopt(self, job_id: str, named: Named, may: Callable[[LoneJob], bool]) -> bool:
        """See the protocol: the job's context names the mate."""
        if not self._register.names_no_mate(job_id):
            return False
        for row in await self._engine.queue():
            if row.job_id == job_id and row.pending and not row.array and may(_lone(row)):
                given = words_of(named, None) | ({ADOPTABLE: ""} if ADOPTABLE in row.words else {})
                await self._engine.name(job_id, given)
                return await self.look()
        return False

    async def _name(self, job: BatchJob, named: Named | None) -> None:
        given = words_of(named, job.named)
        self._register.put(job, named, given)
        await self._engine.name(job.job_id, given)

    async def examine(self, service: Account, *, serving: bool, slots: SlotsOnRecord = dict) -> list[Finding]:  # noqa: ARG002
        from cosched_adapters.gridengine.doctor import examine  # a service does not need it

        return await examine(self.settings, service)

    async def close(self) -> None:
        """Stop watching. Prologs wait for the next service."""
        await self._stop(self._hooks)

    # Gates and looks at the queue

    async def _asked(self, gate: Gate) -> None:
        """Note that a prolog asks: what its job names now counts."""
        row = await until_it_answers(lambda: self._engine.job(gate.job_id))
        while row is not None and row.words and not self._register.knows(gate.job_id) and gate.waits:
            await self._watch.fresh()
        if not gate.waits:
            return
        job = self._register.jobs.get(gate.job_id)
        if job is None and row is not None and row.words:
            job = self._register.learn(row)  # it has been given a mate since the last look
        elif job is not None and row is not None:
            self._register.follow_words(job, row)
        if job is None:
            gate.start()
        else:
            self._register.offered(job, gate)

    def _gone(self, gate: Gate) -> None:
        if self._register.gone(gate) is not None:
            self._watch.hint()

    async def _look(self) -> None:
        began = self._register.begin_look()
        rows = await self._engine.queue()
        for job in self._register.missing({row.job_id for row in rows}, began):
            await self._miss(job)
        await self._register.see(rows, began)  # afterwards: a new job may have the mate of one that has ended
        for job in list(self._register.jobs.values()):
            if job.deleted and job.phase is not Phase.ENDED:
                if job.gate is not None:
                    job.gate.requeue()  # Grid Engine ends it; it would start it if the execd has not heard yet
                self._ending(job.job_id)

    def _ending(self, job_id: str) -> None:
        """Note that a job is about to be gone: look until it is."""
        job = self._register.jobs.get(job_id)
        if job is not None and not job.ending:
            job.ending = True
            self._tasks.begin(self._until_gone(job))

    async def _until_gone(self, job: BatchJob) -> None:
        began = self._now()
        while job.phase is not Phase.ENDED and (waited := self._now() - began) < _LONGEST_END:
            await asyncio.sleep(_SELDOM * waited)
            await self._watch.fresh()
        job.ending = False

    async def _miss(self, job: BatchJob) -> None:
        """Note that a job is not in the queue any more."""
        if job.phase is not Phase.RUNNING and not job.run:
            self._register.note_end(job, Ended(job.job_id, End.CANCELLED, round(time.time() * SECOND)))
            return
        end = ended(job, await self._engine.records(job.job_id))
        job.missed = job.missed or self._now()
        if end is None and self._now() < job.missed + _ACCOUNTED:
            self._ending(job.job_id)
        else:
            self._register.note_end(job, end or job.lost("accounting has no record of its end"))


def _lone(row: JobRow) -> LoneJob:
    return LoneJob(row.owner, is_adoptable(row.words), "h" in row.state)


def _make(domain: str, directory: Path, settings: Mapping[str, object]) -> GridEngineManager:  # noqa: ARG001
    """Make the manager; SettingError."""
    return GridEngineManager(read_settings(directory, settings))


create = BatchSystemFactory(_make, submit, can_group=True)  # entry point of `cosched.adapters`
