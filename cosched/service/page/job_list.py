"""All jobs of this domain that have not ended: how many, and a list of those that the viewer may see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from cosched.client import Explanation, Job
from cosched.core.job import JobState
from cosched.service.page import sentences, words
from cosched.service.page.listing import STATES, Listing, Sums
from cosched.service.page.page_api import Described
from cosched.service.page.viewers import Viewer
from cosched.service.store import JobRecord

LINES = 50  # of one page
_NAMES = {
    JobState.HOLDING: "hold nodes for mates",
    JobState.READY: "are about to start",
    JobState.RUNNING: "run",
    JobState.QUEUED: "wait in the queue",
}


@dataclass(frozen=True, slots=True)
class Count:
    """How many jobs are in a state, and what they need or have."""

    state: str
    jobs: int
    name: str
    nodes: str


@dataclass(frozen=True, slots=True)
class Line:
    """A job."""

    job: Job
    title: str  # of its pair or group; empty: it has no mate
    state: str
    size: str
    when: str
    why: str


@dataclass(frozen=True, slots=True)
class JobList:
    """All that the page of jobs shows."""

    now: datetime
    counts: Sequence[Count]
    lines: Sequence[Line]
    first: int  # of the lines, from 0
    all_lines: int
    complete: bool  # else a batch system has jobs that this domain does not know


class JobLists:
    """Makes lists of jobs."""

    def __init__(self, described: Described, listing: Listing) -> None:
        self._described = described
        self._listing = listing

    async def jobs(self, viewer: Viewer, state: str, find: str, first: int) -> JobList:
        """Return the jobs in this state (empty: in any) that the viewer may see, and that are what is looked for."""
        described, listed = self._described, await self._listing.jobs()
        visible = listed.active.seen(described.policy, viewer, find)
        if state:
            visible = [record for record in visible if record.state.name.lower() == state]
        shown, now = visible[first : first + LINES], described.now()
        explained = await described.explaining.known(shown)
        lines = [self._line(record, Explanation(told), now) for record, told in zip(shown, explained, strict=True)]
        known = described.domain.scheduler.capabilities.all_jobs
        return JobList(now, list(_counts(listed.sums)), lines, first, len(visible), known)

    def _line(self, record: JobRecord, told: Explanation, now: datetime) -> Line:
        job = Job(self._described.views.job(record))
        limit = f", at most {words.span(record.time_limit)}" if record.time_limit else ""
        why = told.job.reason.text if told.job.reason is not None else ""
        return Line(
            job, sentences.title(job) if record.paired else "", sentences.STATES.get(job.state, job.state),
            f"{words.count(job.nodes, 'node')}{limit}", "; ".join(_when(job, told, now)), why,
        )  # fmt: skip


def _counts(sums: Sums) -> Iterator[Count]:
    for state in STATES:
        yield Count(state.name.lower(), sums.jobs[state], _NAMES[state], words.count(sums.nodes[state], "node"))


def _when(job: Job, told: Explanation, now: datetime) -> Iterator[str]:
    """Yield since when it is there or runs, when it starts or ends, and its place in the queue."""
    if job.started_at is None:
        yield f"submitted {words.ago(job.submitted_at, now)}"
        start = told.job.start  # of all together only those may know whom the mates' domains let see their jobs
        if start is not None and start.source != "has_nodes":
            yield words.start(start, now) + (" for its own part" if told.mates else "")
        if place := words.place(told.job, now):
            yield place
        return
    yield f"started {words.ago(job.started_at, now)}"
    if job.latest_end is not None:
        yield f"ends {words.soon(job.latest_end, now)} at the latest"
