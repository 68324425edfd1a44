"""Reads jobs' times from slurmctld's log, to the millisecond: squeue and the like show only whole seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

# These make Slurm 26.05 log the starts of backfilling too; older versions always do.
LOGGED = ("SlurmctldDebug=verbose", "DebugFlags=HetJob")
_LINE = re.compile(
    r"^\[(?P<at>\S+)\] (?:"
    r"(?P<submitted>_slurm_rpc_submit_batch_job: )"
    r"|(?P<selected>sched: Allocate |sched/backfill: _start_job: (?:HETJOB: )?Started )"
    r"|(?P<requeued>Requeuing )"
    r"|(?P<ended>_job_complete: )"
    r")JobId=(?P<job>\d+)(?P<rest>.*)$",
    re.MULTILINE,
)


@dataclass(slots=True)
class Story:
    """The times of one job, in seconds since 1970: `selected` each time it got nodes, `requeued` when it gave them up.

    The last time of `selected` belongs to its run.
    """

    submitted: float = 0.0
    selected: list[float] = field(default_factory=list)
    requeued: list[float] = field(default_factory=list)
    ended: float = 0.0

    def allocated(self, start: float) -> float:
        """Return for how many seconds it had nodes before it started."""
        ends = [*self.requeued, start]
        return sum(end - begin for begin, end in zip(self.selected, ends, strict=True))


def read_stories(log: str) -> dict[str, Story]:
    """Return the stories of all jobs of a log, by job id. The log is in local time, Slurm's default."""
    stories: dict[str, Story] = {}
    for job, what, at in _events(log):
        _note(stories.setdefault(job, Story()), what, at)  # a job may be selected just before its submission is logged
    return stories


def _note(story: Story, what: str, at: float) -> None:
    if what == "submitted":
        story.submitted = at
    elif what == "selected":
        story.selected.append(at)
    elif what == "requeued":
        story.requeued.append(at)
    else:
        story.ended = at


def _events(log: str) -> Iterator[tuple[str, str, float]]:
    for line in _LINE.finditer(log):
        what = next(kind for kind in ("submitted", "selected", "requeued", "ended") if line[kind])
        if what != "ended" or line["rest"].endswith(" done"):
            yield line["job"], what, datetime.fromisoformat(line["at"]).timestamp()
