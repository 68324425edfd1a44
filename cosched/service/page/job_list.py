"""The table of all jobs of this domain that have not ended; its filters and its order are in its address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from cosched.client import Explanation, Job
from cosched.service.domain.malleable import QUEUE, said_of
from cosched.service.manager.plans import Plan
from cosched.service.page import sentences, words
from cosched.service.page.listing import STATES, Listing, Sums, matching
from cosched.service.page.page_api import Described
from cosched.service.page.timeline import SPANS
from cosched.service.page.viewers import Viewer
from cosched.service.store import JobRecord
from cosched.service.wire.fields import number

LINES = 100  # of one page
MAX_USERS = 200  # to choose from
ANY = "*"  # as a pair: any
Key = Callable[[JobRecord, Plan], Any]  # what a column is sorted by; None: nothing, which comes last
_COLUMNS: Mapping[str, tuple[str, Key]] = {
    "id": ("ID", lambda record, _: record.id),
    "name": ("Name", lambda record, _: record.name.lower() or None),
    "user": ("User", lambda record, _: record.owner),
    "nodes": ("Nodes", lambda record, _: record.node_count),
    "limit": ("Limit", lambda record, _: record.time_limit or None),
    "state": ("State", lambda record, _: STATES.index(record.state)),
    "mate": ("Mate", lambda record, _: (record.group_name or "", str(record.mates)) if record.paired else None),
    "place": ("Place", lambda record, plan: plan.places.get(str(record.id))),
    "start": ("Start", lambda record, plan: record.started_at or record.slot or plan.starts.get(str(record.id))),
    "reason": ("Reason", lambda record, _: record.reason or None),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a viewer wants to see: all of it is in the address. Empty: whatever there is."""

    find: str = ""
    state: str = ""
    user: str = ""
    account: str = ""
    queue: str = ""
    pair: str = ""  # the name of a pair or group; ANY: of all jobs with mates
    sort: str = ""  # a column, after - if the other way round; empty: what keeps nodes first, then by the queue
    first: int = 0

    @property
    def chooses(self) -> bool:
        """Whether it asks for some jobs only."""
        return bool(self.find or self.state or self.user or self.account or self.queue or self.pair)

    def but(self, **changed: str | int) -> str:
        """Return the address of the same with some changes, from the first line on."""
        asked = {key: value for key, value in asdict(replace(self, first=0)).items() if value}
        return "jobs?" + urlencode({key: value for key, value in {**asked, **changed}.items() if value})


