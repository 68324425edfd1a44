"""What is known of a job that was given back, by the rows of qstat."""

import asyncio
from pathlib import Path

from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import BatchReport
from cosched_adapters.gridengine.commands import JobRow
from cosched_adapters.gridengine.records import Records
from cosched_adapters.gridengine.register import Register

WAITS = JobRow("1", "ann", "job", "qw", pending=True, words={"pair": "p"})
RUNS = JobRow("1", "ann", "job", "r", words={"pair": "p"}, turn="2026-11-29T02:44:05")
LONG = 3600.0


class Clock:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_turn_that_was_given_back_never_counts_as_a_start_and_the_next_one_does(tmp_path: Path) -> None:
    """However long an execd that is started again and again takes to find that, also for the next service."""
    clock, records = Clock(), Records(tmp_path)
    assert not list(records.open())
    reports: list[BatchReport] = []
    register = Register(reports.append, clock, records)

    def look(row: JobRow) -> list[str]:
        """What two looks, a long time apart, report."""
        reports.clear()
        for _ in range(2):
            clock.now += LONG
            asyncio.run(register.see([row], clock.now))
        return [type(report).__name__ for report in reports]

    assert look(WAITS) == ["Appeared"]
    register.jobs["1"].given_back = RUNS.turn
    records.keep(register.jobs["1"])
    assert (look(RUNS), register.jobs["1"].phase) == ([], Phase.QUEUED)
    register = Register(reports.append, clock, records)
    register.jobs |= {job.job_id: job for job in records.open()}
    assert look(RUNS) == []
    assert look(JobRow("1", "ann", "job", "r", words={"pair": "p"}, turn="2026-11-29T02:45:00")) == ["Started"]
