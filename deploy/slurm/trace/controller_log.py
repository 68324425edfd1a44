"""What slurmctld notes of jobs in its log, to the millisecond: squeue and its like know whole seconds only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

# So that Slurm 26.05 notes also what backfilling starts; older versions do in any case.
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
    """Of one job, in seconds since 1970: `selected` and `requeued` are as often as it was given nodes and gave them up.

    The last time it is selected is that of its run.
    """

    submitted: float = 0.0
    selected: list[float] = field(default_factory=list)
    requeued: list[float] = field(default_factory=list)
    ended: float = 0.0

    def allocated(self, start: float) -> float:
        """Seconds for which it had nodes before it started."""
        ends = [*self.requeued, start]
        return sum(end - begin for begin, end in zip(self.selected, ends, strict=True))


def read_stories(log: str) -> dict[str, Story]:
    """All jobs of a log, by their ids. It is in the local time, as Slurm writes it by default."""
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
