"""A batch system in memory: the smallest that keeps all promises of `cosched_adapters.batch_system`, as an example.

`Machine` schedules, first come first served with gaps filled, and runs jobs that only sleep. It knows nothing of
cosched, but asks `admits` before it starts a job, as real systems ask a hook. `Memory` is the adapter.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from cosched.core.protocol import Named
from cosched_adapters.batch_system import Appeared, BatchReport, BatchSystem, Known, LoneJob, Offered, Withdrawn
from cosched_adapters.manager import End, Ended, Started, UnknownJobError

SECOND = 1_000_000_000  # nanoseconds


@dataclass(eq=False)
class Job:
    id: str
    nodes: int
    seconds: float
    named: Named | None
    owner: str
    account: str = ""
    adoptable: bool = False
    held: bool = False
    state: str = "queued"  # running, ended
    started: int = 0
    end: Ended | None = None
    running: asyncio.TimerHandle | None = None


@dataclass
class Machine:
    """The batch system. `admits` says whether a job may start now; `tell` hears what has happened to a job."""

    nodes: int
    jobs: dict[str, Job] = field(default_factory=dict)
    admits: Callable[[Job], bool] = lambda _: True
    tell: Callable[[Job], None] = lambda _: None
    kept: int = 0  # nodes that the adapter keeps for jobs that wait

    def __post_init__(self):
        self._ids = itertools.count(1)

    def submit(
        self, nodes: int, seconds: float, named: Named | None = None, owner: str = "ann", account: str = "",
        *, adoptable: bool = False, held: bool = False,
    ) -> str:  # fmt: skip
        job = Job(str(next(self._ids)), nodes, seconds, named, owner, account, adoptable, held)
        self.jobs[job.id] = job
        self.tell(job)
        self.schedule()
        return job.id

    def schedule(self) -> None:
        for job in list(self.jobs.values()):
            if job.state == "queued" and not job.held and job.nodes <= self.free and self.admits(job):
                self.run(job)

    @property
    def free(self) -> int:
        return self.nodes - self.kept - sum(job.nodes for job in self.jobs.values() if job.state == "running")

    def run(self, job: Job) -> None:
        job.state, job.started = "running", time.time_ns()
        job.running = asyncio.get_running_loop().call_later(job.seconds, self.finish, job, End.EXITED)
        self.tell(job)

    def finish(self, job: Job, how: End) -> None:
        if job.state == "ended":
            return
        if job.running is not None:
            job.running.cancel()
        code = 0 if how is End.EXITED else None
        job.end = Ended(job.id, how, time.time_ns(), job.started or None, exit_code=code)
        job.state = "ended"
        self.tell(job)
        self.schedule()

    def requeue(self, job: Job) -> None:
        job.running.cancel()
        job.state, job.started = "queued", 0
        self.tell(job)
        self.schedule()


class Memory(BatchSystem):
    """The adapter. A job that is offered keeps its nodes until an order comes."""

    start_lead, mate_field = 0.0, "link"

    def __init__(self, machine: Machine, backoff: float = 30.0):
        self.machine, self._backoff = machine, backoff
        self._reports: asyncio.Queue[BatchReport] = asyncio.Queue()
        self._offered: dict[str, int] = {}  # offers by their numbers
        self._numbers = itertools.count(1)
        self._wanted: dict[str, asyncio.Event] = {}
        self._turned_away: dict[str, float] = {}  # until when, by the loop's clock
        self._running: set[str] = set()
        self._known: set[str] = set()

    @property
    def nodes(self) -> int:
        return self.machine.nodes

    async def open(self) -> dict[str, Known]:
        found = {job.id: self._known_job(job) for job in self.machine.jobs.values() if job.named is not None}
        self._known, self._running = set(found), {id for id, known in found.items() if known.running}
        self.machine.admits, self.machine.tell = self._admits, self._told
        self.machine.kept = 0
        self.machine.schedule()
        return found

    def _known_job(self, job: Job) -> Known:
        return Known(job.id, 0, job.nodes, job.owner, job.named, running=job.state == "running", end=job.end)

    async def reports(self) -> AsyncIterator[BatchReport]:
        while True:
            yield await self._reports.get()

    async def look(self, age: float = 0.0) -> bool:  # noqa: ARG002
        return True  # the machine tells at once

    def _report(self, report: BatchReport) -> None:
        self._reports.put_nowait(report)

    # What the machine asks and tells

    def _admits(self, job: Job) -> bool:
        if job.named is None:
            return True
        if job.id in self._offered or asyncio.get_running_loop().time() < self._turned_away.get(job.id, 0.0):
            return False
        self._offered[job.id] = next(self._numbers)
        self.machine.kept += job.nodes
        if job.id in self._wanted:
            self._wanted[job.id].set()
        else:
            self._offer(job)
        return False

    def _offer(self, job: Job) -> None:
        on, number = (job.nodes, f"n[1-{job.nodes}]"), self._offered[job.id]
        self._report(Offered(job.id, 0, *on, job.owner, job.named, True, number, job.account))

    def _told(self, job: Job) -> None:
        if job.named is None:
            return
        if job.id not in self._known:
            self._known.add(job.id)
            self._report(Appeared(job.id, 0, job.nodes, job.owner, job.named, account=job.account))
        if job.state == "running":
            self._running.add(job.id)
            self._report(Started(job.id, job.started))
        elif job.state == "ended":
            self._let_go(job)
            self._report(job.end)
        elif job.id in self._running:
            self._running.discard(job.id)
            self._report(Withdrawn(job.id))

    # Orders

    async def start(self, job_id: str, at: float | None = None) -> bool:
        job = self.machine.jobs.get(job_id)
        if job is None or job_id not in self._offered:
            return False
        asyncio.get_running_loop().call_later(max(0.0, (at or 0) - time.time()), self._start, job)
        return True

    def _start(self, job: Job) -> None:
        if self._let_go(job):
            self.machine.run(job)

    async def give_back(self, job_id: str, backoff: float | None = None, offer: int | None = None) -> bool:
        return self._give_back(self._of(job_id), self._backoff if backoff is None else backoff, offer)

    async def release(self, job_id: str, offer: int | None = None) -> bool:
        return self._give_back(self._of(job_id), 0.1, offer)  # long enough for all others to be offered the nodes

    async def requeue(self, job_id: str) -> None:
        if self._of(job_id).state == "running":
            self.machine.requeue(self._of(job_id))

    def _give_back(self, job: Job, pause: float, offer: int | None) -> bool:
        if offer not in (None, self._offered.get(job.id)) or not self._let_go(job):
            return False
        loop = asyncio.get_running_loop()
        self._turned_away[job.id] = loop.time() + pause
        loop.call_later(pause, self.machine.schedule)
        self.machine.schedule()
        return True

    def _let_go(self, job: Job) -> bool:
        """Keep no nodes for the job any more; False: none were kept."""
        if job.id not in self._offered:
            return False
        del self._offered[job.id]
        self.machine.kept -= job.nodes
        return True

    async def try_start(self, job_id: str, patience: float | None = None) -> int:
        job, wanted = self._of(job_id), asyncio.Event()
        if job_id not in self._offered and job.state == "queued":
            self._wanted[job_id] = wanted
            try:
                await self.hasten(job_id)
                await asyncio.wait_for(wanted.wait(), 2.5 if patience is None else patience)
            except TimeoutError:
                pass
            finally:
                del self._wanted[job_id]
        return self._offered.get(job_id, 0)

    async def hasten(self, job_id: str) -> None:
        self._turned_away.pop(self._of(job_id).id, None)
        self.machine.schedule()

    async def cancel(self, job_id: str) -> None:
        self.machine.finish(self._of(job_id), End.CANCELLED)

    async def forget(self, job_id: str) -> None:
        pass

    # Mates

    async def adopt(self, job_id: str, named: Named, may: Callable[[LoneJob], bool]) -> bool:
        job = self.machine.jobs.get(job_id)
        if job is None or job.named is not None or job.state != "queued":
            return False
        if not may(LoneJob(job.owner, job.adoptable, job.held)):
            return False
        job.named = named
        self._told(job)
        self.machine.schedule()
        return True

    async def relink(self, job_id: str, named: Named) -> None:
        self._of(job_id).named = named

    async def part(self, job_id: str) -> None:
        self._of(job_id).named = None

    def _of(self, job_id: str) -> Job:
        if job_id not in self._known:
            raise UnknownJobError(f"no job {job_id[:64]!a} with a mate is known")
        return self.machine.jobs[job_id]

    async def close(self) -> None:
        """Without an adapter, jobs that name a mate wait."""
        self.machine.admits, self.machine.tell = lambda job: job.named is None, lambda _: None
