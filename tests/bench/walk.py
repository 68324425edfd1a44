"""Counts the Python calls of two walks through a live domain, and the folders and files that they enter.

    python -m tests.bench.walk [-v]    # -v: each call, in order, below its caller

Both begin with the call of a gRPC service's method, and end when its answer is made and what follows is on its way.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock

import cosched
from cosched.core.job import JobState
from cosched.core.protocol import Found, MateJobId
from cosched.core.settings import CoschedulingSettings
from cosched.service.api.coscheduling_api import CoschedulingApi
from cosched.service.api.domain_api import DomainApi, Serving
from cosched.service.api.operations import Operations
from cosched.service.api.requests import Requests
from cosched.service.api.views import Views
from cosched.service.clock import Clock
from cosched.service.kernels import load_kernels
from cosched.service.manager.queues import Queue
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.peers.linking import Coupled
from cosched.service.wire.callers import Caller
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.domain_pb2 import SubmitJobRequest
from cosched.v1.job_pb2 import MateName, PairName
from tests.service.world import SCRIPT, Faults, Node, World

ROOT = str(Path(cosched.__file__).parent)
PEER = Caller("b", None, False, "b")


class Walk:
    """Who is called, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._depths: list[int] = []

    def __enter__(self) -> Walk:
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(ROOT) and "/v1/" not in file:
            self.calls.append((file.removeprefix(ROOT), frame.f_code.co_qualname))
            self._depths.append(_depth(frame))

    def tell(self, name: str) -> None:
        files = Counter(file for file, _ in self.calls)
        folders = {str(Path(file).parent) for file in files}
        print(f"{name}: {len(self.calls)} calls, {len(folders)} folders, {len(files)} files")
        if "-v" in sys.argv:
            for (file, function), depth in zip(self.calls, self._depths, strict=True):
                print(f"  {'  ' * depth}{function}  {file}")


def _depth(frame: FrameType) -> int:
    """Return how many of our functions are below this one."""
    count, below = 0, frame.f_back
    while below is not None:
        count, below = count + below.f_code.co_filename.startswith(ROOT), below.f_back
    return count


async def started_for_its_mate(node: Node) -> Walk:
    """TryStartMate, which starts a queued job."""
    node.run_times |= {"1": 100, "2": 10}
    node.submit(1, 10, 100, None)
    node.submit(2, 2, 10, "p")
    agreed, queue = AgreedStart(None, lambda _: None, 0.5), Queue(cast(Any, None))
    api = CoschedulingApi(node.domain, frozenset("b"), lambda _: PEER, agreed, queue, AsyncMock(), print)
    caller, ours = wire.JobRef(domain="b", job_id="7"), wire.JobRef(domain="a", job_id="2")
    await api.GetMateJobId(wire.GetMateJobIdRequest(job=caller, pair="p", owner="u"), cast(Any, None))
    node.world.run(until=node.world.now + 105)
    request = wire.TryStartMateRequest(request_id="b/7/1", job=ours, caller=caller)
    with Walk() as walk:
        answer = await api.TryStartMate(request, cast(Any, None))
    assert answer.started, node.domain.state("2")
    return walk


class Announcer:
    """Asks the mate's domain, which does not know it yet."""

    async def announce(self, _: Any) -> dict[str, MateJobId]:
        return {"b": MateJobId(Found.UNSUBMITTED, None)}


async def submitted_with_a_pair(node: Node) -> Walk:
    """SubmitJob with a mate; its iteration asks the mate's domain."""
    domain, requests = node.domain, Requests(node.domain)
    queue = Queue(cast(Any, SimpleNamespace(check=lambda _: None)))
    operations = Operations(domain, requests, None, queue, Announcer(), Coupled(["b"]), 9, 10**6)
    serving = Serving(domain, requests, operations, None, queue, Views(domain, Clock()), *[None] * 7)
    api = DomainApi(serving, lambda _: Caller(None, "u", False, "socket"))
    mate = MateName(pair=PairName(domain="b", name="q"))
    request = SubmitJobRequest(request_id="r", script=SCRIPT.script, mates=[mate])
    request.nodes = 1
    request.time_limit.seconds = 60
    node.run_times |= {"3": 10, "4": 10}
    with Walk() as walk:
        await api.SubmitJob(request, cast(Any, None))
    assert domain.jobs["3"].state is JobState.READY, domain.jobs["3"]
    return walk


WALKS = {
    "TryStartMate that starts a job": started_for_its_mate,
    "SubmitJob with a mate, and its RunJob": submitted_with_a_pair,
}


def walks() -> dict[str, Walk]:
    """Return both, by name. As in a service, kernels are loaded before; else calls of the dispatcher would count."""
    load_kernels()
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), 1, dict.fromkeys("ab", CoschedulingSettings()), Faults())
        walked = {name: asyncio.run(walk(world.nodes["a"])) for name, walk in WALKS.items()}
        world.close()
    return walked


def main() -> None:
    """Print them."""
    for name, walk in walks().items():
        walk.tell(name)


if __name__ == "__main__":
    main()
