"""What is known of the jobs that name a mate, and whether the server may run a job now."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from cosched.adapters.batch_system import (
    Appeared,
    BatchReport,
    JobOutlook,
    Known,
    Offered,
    Refused,
    Relinked,
    Withdrawn,
)
from cosched.adapters.manager import Ended, Started
from cosched.adapters.pbs import commands
from cosched.adapters.pbs.commands import JobRow
from cosched.adapters.pbs.ends import SECOND
from cosched.adapters.pbs.hook_server import Asked
from cosched.adapters.pbs.words import ARRAY, WordError, find
from cosched.core.protocol import Named

WAITS = "waits for its mate (cosched)"
STEPS_BACK = "lets other jobs go first (cosched)"
NAMESAKE = "whether another job with its mate or group has ended is looked at (cosched)"
TAKEN = "its nodes have just been taken (cosched)"
_CYCLE = 10.0  # seconds: no scheduling cycle takes longer, or little is lost
_LOG = logging.getLogger(__name__)


class Phase(Enum):
    """Where a job is."""

    QUEUED = "queued"
    OFFERED = "offered"  # PBS has chosen it and its nodes, and we keep these for it
    RUNNING = "running"
    ENDED = "ended"


@dataclass(eq=False)
class BatchJob:
    """A job that names a mate; instants by the loop's clock, but for `submitted` and `started`."""

    job_id: str
    owner: str
    named: Named | None
    nodes: int
    submitted: int  # seconds since 1970
    name: str = ""
    time_limit: int = 0
    account: str = ""
    phase: Phase = Phase.QUEUED
    expected: int | None = None  # when PBS expects to start it while it waits
    comment: str = ""  # why it waits, in PBS's words
    vnodes: str = ""  # those that it was offered on
    number: int = 0  # of its latest offer
    offline: bool = False  # they are offline, with the job on record
    admitted: bool = False  # we have called qrun: the hook lets it run
    turned_away: float = 0.0  # until then it is not offered
    by_us: float = float("-inf")  # when we have started it
    too_late: set[str] = field(default_factory=set)  # jobs that were refused its nodes since then
    started: float | None = None  # seconds since 1970
    end: Ended | None = None
    changed: float = 0.0  # when the hook, or we, last changed its phase: older looks do not count
    wanted: asyncio.Future[None] | None = None  # while a caller waits for the offer: it goes there, not into a report
    order: asyncio.Lock = field(default_factory=asyncio.Lock)  # one order at a time
    finding: Mapping[str, str] = field(default_factory=dict)  # variables by which it finds its mates

    @property
    def kept(self) -> frozenset[str]:
        """The nodes that are kept for it."""
        return frozenset(commands.chunks(self.vnodes)) if self.phase is Phase.OFFERED else frozenset()

    @property
    def offered_as(self) -> int:
        """The number of the offer that it has; 0: none."""
        return self.number if self.phase is Phase.OFFERED else 0

    def keeps(self, vnodes: str) -> bool:
        """Whether it is offered, and on these nodes."""
        return self.phase is Phase.OFFERED and self.vnodes == vnodes


