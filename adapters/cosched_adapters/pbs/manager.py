"""The PBS manager handles jobs that name a mate: the server's hook offers them, and qstat shows them.

PBS has no state in which a chosen job waits with its nodes. So the hook rejects the job, and every other job that would
get one of these nodes. If the answer takes longer than `guard`, the nodes are taken offline, with the job on record
there: so they stay the job's even if the service or the server restarts. `qrun -H` starts it on exactly these nodes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from cosched.core.protocol import Named
from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import BatchSystemFactory, Known, LoneJob
from cosched_adapters.findings import Finding
from cosched_adapters.manager import ManagerError, NoRequeueError, SlotsOnRecord, UnknownJobError
from cosched_adapters.mate_fields import ADOPTABLE, is_adoptable, words
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.batch_job import BatchJob
from cosched_adapters.pbs.calls import Pbs
from cosched_adapters.pbs.held_nodes import HeldNodes
from cosched_adapters.pbs.hook_server import HookServer
from cosched_adapters.pbs.own import OwnPbsManager
from cosched_adapters.pbs.queue import PbsQueue
from cosched_adapters.pbs.register import Register
from cosched_adapters.pbs.settings import PbsSettings, read_settings
from cosched_adapters.pbs.submitting import submit
from cosched_adapters.permissions import Account
from cosched_adapters.programs import until_it_answers

FROM_ORDER_TO_JOB = 0.015  # seconds from qrun's end to the job's first instruction; measured on OpenPBS 23.06.06
_REMEMBERED = 9  # calls
OTHERS_TURN = 2.0  # seconds that a released job is turned away, so that others get its nodes offered first
_UNTIL_ORDERED = 0.01  # seconds from an agreement to the order to start
_LOG = logging.getLogger(__name__)


class PbsManager(PbsQueue):
    """See `adapters.batch_system`. An offered job waits in the queue, by the hook's word, until an order comes."""

    others_turn = OTHERS_TURN
    mate_field = "pair, mate or group resource"

    def __init__(self, settings: PbsSettings) -> None:
        super().__init__(settings, Pbs(settings), _LOG)
        self._register = Register(
            self._reports.put_nowait,
            self._now,
            lambda job: self._held.keep(job),
            ask_again=lambda: self._tasks.begin(self._schedule_later(0)),
            look=lambda: self._watch.hint(),
        )
        heard = self._register.asked, self._changing, self._watch.hint, self._ended
        self._hooks = HookServer(settings.hook_socket, *heard, self._register.keeps_nodes, self._register.finding)
        self._held = HeldNodes(self._pbs, self._tasks, self._now, settings.guard, self._withdraw)
        self._notice = StartNotice(settings.start_lead)

    @property
    def start_lead(self) -> float:
        """See the protocol: as the last starts took."""
        return min(self.settings.start_lead, self._notice.seconds + _UNTIL_ORDERED)

    async def open(self) -> dict[str, Known]:
        """See the protocol; serves the hook."""
        self._held.take_up(await self._take_stock(), self._register)
        await self._serve(self._hooks, "the hook")
        self._watch.hint()
        self._tasks.begin(self._schedule_later(0))  # PBS offers again what an earlier service did not keep
        return self._all_known()

    # Orders

    async def start(self, job_id: str, at: float | None = None) -> bool:
        """See the protocol. A job that cannot be started now is reported as withdrawn."""
        job = self._register.jobs.get(job_id)
        if job is None or job.phase is not Phase.OFFERED:
            return False
        starting = self._tasks.begin(self._start(job, at, job.number))
        if at is None:
            await asyncio.shield(starting)
        return True

    async def _start(self, job: BatchJob, at: float | None, offer: int) -> None:
        """Start a job on the nodes of this offer."""
        async with job.order:
            if at is not None:
                await asyncio.sleep(at - self._notice.seconds - time.time())
            if job.offered_as != offer:
                return
            job.admitted = True
            try:
                await self._run(job)
            finally:
                job.admitted = False
                self._held.free(job)

    async def _run(self, job: BatchJob) -> None:
        began = self._now()
        try:
            await until_it_answers(lambda: self._pbs.run(job.job_id, job.nodelist))
        except UnknownJobError:  # it has ended
            self._watch.hint()
        except ManagerError as error:
            await self._not_run(job, error)
        else:
            self._notice.note(self._now() - began)
            self._register.runs(job, time.time())

    async def _not_run(self, job: BatchJob, error: ManagerError) -> None:
        """qrun has failed; it fails too for a job that runs already: an earlier call had no answer, or PBS was faster.

        The scheduler may start it on its nodes as soon as it is admitted.
        """
        rows = await until_it_answers(lambda: self._pbs.details([job.job_id]))
        if any(row.state in ("R", "E") or (row.state == "F" and row.started_at is not None) for row in rows):
            self._register.runs(job, time.time())
            self._watch.hint()  # perhaps it has even ended
            return
        _LOG.warning("job %s cannot be started on its nodes: %s", job.job_id, error)
        self._withdraw(job)

    async def _give_back(self, job: BatchJob, pause: float, offer: int | None) -> bool:
        async with job.order:
            if job.phase is not Phase.OFFERED or offer not in (None, job.number):
                return False
            self._register.give_back(job, self._now() + pause)
            self._held.free(job)
        self._tasks.begin(self._schedule_later(pause))
        return True

    async def requeue(self, job_id: str) -> None:
        job = self._of(job_id)
        for row in await self._pbs.details([job_id]):
            if row.state in ("R", "S") and not row.rerunnable:
                raise NoRequeueError(f"job {job.job_id} cannot be queued again by PBS (qsub -r n)")
            if row.state in ("R", "S"):
                await self._pbs.rerun(job_id)
        self._watch.hint()

    async def hasten(self, job_id: str) -> None:
        self._of(job_id).turned_away = 0.0
        await self._pbs.schedule()

    # Mates

    async def adopt(self, job_id: str, named: Named, may: Callable[[LoneJob], bool]) -> bool:
        """See the protocol: the job's resources name the mate."""
        if not self._register.names_no_mate(job_id):
            return False
        for row in await self._pbs.details([job_id]):
            if row.state in ("Q", "H", "W") and not row.array and may(_lone(row)):
                given = words(named) | ({ADOPTABLE: ""} if ADOPTABLE in row.resources else {})
                await self._pbs.alter(job_id, given)
                await self.look()
                return True
        return False

    async def _name(self, job: BatchJob, named: Named | None) -> None:
        given = words(named, job.named)
        self._register.name(job, named)
        await self._pbs.alter(job.job_id, given)

    async def examine(self, service: Account, *, serving: bool, slots: SlotsOnRecord = dict) -> list[Finding]:  # noqa: ARG002
        from cosched_adapters.pbs.doctor import examine  # a service does not need it

        return await examine(self.settings, service, serving=serving)

    async def close(self) -> None:
        """Stop watching. Held nodes stay offline for their jobs; the next service goes on with them."""
        await self._stop(self._hooks)
        await self._pbs.close()

    async def _schedule_later(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await until_it_answers(self._pbs.schedule)

    # Looks at the queue

    def _changing(self, job_id: str) -> str | None:
        """A user is about to change a job: the nodes that are kept for it may not fit it any more."""
        job = self._register.jobs.get(job_id)
        if job is None or job.phase is not Phase.OFFERED:
            return None
        if job.admitted:
            return "the job is being started"
        self._withdraw(job)
        return None

    def _ended(self, job_id: str) -> None:
        if job_id in self._register.jobs:
            self._tasks.begin(self._look_at(job_id))

    async def _look_at(self, job_id: str) -> None:
        """Note that a job has ended, as the hook says: look at this one; PBS may not have written it down yet."""
        try:
            rows = await self._pbs.details([job_id])
        except ManagerError:
            rows = []
        ends = [row for row in rows if row.state == "F"]
        job = self._register.jobs.get(job_id)
        if job is not None and ends:
            self._miss(job, ends[0])
        elif job is not None:
            self._watch.hint()

    async def _look(self) -> None:
        rows, began = await self._look_at_all()
        if self._register.namesakes:
            self._register.namesakes.clear()
            self._tasks.begin(self._schedule_later(0))
        for job in self._register.held_back(rows, began):
            self._withdraw(job)
        await self._held.check(list(self._register.jobs.values()))

    def _miss(self, job: BatchJob, row: commands.JobRow | None) -> None:
        super()._miss(job, row)
        if job.phase is Phase.ENDED:
            self._held.free(job)

    def _withdraw(self, job: BatchJob) -> None:
        """Note that a job has lost what was kept for it."""
        self._held.free(job)
        self._register.withdraw(job)


def _lone(row: commands.JobRow) -> LoneJob:
    return LoneJob(row.owner, is_adoptable(row.resources), row.state == "H")


def _make(domain: str, directory: Path, settings: Mapping[str, object]) -> PbsQueue:  # noqa: ARG001
    """Make the manager; SettingError."""
    found = read_settings(directory, settings)
    return PbsManager(found) if found.gates is None else OwnPbsManager(found)


create = BatchSystemFactory(_make, submit, can_group=True, names_nodes=True)  # entry point of `cosched.adapters`


class StartNotice:
    """Learns from the last calls of qrun how long one takes; `most`: seconds, also if there was no call yet."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._took: deque[float] = deque(maxlen=_REMEMBERED)

    def note(self, seconds: float) -> None:
        """Note how long a call of qrun has taken."""
        self._took.append(seconds)

    @property
    def seconds(self) -> float:
        """The notice, in seconds."""
        return min(self._most, median(self._took) + FROM_ORDER_TO_JOB) if self._took else self._most
