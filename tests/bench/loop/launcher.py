"""A resource manager whose jobs do nothing: while there is a file `traffic`, ten end each second, the oldest first."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from typing import Any

from cosched_adapters.launcher import ElasticLauncher, JobSpec, NodesBusyError
from cosched_adapters.manager import End, Ended, Report, Started, UnknownJobError

ENDS = 10  # a second


class Played(ElasticLauncher):
    """See the protocol. What runs is in the file `runs`: for each change a job, and its nodes."""

    nodes = 0
    preempts = names_nodes = True

    def __init__(self, folder: Path, nodes: int) -> None:
        self.nodes = nodes
        self._folder = folder
        self._names = [f"slot{number}" for number in range(nodes)]
        self._free = list(range(nodes))  # a heap
        self._taken: set[int] = set()
        self._has: dict[str, tuple[str, ...]] = {}
        self._reports: asyncio.Queue[Report] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def node_names(self) -> list[str]:
        return self._names

    async def open(self) -> Mapping[str, Report | None]:
        path = self._folder / "runs"
        lines = path.read_text().splitlines() if path.exists() else []
        last = {job: tuple(names) for job, *names in map(str.split, lines)}
        for job, names in last.items():
            if names:
                self._has[job] = names
        self._taken = {int(name[4:]) for names in self._has.values() for name in names}
        self._free = [node for node in self._free if node not in self._taken]
        self._file = path.open("a", buffering=1)
        self._tasks.add(asyncio.create_task(self._end_some()))
        return dict.fromkeys(self._has)

    async def _end_some(self) -> None:
        while True:
            await asyncio.sleep(1 / ENDS)
            if (self._folder / "traffic").exists() and self._has:
                self._end(next(iter(self._has)), End.EXITED)

    def _set(self, job: str, names: tuple[str, ...]) -> None:
        for name in set(self._has.pop(job, ())) - set(names):
            self._taken.discard(int(name[4:]))
            heapq.heappush(self._free, int(name[4:]))
        self._taken |= {int(name[4:]) for name in names}
        if names:
            self._has[job] = names
        self._file.write(" ".join((job, *names)) + "\n")

    def _some(self, number: int) -> tuple[str, ...]:
        """Free nodes; NodesBusyError."""
        found: list[int] = []
        while self._free and len(found) < number:
            node = heapq.heappop(self._free)
            if node not in self._taken:
                found.append(node)
        if len(found) < number:
            for node in found:
                heapq.heappush(self._free, node)
            raise NodesBusyError("others have them")
        return tuple(self._names[node] for node in found)

    async def launch(self, spec: JobSpec) -> None:
        if spec.job_id in self._has:
            return
        if spec.where is not None and self._taken & {int(name[4:]) for name in spec.where}:
            raise NodesBusyError("others have them")
        self._set(spec.job_id, spec.where or self._some(spec.nodes))
        self._reports.put_nowait(Started(spec.job_id, time.time_ns()))

    def _end(self, job: str, how: End) -> None:
        self._set(job, ())
        now = time.time_ns()
        self._reports.put_nowait(Ended(job, how, now, now, exit_code=0 if how is End.EXITED else None))

    async def reports(self) -> AsyncIterator[Report]:
        while True:
            yield await self._reports.get()

    async def cancel(self, job_id: str) -> None:
        if job_id not in self._has:
            raise UnknownJobError(f"there is no job {job_id}")
        self._end(job_id, End.CANCELLED)

    async def forget(self, job_id: str) -> None:
        """Nothing is left of it."""

    def nodes_of(self, job_id: str) -> tuple[str, ...]:
        return self._has.get(job_id, ())

    async def grow(self, job_id: str, nodes: int) -> None:
        has = self._has[job_id]
        self._set(job_id, (*has, *self._some(nodes - len(has))))

    async def keep(self, job_id: str, names: Collection[str]) -> None:
        self._set(job_id, tuple(name for name in self._has[job_id] if name in names))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()


def create(domain: str, directory: Path, settings: Mapping[str, Any]) -> Played:  # noqa: ARG001
    """Make the manager: the entry point `played`."""
    return Played(directory.parent, settings["nodes"])
