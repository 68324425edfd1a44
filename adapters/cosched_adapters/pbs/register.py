"""What is known of the jobs that name a mate, and whether the server may run a job now."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from cosched.core.protocol import Named
from cosched_adapters import register
from cosched_adapters.batch_job import SECOND, Phase
from cosched_adapters.batch_system import BatchReport, JobOutlook, Withdrawn
from cosched_adapters.manager import Started
from cosched_adapters.mate_fields import ARRAY
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.batch_job import BatchJob, Mate
from cosched_adapters.pbs.commands import JobRow
from cosched_adapters.pbs.hook_server import Asked
from cosched_adapters.slices import Slices

WAITS = "waits for its mate (cosched)"
STEPS_BACK = "lets other jobs go first (cosched)"
NAMESAKE = "checking whether an earlier job with this mate or group has ended (cosched)"
TAKEN = "its nodes have just been taken (cosched)"
_CYCLE = 10.0  # seconds: no scheduling cycle takes longer, or little is lost
_LOG = logging.getLogger(__name__)


class Register(register.Register[BatchJob]):
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
        super().__init__(report, clock)
        self.namesakes: set[str] = set()  # jobs that wait for a look
        self._on_offer, self._ask_again, self._look = on_offer, ask_again, look
        self._keepers: dict[str, BatchJob] = {}  # nodes that are kept, and for whom
        self._offered: dict[str, BatchJob] = {}
        self._by_us: dict[str, BatchJob] = {}  # jobs that we have started in the last cycle of the scheduler, in order
        self._namers: dict[Mate, dict[str, BatchJob]] = {}  # those that have not ended, by owner and mate
        self._lines: dict[str, str] = {}  # jobs that wait, in order, with their queues, by the last look

    # The hook's question

    def asked(self, asked: Asked) -> str | None:
        """Return why a job must not run now on the nodes that PBS has chosen; None: it may."""
        in_the_way = self._keeper(asked)
        if in_the_way is not None:
            return f"its nodes are kept for job {in_the_way.job_id} (cosched)"
        named = self.find(asked.job_id, asked.owner, asked.resources, ARRAY if asked.array else "")
        job = self.jobs.get(asked.job_id)
        if job is None and named is not None and _found_by(named, asked.owner) in self._namers:
            self.namesakes.add(asked.job_id)
            self._look()
            return NAMESAKE
        if job is None and named is not None:
            nodes, just_now = len(commands.chunks(asked.vnodes)), int(time.time())
            job = self.add(
                BatchJob(
                    job_id=asked.job_id, owner=asked.owner, named=named, nodes=nodes, submitted=just_now,
                    name=asked.name, account=asked.account or "",
                )
            )  # fmt: skip
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
        """Return whether nodes are kept for a job."""
        return bool(self._offered)

    def _keeper(self, asked: Asked) -> BatchJob | None:
        """Return another job for which one of the nodes is kept."""
        keepers = (self._keepers.get(node) for node in commands.chunks(asked.vnodes))
        return next((job for job in keepers if job is not None and job.job_id != asked.job_id), None)

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
        job.started, job.nodes = None, len(commands.chunks(vnodes))
        self._on_offer(job)
        self._tell_offer(job)
        return WAITS

    def _taken(self, job: BatchJob, vnodes: str) -> bool:
        """Whether one of the nodes went to a job that we started while this cycle of the scheduler had begun already.

        The cycle still sees these nodes as free. A cycle asks once for each job, so that of those that ask again the
        scheduler means that they share the nodes.
        """
        nodes = commands.chunks(vnodes).keys()
        self._drop_earlier_starts()
        for other in self._by_us.values():
            if other.phase is not Phase.RUNNING or job.job_id in other.too_late:
                continue
            if other is not job and not other.chosen.isdisjoint(nodes):
                other.too_late.add(job.job_id)
                self._ask_again()
                return True
        return False

    def _drop_earlier_starts(self) -> None:
        since = self._clock() - _CYCLE
        self._by_us = {id: job for id, job in self._by_us.items() if job.by_us >= since}

    def note_offer(self, job: BatchJob, vnodes: str) -> None:
        """Note that a job is offered on these nodes from now on."""
        job.number = next(self._numbers)
        self._enter(job, Phase.OFFERED, vnodes)

    def _enter(self, job: BatchJob, phase: Phase, vnodes: str | None = None) -> None:
        """Note that a job is in this phase from now on; on these nodes, if they are others than before."""
        if self._offered.pop(job.job_id, None) is not None:
            for node in job.chosen:
                if self._keepers.get(node) is job:
                    del self._keepers[node]
        super()._enter(job, phase)
        if vnodes is not None:
            job.put_on(vnodes)
        if phase is Phase.OFFERED:
            self._offered[job.job_id] = job
            self._keepers |= dict.fromkeys(job.chosen, job)
        self._note_mate(job)

    def _note_mate(self, job: BatchJob) -> None:
        """Let the job be found by its mate, or not any more."""
        if job.found_by is not None:
            del (namers := self._namers[job.found_by])[job.job_id]
            if not namers:
                del self._namers[job.found_by]
        ended = job.phase is Phase.ENDED
        job.found_by = None if job.named is None or ended else _found_by(job.named, job.owner)
        if job.found_by is not None:
            self._namers.setdefault(job.found_by, {})[job.job_id] = job

    def give_back(self, job: BatchJob, until: float) -> None:
        """Note that a job has given its nodes back, and is turned away until then."""
        self._enter(job, Phase.QUEUED)
        job.turned_away = until

    # Looks at the queue

    async def see(self, rows: Iterable[JobRow], began: float) -> None:
        """Process all jobs that have not ended, as a look that began at `began` found them, in slices."""
        seen, slices = {row.job_id: row for row in rows}, Slices()
        self._lines = lines(seen.values())
        for row in seen.values():
            await slices.pause()
            job = self.jobs.get(row.job_id)
            if self._is_new(row.job_id):
                self.learn(row)
            elif job is not None and job.changed < began:
                self._follow(job, row)
        self._drop_unseen(seen, began)
        self._drop_earlier_starts()

    def held_back(self, rows: Iterable[JobRow], began: float) -> list[BatchJob]:
        """Return the offered jobs that their users hold back, as a look that began at `began` found them."""
        held = {row.job_id for row in rows if row.state == "H"}
        offered = (job for job in self._offered.values() if not job.admitted)
        return [job for job in offered if job.job_id in held and job.changed < began]

    def outlooks(self) -> dict[str, JobOutlook]:
        """Return what PBS expects of the jobs that wait."""
        found = places({job: queue for job, queue in self._lines.items() if job not in self._offered})
        queued = self._those_queued()
        return {job.job_id: JobOutlook(job.expected, job.comment, *found.get(job.job_id, (0, 0))) for job in queued}

    def learn(self, row: JobRow) -> BatchJob | None:
        """Take up a job that was not known; None: it names no mate, or cannot have one."""
        named = self._named(row)
        if named is None:
            self._others[row.job_id] = row.submitted_at
            return None
        job = self.add(
            BatchJob(
                job_id=row.job_id, owner=row.owner, named=named, nodes=row.nodes, submitted=row.submitted_at,
                name=row.name, time_limit=row.walltime, account=row.account, queue=row.queue,
            )
        )  # fmt: skip
        self._follow(job, row)
        return job

    def add(self, job: BatchJob) -> BatchJob:
        """Take up a job that was not known."""
        self._note_mate(job)
        return super().add(job)

    def _follow(self, job: BatchJob, row: JobRow) -> None:
        job.submitted, job.time_limit = row.submitted_at, row.walltime
        job.expected, job.comment, job.account, job.queue = row.expected, row.comment, row.account, row.queue
        named = self._named(row)
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
        self.note_start(job, at)
        if job.admitted:
            job.by_us, job.too_late = job.changed, set()
            self._by_us[job.job_id] = job

    def note_start(self, job: BatchJob, at: float | None) -> None:
        """Note that a job runs."""
        self._enter(job, Phase.RUNNING)
        job.started = at
        self._report(Started(job.job_id, round((at or 0) * SECOND)))

    def withdraw(self, job: BatchJob) -> None:
        """Note that a job has lost its nodes, and is queued again."""
        self._enter(job, Phase.QUEUED, "")
        job.started = None
        self._report(Withdrawn(job.job_id))

    # Mates

    def name(self, job: BatchJob, named: Named | None) -> None:
        """See the class above; by its mate a job is found."""
        super().name(job, named)
        self._note_mate(job)

    def _named(self, row: JobRow) -> Named | None:
        """Return the mate that a job names; None also if it cannot have one."""
        return self.find(row.job_id, row.owner, row.resources, ARRAY if row.array else "")


def _found_by(named: Named, owner: str) -> Mate:
    return owner, named.name, named.ids


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
