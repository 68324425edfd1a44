"""Counts the Python calls of two walks through a live domain, and the folders and files that they enter.

    python -m tests.bench.walk

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

    def __enter__(self) -> Walk:
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(ROOT) and "/v1/" not in file:
            self.calls.append((file.removeprefix(ROOT), frame.f_code.co_qualname))

    def tell(self, name: str) -> None:
        files = Counter(file for file, _ in self.calls)
        folders = {str(Path(file).parent) for file in files}
        print(f"{name}: {len(self.calls)} calls, {len(folders)} folders, {len(files)} files")
        if "-v" in sys.argv:
            for (file, function), count in Counter(self.calls).most_common():
                print(f"  {count:4} {file}:{function}")


async def started_for_its_mate(node: Node) -> None:
    """TryStartMate, which starts a queued job."""
    node.run_times["1"] = 100
    node.run_times["2"] = 10
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
    walk.tell("TryStartMate that starts a job")


class Announcer:
    """Asks the mate's domain, which does not know it yet."""

    async def announce(self, _: Any) -> dict[str, MateJobId]:
        return {"b": MateJobId(Found.UNSUBMITTED, None)}


async def submitted_with_a_pair(node: Node) -> None:
    """SubmitJob with a mate; its iteration asks the mate's domain."""
    domain, requests, queue = (
        node.domain,
        Requests(node.domain),
        Queue(cast(Any, SimpleNamespace(check=lambda _: None))),
    )
    operations = Operations(domain, requests, None, queue, Announcer(), Coupled(["b"]), 9, 10**6)
    serving = Serving(domain, requests, operations, None, queue, Views(domain, Clock()), None, None, None, None)
    api = DomainApi(serving, lambda _: Caller(None, "u", False, "socket"))
    mate = MateName(pair=PairName(domain="b", name="q"))
    request = SubmitJobRequest(request_id="r", script=SCRIPT.script, mates=[mate])
    request.nodes = 1
    request.time_limit.seconds = 60
    node.run_times["3"] = 10
    node.run_times["4"] = 10
    with Walk() as walk:
        await api.SubmitJob(request, cast(Any, None))
    assert domain.jobs["3"].state is JobState.READY, domain.jobs["3"]
    walk.tell("SubmitJob with a mate, and its RunJob")


def main() -> None:
    """Print the walks."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), 1, dict.fromkeys("ab", CoschedulingSettings()), Faults())
        node = world.nodes["a"]
        for walk in (started_for_its_mate, submitted_with_a_pair):
            asyncio.run(walk(node))
        world.close()


if __name__ == "__main__":
    main()