class JobLists:
    """Makes lists of jobs."""

    def __init__(self, described: Described, listing: Listing) -> None:
        self._described = described
        self._listing = listing
        self._chosen_by: Mapping[str, tuple[str, Callable[[JobRecord], str]]] = {
            "user": ("User", lambda record: record.owner),
            "account": ("Account", described.domain.records.charges.account),
            "queue": ("Queue", lambda record: said_of(record).get(QUEUE, "")),
        }

    async def jobs(self, viewer: Viewer, asked: Asked) -> dict[str, Any]:
        """Return what the page shows of the jobs that the viewer may see, and that are what is asked for."""
        described, listed = self._described, await self._listing.jobs()
        visible = listed.active.seen(described.policy, viewer)
        plan, now = await described.explaining.recent(), described.now()
        found = _sorted(self._chosen(visible, asked), asked.sort, plan)
        shown = found[asked.first : asked.first + LINES]
        explained = await described.explaining.known(shown)
        lines = [self._line(record, Explanation(told), now) for record, told in zip(shown, explained, strict=True)]
        filters = [(key, name, _choices(map(of, visible))) for key, (name, of) in self._chosen_by.items()]
        complete = described.domain.scheduler.capabilities.all_jobs  # else a batch system has jobs of its own alone
        head = {"counts": list(_counts(listed.sums)), "columns": list(_columns(asked.sort)), "filters": filters}
        return {"now": now, "asked": asked, **head, "lines": lines, "all_lines": len(found), "complete": complete}

    async def hit(self, viewer: Viewer, find: str) -> int | None:
        """Return the only job that is found, or a job with this number, ended or not: its page is the answer."""
        described, listed = self._described, await self._listing.jobs(max(SPANS.values()))
        visible = [record for of in (listed.active, listed.paired) for record in of.seen(described.policy, viewer)]
        found = {record.id for record in matching(visible, find)}
        id = number(find)
        if id is not None and id not in found:
            record = await described.reads.job(id)
            found |= {id} if record is not None and described.policy.sees(viewer, record.owner) else set()
        return id if id in found else found.pop() if len(found) == 1 else None

    def _chosen(self, records: Sequence[JobRecord], asked: Asked) -> list[JobRecord]:
        wanted: list[tuple[str, Callable[[JobRecord], Any]]] = [
            (asked.state, lambda record: record.state.name.lower()),
            *((getattr(asked, key), of) for key, (_, of) in self._chosen_by.items()),
            (asked.pair, lambda record: asked.pair if asked.pair == ANY and record.paired else record.group_name),
        ]
        tests = [(value, of) for value, of in wanted if value]
        return [one for one in matching(records, asked.find) if all(of(one) == value for value, of in tests)]

    def _line(self, record: JobRecord, told: Explanation, now: datetime) -> dict[str, Any]:
        """Return a job and its cells."""
        job = Job(self._described.views.job(record))
        place = "" if told.job.position is None else f"{told.job.position}"
        limit = words.span(record.time_limit) if record.time_limit else ""
        state = sentences.STATES.get(job.state, job.state)
        known = {"job": job, "state": state, "limit": limit, "mate": sentences.mates(job), "place": place}
        return {**known, "start": _start(job, told, now), "why": _why(job, told, now)}


def _sorted(records: list[JobRecord], sort: str, plan: Plan) -> list[JobRecord]:
    """Return these by a column, as they are if there is none of that name; what has no value comes last."""
    if sort.removeprefix("-") not in _COLUMNS:
        return records
    key = _COLUMNS[sort.removeprefix("-")][1]
    valued = [(record, key(record, plan)) for record in records]
    with_value = sorted((one for one in valued if one[1] is not None), key=lambda one: one[1], reverse=sort[0] == "-")
    return [one[0] for one in (*with_value, *(one for one in valued if one[1] is None))]


def _columns(sort: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield of each column its key, its name, its order as in aria-sort, and what its link sorts by."""
    for key, (name, _) in _COLUMNS.items():
        order = {key: "ascending", f"-{key}": "descending"}.get(sort, "")
        yield key, name, order, f"-{key}" if order == "ascending" else key


def _counts(sums: Sums) -> Iterator[tuple[str, int, str, str]]:
    """Yield of each state how many jobs are in it, its name, and what they need or have."""
    for state in STATES:
        name = state.name.lower()
        yield name, sums.jobs[state], sentences.STATES[name], words.count(sums.nodes[state], "node")


def _choices(values: Iterable[str]) -> list[str]:
    """Return what there is to choose from; nothing if that is one only."""
    found = sorted({value for value in values if value})
    return found[:MAX_USERS] if len(found) > 1 else []


def _start(job: Job, told: Explanation, now: datetime) -> str:
    """Say when it has started, or when it will for its own part.

    Of all together only those may know whom the mates' domains let see their jobs; the job's page asks them.
    """
    if job.started_at is not None:
        return words.ago(job.started_at, now)
    start = told.job.start
    return "" if start is None or start.source == "has_nodes" else words.start(start, now)


def _why(job: Job, told: Explanation, now: datetime) -> str:
    if job.started_at is not None:
        return f"ends {words.soon(job.latest_end, now)} at the latest" if job.latest_end is not None else ""
    return told.job.reason.text if told.job.reason is not None else ""
