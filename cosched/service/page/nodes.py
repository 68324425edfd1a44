"""The nodes of this domain: a map, on which each has its place, and a list of those that do the same."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from cosched.client import Job, Nodes
from cosched.client.domains import NODE_STATES
from cosched.client.node_names import fold
from cosched.service.page import sentences, words
from cosched.service.page.page_api import Described
from cosched.service.page.viewers import Viewer
from cosched.service.store import JobRecord
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import number
from cosched.v1 import cluster_pb2

FRESH = 2.0  # seconds for which what a batch system tells is shown again
MOST = 4096  # squares; of more nodes each stands for several
MOST_LINES = 500
MOST_NAMES = 200  # letters of a list of names
STATES = ("held", "busy", "idle", "down", "unknown")  # in the order of the list, and of a map without names


class NodeMaps:
    """Makes maps."""

    def __init__(self, described: Described) -> None:
        self._described = described
        self._known: tuple[float, Sequence[cluster_pb2.NodeGroup]] = (-FRESH, ())
        self._one_at_a_time = asyncio.Lock()

    async def map(self, viewer: Viewer) -> dict[str, Any]:
        """Return what the page shows the viewer: whose nodes are busy with jobs of others is not told."""
        now = self._described.now()
        try:
            found = list(map(Nodes, sorted(self._told_apart(viewer, await self._groups()), key=_rank)))
        except Refusal as refusal:
            return {"now": now, "counts": (), "groups": (), "problem": str(refusal)}
        total = sum(group.count for group in found)
        each = max(1, math.ceil(total / MOST))  # nodes that a square stands for
        # A row has some four times as many squares as there are rows, and round numbers of many
        columns = max(8, 8 * math.ceil(math.ceil(math.sqrt(4 * math.ceil(total / each))) / 8))
        paths = _paths(found, each, columns)
        groups = [self._group(viewer, group, path, now) for group, path in zip(found, paths, strict=True)]
        counts = [(state, sum(group.count for group in found if group.state == state)) for state in STATES]
        size = {"each": each, "columns": columns, "rows": max(1, math.ceil(math.ceil(total / each) / columns))}
        return {"now": now, "counts": [one for one in counts if one[1]], **size, "groups": groups, "problem": ""}

    async def _groups(self) -> Sequence[cluster_pb2.NodeGroup]:
        async with self._one_at_a_time:
            at, found = self._known
            if time.monotonic() - at >= FRESH:
                found = await self._described.views.node_groups(self._described.queue)
                found.sort(key=_rank)
                self._known = time.monotonic(), found
            return found

    def _told_apart(self, viewer: Viewer, groups: Iterable[cluster_pb2.NodeGroup]) -> Iterator[cluster_pb2.NodeGroup]:
        """Yield the groups; those of jobs that the viewer may not see, and those beyond MOST_LINES, one of a state."""
        others: dict[int, cluster_pb2.NodeGroup] = {}
        for place, group in enumerate(groups):
            is_seen = not group.HasField("job") or self._seen(viewer, group.job.job_id) is not None
            if is_seen and place < MOST_LINES:
                yield group
                continue
            of_all = others.setdefault(group.state, cluster_pb2.NodeGroup(state=group.state))
            of_all.count += group.count
            of_all.names.extend(group.names)
        yield from others.values()

    def _seen(self, viewer: Viewer, id: str) -> JobRecord | None:
        record = self._described.domain.jobs.get(id)
        return record if record is not None and self._described.policy.sees(viewer, record.owner) else None

    def _group(self, viewer: Viewer, nodes: Nodes, path: str, now: datetime) -> dict[str, Any]:
        """Return what nodes do that do the same, for which job (empty: none that the viewer may see), until when."""
        id = nodes.job.rpartition(":")[2] if nodes.job is not None else ""
        record, said = self._seen(viewer, id), f"{words.count(nodes.count, 'node')} {nodes.state}"
        group = {"state": nodes.state, "count": nodes.count, "names": _short(nodes.names), "path": path}
        if record is None:
            said = ", ".join(filter(None, (said, nodes.reason)))
            return {**group, "job": "", "name": "", "owner": "", "mates": "", "until": nodes.reason, "said": said}
        job = Job(self._described.views.job(record))
        mates, until = sentences.mates(job), _until(job, now)
        waits = f"for {mates}" if mates and nodes.state == "held" else ""
        said = ", ".join(filter(None, (said, f"{id} of {job.owner}", waits, until)))
        return {**group, "job": id, "name": job.name, "owner": job.owner, "mates": mates, "until": until, "said": said}


def _rank(group: cluster_pb2.NodeGroup) -> int:
    return STATES.index(NODE_STATES.get(group.state, "unknown"))


def _until(job: Job, now: datetime) -> str:
    """Say until when the nodes are booked."""
    if job.latest_end is not None:
        return f"free {words.soon(job.latest_end, now)} at the latest"
    if job.holds.until is not None:
        return f"released {words.soon(job.holds.until, now)}"
    return "held until its mate can start" if job.holds.forever else ""


def _short(names: Sequence[str]) -> str:
    folded = fold(names)
    return folded if len(folded) <= MOST_NAMES else f"{folded[:MOST_NAMES].rpartition(',')[0]}, ..."


def _paths(groups: Sequence[Nodes], each: int, columns: int) -> list[str]:
    """Return what draws the squares, of 1 x 1, of each group: by the order of all names, else one after the other."""
    places = _places(groups)
    return [_path(sorted({place // each for place in of}), columns) for of in places]


def _places(groups: Sequence[Nodes]) -> list[list[int]]:
    """Return the places of the groups' nodes: named ones in their order, and then those without names."""
    named = sorted({name for group in groups for name in group.names}, key=_in_order)
    place_of = {name: place for place, name in enumerate(named)}
    places, following = [], len(named)
    for group in groups:
        unnamed = group.count - len(group.names)
        places.append([*(place_of[name] for name in group.names), *range(following, following + max(0, unnamed))])
        following += max(0, unnamed)
    return places


def _in_order(name: str) -> tuple[str, int]:
    beginning = name.rstrip("0123456789")
    return beginning, number(name[len(beginning) :].lstrip("0") or "0") or 0


def _path(squares: Iterable[int], columns: int) -> str:
    return "".join(f"M{place % columns} {place // columns}h.86v.86h-.86z" for place in squares)
