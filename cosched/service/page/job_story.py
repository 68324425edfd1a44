"""One job: what is known of it, and its story merged from all domains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from cosched.client import Event, Explanation, Group, Job, Mate
from cosched.client.folding import folded, unfolded
from cosched.service.domain.malleable import QUEUE
from cosched.service.page import sentences, words
from cosched.service.page.overview import lanes_of, others, starts
from cosched.service.page.page_api import MAX_EVENTS, Described
from cosched.service.page.peers_told import PeersTold, Told, as_allowed
from cosched.service.page.timeline import FUTURE, Axis, Bar
from cosched.service.page.viewers import Viewer
from cosched.service.store import JobRecord, Reader
from cosched.validation.group_windows import windows_in_words

NEAR = 1.6  # percent of the time line
DECISIVE = ("started", "ended", "warning", "news")  # shown of several that are near


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, by this domain's clock; `kind` is that of its event."""

    at: datetime
    domain: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Point:
    """What leads on the time line to the sentence `first` (from 1): it, and those after it that are too near."""

    x: float
    kind: str
    first: int
    said: str
    count: int


class Stories:
    """Tells the stories of jobs."""

    def __init__(self, described: Described, told: PeersTold) -> None:
        self._described = described
        self._told = told

    async def story(self, viewer: Viewer, id: int, *, whole: bool) -> dict[str, Any] | None:
        """Return what the page of a job shows, with its story `whole` or folded.

        None: there is no such job, or the viewer may not see it.
        """
        described = self._described
        record = described.domain.jobs.get(str(id)) or await described.reads.job(id)
        if record is None or not described.policy.sees(viewer, record.owner):
            return None
        found = await described.reads.read(Reader.stories, [id], (), MAX_EVENTS)
        events = [Event(described.views.event(event)) for event in found]
        told = {
            peer: await self._told.story(viewer, peer, mate) for peer, mate in record.mates.items() if mate is not None
        }
        (explained,) = await described.explaining.explain([record], names=viewer.name == record.owner)
        return self._story(record, events, told, Explanation(as_allowed(explained, told)), whole)

    def _story(
        self, record: JobRecord, events: Sequence[Event], told: dict[str, Told], explained: Explanation, whole: bool
    ) -> dict[str, Any]:
        now = self._described.now()
        job = Job(self._described.views.job(record))
        side, expected = others(record, told), starts(explained, now)
        moments, all_events = list(_moments(job.domain, events, timedelta(0), whole)), len(events)
        for peer, answer in told.items():
            ahead = timedelta(seconds=round(self._described.clock_ahead(peer).total_seconds()))  # as events are told
            for _, theirs in answer.jobs.values():
                moments += _moments(peer, theirs, ahead, whole)
                all_events += len(theirs)
        moments.sort(key=lambda moment: moment.at)
        ahead_of_us = [at for at, _ in expected.values()]
        jobs = [job, *filter(None, side.values())]
        axis = Axis.over(now, (*_instants(jobs, ahead_of_us, now), *(moment.at for moment in moments)))
        lanes = lanes_of(job, events, told, record, axis, expected)
        said = {"title": sentences.title(job), "why": sentences.waits(job, side, now), "untold": list(_untold(told))}
        listed = {"facts": list(_facts(job)), "outlooks": list(_expected(explained, now)), "story": moments}
        drawn = {"sides": [(lane, _points(lane.domain, moments, axis)) for lane in lanes], "gap": _gap(job, axis)}
        folded_away = all_events - len(moments)
        return {"job": job, "now": now, "whole": whole, "folded": folded_away, "axis": axis, **said, **listed, **drawn}


def _instants(jobs: Sequence[Job], expected: Iterable[datetime], now: datetime) -> Iterator[datetime | None]:
    """Yield what should be on the time axis of these jobs; the present, unless all have ended."""
    yield from expected
    for job in jobs:
        yield from (job.submitted_at, job.slot, job.started_at, job.ended_at)
        if job.ended_at is None and job.submitted_at is not None:
            yield now + (now - job.submitted_at) / FUTURE


