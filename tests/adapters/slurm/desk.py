"""A job of Slurm's, a book of jobs, and what it is told of them by squeue and by hooks."""

import asyncio
from dataclasses import replace

from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import BatchReport
from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.hook_protocol import HookEnd, Offer
from cosched_adapters.slurm.register import Register

ROW = JobRow(
    job_id="7", array=None, task=None, het=None, state="PENDING", reason="Priority", nodes=2, submitted_at=1000,
    eligible_at=1000, started_at=None, ended_at=None, exit_code=0, signal=0, restarts=0, can_yield=True, user="ann",
    comment="cosched:pair=p",
)  # fmt: skip
RUNNING = replace(ROW, state="RUNNING", started_at=1010)
OFFER = Offer("7", 2, "a[1-2]", "ann", 1000, "cosched:pair=p", "flow", 0, True, None, None)
END = HookEnd("7", "COMPLETED", "0:0", 1000, 1010, 1020, None, None)


class Desk:
    """A book with a clock of its own, what it has reported, and what it has told the hooks."""

    def __init__(self) -> None:
        self.now = 1.0
        self.reports: list[BatchReport] = []
        self.told: list[tuple[str, str, float | None]] = []
        self.noted: tuple[str, int] | None = None  # whose hook has noted that it waits, in which turn
        waits = lambda row: (row.job_id, row.restarts) == self.noted  # noqa: E731
        self.book = Register(self.reports.append, lambda: self.now, waits)
        self.book.hooks = self

    def start(self, job_id: str, at: float | None = None) -> bool:
        self.told.append(("start", job_id, at))
        return True

    def end(self, job_id: str) -> bool:
        self.told.append(("end", job_id, None))
        return True

    def look(self, *rows: JobRow) -> list[JobRow]:
        """A look that begins now and asks for what is new."""
        self.now += 1
        began = self.now
        unknown = asyncio.run(self.book.unknown(rows))
        for row in rows:
            if row.job_id in unknown:
                self.book.learn(row)
        return asyncio.run(self.book.see(rows, began))

    def kill(self, offer: Offer) -> None:
        """The hook of this offer is killed."""
        self.now += 1
        if self.book.jobs["7"].phase is Phase.OFFERED:
            self.book.withdrawn("7")
        self.book.killed(offer)

    def requeued(self, *rows: JobRow) -> list[str]:
        """What a look finds that has to be requeued."""
        self.look(*rows)
        return [job.job_id for job in self.book.take_misled()]

    def let_go(self) -> None:
        """What the manager notes when it starts the job."""
        job = self.book.jobs["7"]
        job.phase, job.started, job.changed = Phase.TOLD_TO_START, 1010.0, self.now

    @property
    def kinds(self) -> list[str]:
        return [type(report).__name__ for report in self.reports]