class Register:
    """Reports go to `report`; `clock` is the loop's.

    `on_offer` gets each job that is offered now; `ask_again` makes PBS schedule once more; `look` looks at the queue.
    """

    def __init__(
        self,
        report: Callable[[BatchReport], None],
        clock: Callable[[], float],
        on_offer: Callable[[BatchJob], None],
        ask_again: Callable[[], object],
        look: Callable[[], object],
    ) -> None:
        self.jobs: dict[str, BatchJob] = {}
        self.namesakes: set[str] = set()  # jobs that wait for a look
        self._report = report
        self._clock = clock
        self._on_offer = on_offer
        self._ask_again = ask_again
        self._look = look
        self._others: set[str] = set()  # queued jobs that name no mate
        self._refused: set[str] = set()
        self._lines: dict[str, str] = {}  # jobs that wait, in order, with their queues, by the last look
        self._numbers = itertools.count(1)  # of offers

    # The hook's question

    def asked(self, asked: Asked) -> str | None:
        """Return why a job must not run now on the nodes that PBS has chosen; None: it may."""
        in_the_way = self._keeper(asked)
        if in_the_way is not None:
            return f"its nodes are kept for job {in_the_way.job_id} (cosched)"
        named = self._named(asked.job_id, asked.owner, asked.resources, asked.array)
        job = self.jobs.get(asked.job_id)
        if job is None and named is not None and self._is_named(named, asked.owner):
            self.namesakes.add(asked.job_id)
            self._look()
            return NAMESAKE
        if job is None and named is not None:
            nodes, just_now = len(commands.chunks(asked.vnodes)), int(time.time())
            job = self._add(
                BatchJob(asked.job_id, asked.owner, named, nodes, just_now, asked.name, account=asked.account or "")
            )
        if job is None:
            return None
        if asked.account is not None:
            job.account = asked.account
        if named != job.named:
            self.relink(job, named)
        if job.named is None or (job.admitted and job.kept == commands.chunks(asked.vnodes).keys()):
            return None
        return self._offer(job, asked.vnodes)

    def finding(self, job_id: str) -> Mapping[str, str]:
        """Return the variables for a job that may run; none for a job without mates."""
        job = self.jobs.get(job_id)
        return job.finding if job is not None else {}

    def keeps_nodes(self) -> bool:
        """Whether nodes are kept for a job."""
        return any(job.phase is Phase.OFFERED for job in self.jobs.values())

    def _keeper(self, asked: Asked) -> BatchJob | None:
        """Return another job for which one of the nodes is kept."""
        nodes = commands.chunks(asked.vnodes).keys()
        rivals = (job for job in self.jobs.values() if job.job_id != asked.job_id and not job.kept.isdisjoint(nodes))
        return next(rivals, None)

    def _offer(self, job: BatchJob, vnodes: str) -> str:
        if job.phase is Phase.OFFERED:
            return WAITS
        if self._clock() < job.turned_away:
            return STEPS_BACK
        if self._taken(job, vnodes):
            return TAKEN
        if job.phase is Phase.RUNNING:
            self._report(Withdrawn(job.job_id))
        self.note_offer(job, vnodes)
        job.started, job.nodes, job.changed = None, len(commands.chunks(vnodes)), self._clock()
        self._on_offer(job)
        if job.wanted is not None and not job.wanted.done():
            job.wanted.set_result(None)
        else:
            self.report_offer(job)
        return WAITS

    def _taken(self, job: BatchJob, vnodes: str) -> bool:
        """Whether one of the nodes went to a job that we started while this cycle of the scheduler had begun already.

        The cycle still sees these nodes as free. A cycle asks once for each job, so that of those that ask again the
        scheduler means that they share the nodes.
        """
        nodes, since = commands.chunks(vnodes).keys(), self._clock() - _CYCLE
        for other in self.jobs.values():
            if other.by_us < since or other.phase is not Phase.RUNNING or job.job_id in other.too_late:
                continue
            if other is not job and not commands.chunks(other.vnodes).keys().isdisjoint(nodes):
                other.too_late.add(job.job_id)
                self._ask_again()
                return True
        return False

    def note_offer(self, job: BatchJob, vnodes: str) -> None:
        """Note that a job is offered on these nodes from now on."""
        job.phase, job.vnodes, job.number = Phase.OFFERED, vnodes, next(self._numbers)

    def report_offer(self, job: BatchJob) -> None:
        """Report the job's offer, if it has one."""
        if job.phase is Phase.OFFERED:
            told = job.job_id, job.submitted, job.nodes, job.vnodes, job.owner, job.named
            self._report(Offered(*told, can_yield=True, number=job.number, account=job.account))

    # Looks at the queue

    def missing(self, rows: Iterable[JobRow], began: float) -> list[str]:
        """Return the jobs that a look which began at `began` did not find among those that have not ended."""
        seen = {row.job_id for row in rows}
        return [
            job.job_id
            for job in self.jobs.values()
            if job.job_id not in seen and job.changed < began and job.phase is not Phase.ENDED
        ]

    def see(self, rows: Iterable[JobRow], began: float) -> None:
        """Process all jobs that have not ended, as a look that began at `began` found them."""
        seen = {row.job_id: row for row in rows}
        self._lines = lines(seen.values())
        for row in seen.values():
            job = self.jobs.get(row.job_id)
            if job is None:
                self.learn(row)
            elif job.changed < began:
                self._follow(job, row)
        self._others &= seen.keys()

    def held_back(self, rows: Iterable[JobRow], began: float) -> list[BatchJob]:
        """Return the offered jobs that their users hold back, as a look that began at `began` found them."""
        held = {row.job_id for row in rows if row.state == "H"}
        offered = (job for job in self.jobs.values() if job.phase is Phase.OFFERED and not job.admitted)
        return [job for job in offered if job.job_id in held and job.changed < began]

    def outlooks(self) -> dict[str, JobOutlook]:
        """Return what PBS expects of the jobs that wait."""
        found = places({job: queue for job, queue in self._lines.items() if not self._is_offered(job)})
        queued = (job for job in self.jobs.values() if job.phase is Phase.QUEUED)
        return {job.job_id: JobOutlook(job.expected, job.comment, *found.get(job.job_id, (0, 0))) for job in queued}

    def _is_offered(self, job_id: str) -> bool:
        job = self.jobs.get(job_id)
        return job is not None and job.phase is Phase.OFFERED

    def learn(self, row: JobRow) -> BatchJob | None:
        """Take up a job that was not known; None: it names no mate, or cannot have one."""
        named = self._named(row.job_id, row.owner, row.resources, row.array)
        if named is None:
            self._others.add(row.job_id)
            return None
        job = BatchJob(row.job_id, row.owner, named, row.nodes, row.submitted_at, row.name, row.walltime, row.account)
        self._add(job)
        self._follow(job, row)
        return job

    def _add(self, job: BatchJob) -> BatchJob:
        self.jobs[job.job_id] = job
        self._others.discard(job.job_id)
        self._report(Appeared(*_told(job)))
        return job

    def _follow(self, job: BatchJob, row: JobRow) -> None:
        job.submitted, job.time_limit = row.submitted_at, row.walltime
        job.expected, job.comment, job.account = row.expected, row.comment, row.account
        named = self._named(row.job_id, row.owner, row.resources, row.array)
        if named != job.named:
            self.relink(job, named)
        if row.state in ("R", "E", "S") and job.phase is not Phase.RUNNING:
            self.runs(job, float(row.started_at or 0) or None)
        elif row.state in ("Q", "H", "W", "T") and job.phase is Phase.RUNNING:
            self.withdraw(job)

    def runs(self, job: BatchJob, at: float | None) -> None:
        """Note that a job has started, by our word or without."""
        if not job.admitted and job.named is not None and job.phase is not Phase.RUNNING:
            _LOG.warning("job %s has started without permission", job.job_id)
        job.phase, job.started, job.changed = Phase.RUNNING, at, self._clock()
        if job.admitted:
            job.by_us, job.too_late = job.changed, set()
        self._report(Started(job.job_id, round((at or 0) * SECOND)))

    def withdraw(self, job: BatchJob) -> None:
        """Note that a job has lost its nodes, and is queued again."""
        job.phase, job.vnodes, job.started, job.changed = Phase.QUEUED, "", None, self._clock()
        self._report(Withdrawn(job.job_id))

    def ended(self, job: BatchJob, end: Ended) -> None:
        """Note a job's end."""
        if job.phase is not Phase.ENDED:
            job.phase, job.end, job.changed = Phase.ENDED, end, self._clock()
            self._report(end)

    def forget(self, job_id: str) -> None:
        """Drop a job that has ended; one that has not stays."""
        if job_id in self.jobs and self.jobs[job_id].phase is Phase.ENDED:
            del self.jobs[job_id]

    # Mates

    def names_no_mate(self, job_id: str) -> bool:
        """Whether this is a queued job that names no mate at present."""
        job = self.jobs.get(job_id)
        return job_id in self._others if job is None else job.named is None and job.phase is Phase.QUEUED

    def _is_named(self, named: Named, owner: str) -> bool:
        """Whether a job of this owner has this mate, or is in this group, and has not ended as far as is known."""
        mine = (job for job in self.jobs.values() if job.owner == owner and job.phase is not Phase.ENDED)
        return any(job.named is not None and (job.named.name, job.named.ids) == (named.name, named.ids) for job in mine)

    def relink(self, job: BatchJob, named: Named | None) -> None:
        """Note that a job names another mate, or none."""
        job.named = named
        self._report(Relinked(job.job_id, named))

    def _named(self, job_id: str, owner: str, resources: Mapping[str, str], array: bool) -> Named | None:
        """Return the mate that a job names; None also if it cannot have one."""
        try:
            named = find(resources)
        except WordError as error:
            self._refuse(job_id, owner, str(error))
            return None
        if named is not None and array:
            self._refuse(job_id, owner, ARRAY)
            return None
        return named

    def _refuse(self, job_id: str, owner: str, reason: str) -> None:
        if job_id not in self._refused:
            self._refused.add(job_id)
            _LOG.warning("job %s of %s starts alone: %s", job_id, owner, reason)
            self._report(Refused(job_id, owner, reason))


def known(job: BatchJob) -> Known:
    """Return a job and its state, for `open`."""
    return Known(*_told(job), offered=job.phase is Phase.OFFERED, running=job.phase is Phase.RUNNING, end=job.end)


def _told(job: BatchJob) -> tuple[str, int, int, str, Named | None, str, int, str]:
    """Return the fields of Appeared."""
    return job.job_id, job.submitted, job.nodes, job.owner, job.named, job.name, job.time_limit, job.account


def lines(rows: Iterable[JobRow]) -> dict[str, str]:
    """Return the queues of the jobs that wait for nodes, in the order in which qstat shows them."""
    return {row.job_id: row.queue for row in rows if row.state == "Q"}


def places(found: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Return the places of jobs in their queues, from 1, and how many wait there.

    This is an estimate: the server's order counts where PBS's scheduler has no other (job_sort_formula, fair share).
    """
    counts = Counter(found.values())
    before: Counter[str] = Counter()
    told = {}
    for job, queue in found.items():
        before[queue] += 1
        told[job] = before[queue], counts[queue]
    return told