def _points(domain: str, moments: Sequence[Moment], axis: Axis) -> list[Point]:
    points: list[Point] = []
    for number, moment in enumerate(moments, 1):
        if moment.domain != domain:
            continue
        x, said = axis.at(moment.at), f"{moment.at:%H:%M:%S} {moment.text}"
        if points and x - points[-1].x < NEAR:
            last = points[-1]
            kind = moment.kind if moment.kind in DECISIVE else last.kind
            points[-1] = replace(last, kind=kind, said=f"{last.said}\n{said}", count=last.count + 1)
        else:
            points.append(Point(x, moment.kind, number, said, 1))
    return points


def _gap(job: Job, axis: Axis) -> Bar | None:
    """Return the time between the job's start and that of its mate, or the others of its group; None: together."""
    gap = sentences.gap(job)
    if job.started_at is None or abs(gap) < timedelta(seconds=1):
        return None
    begin, end = sorted((job.started_at, job.started_at - gap))
    (bar,) = axis.bar("gap", begin, end)
    return replace(bar, said=f"{words.span(abs(gap).total_seconds())} apart")


def _moments(domain: str, events: Iterable[Event], ahead: timedelta, whole: bool) -> Iterator[Moment]:
    def clock_time(instant: datetime | None) -> str:
        return words.clock(instant - ahead if instant is not None else None)

    for event, text in unfolded(events) if whole else folded(events, clock_time):
        if event.at is not None:
            yield Moment(event.at - ahead, domain, event.kind, text)


def _untold(told: dict[str, Told]) -> Iterator[str]:
    for peer, answer in told.items():
        if answer.problem:
            yield f"The story is not complete: {answer.problem}."
        elif not answer.jobs:
            yield f"{peer} lets you see nothing more of its job."


def _expected(explained: Explanation, now: datetime) -> Iterator[tuple[str, str, str, str]]:
    """Yield what is expected of all together, of the job, and of its mates: who, when, why not yet, what changes it."""
    if explained.together is not None:
        yield "All together", words.expected(explained.together, now), "", ""
    for side in (explained.job, *explained.mates):
        when = words.expected(side.start, now) if side.start is not None else ""
        place = words.place(side, now)
        why = side.reason.text if side.reason is not None else side.problem if side.near else ""
        if when or why:
            said = ", ".join(filter(None, (when, place, side.size)))
            yield str(side), said, why, side.reason.change if side.reason is not None else ""


def _facts(job: Job) -> Iterator[tuple[str, str]]:
    yield "Owner", job.owner
    yield "Account", job.account
    yield "State", sentences.STATES.get(job.state, job.state)
    yield "Nodes", str(job.nodes)
    yield "Time limit", words.span(job.time_limit.total_seconds()) if job.time_limit is not None else ""
    yield "Queue", job.columns.get(QUEUE, "")
    yield "Says", ", ".join(f"{name} {text}" for name, text in sorted(job.columns.items()) if name != QUEUE)
    named: Mate | Group
    for named in (job.group,) if job.group is not None else job.mates:
        yield "If others end", str(named.terms or "")
        yield "May go on alone", "yes" if named.or_alone else ""
    if job.group is not None:
        yield "Starts apart", windows_in_words(job.group.windows)
        yield "Starts at", words.clock(job.group.at)
    yield "Submitted", words.clock(job.submitted_at)
    yield "First ready", words.clock(job.ready_at)
    yield "Slot", words.clock(job.slot)
    yield "Started", words.clock(job.started_at)
    yield "Ended", words.clock(job.ended_at)
    holds = job.holds
    if holds.holds or holds.yields:
        cost = f"{holds.held_node_seconds / 3600:.2f} node-hours"
        yield "Holds", f"{words.count(holds.holds, 'hold')}, {words.count(holds.yields, 'yield')}; held {cost}"
