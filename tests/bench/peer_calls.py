"""How fast a service answers its peers, against the bare echo server in the same run."""

import asyncio
import os
import pwd
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from cosched.client import Client
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from tests.bench.echo import METHOD, SERVICE, echo_server
from tests.live.services import COMMAND, Service, free_port, wait_until

ROUNDS = 25
CALLS, AT_A_TIME = 960, 32  # of each round
PAIRS = 100  # decisions of each kind
WARM_UP = 5  # calls before each measurement: a processor that has just done something else is slow at first
SLOTS = 200
OWNER = pwd.getpwuid(os.getuid()).pw_name

Send = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class PeerCalls:
    """Ratios to the echo server's figures, and those in seconds and calls a second."""

    throughput: float
    cpu: float  # CPU time of the server's process for each call, as a ratio
    echo_rate: float
    try_decision: float
    start_decision: float
    echo_latency: float


@contextmanager
def without_peer(folder: Path, **domain: Any) -> Iterator[Service]:
    """A domain a whose peer b is never there; its service is yet to be started."""
    service = Service(folder, "a")
    service.wrapper = COMMAND
    service.config["domain"].update(log_level="info", schedule_interval="30s", **domain)
    service.config["manager"].update(slots=SLOTS)
    service.config["coscheduling"].update(scheme="hold", on_peer_unreachable="hold", heartbeat_interval=0)
    service.add_peer("b", f"127.0.0.1:{free_port()}")
    try:
        yield service
    finally:
        service.clear()


def measure_peer_calls(service: Service) -> PeerCalls:
    """Play the peer b of a domain, whose `SLOTS` slots are free at first and taken afterwards."""
    with echo_server() as (address, echo_pid), service.client() as client:
        holding = [client.submit("#!/bin/sh\n", pair=f"start{n}") for n in range(PAIRS)]
        wait_until(lambda: all(client.job(job).state == "holding" for job in holding), "all hold")
        starts = asyncio.run(_decisions(address, service.address, "start"))
        wait_until(lambda: not client.jobs(), "all ended")
        queue_pairs(client)
        tries = asyncio.run(_decisions(address, service.address, "try"))
        assert service.process is not None
        rates = asyncio.run(_rates(address, service.address, (echo_pid, service.process.pid)))
    return PeerCalls(
        throughput=statistics.median(rate / echo_rate for echo_rate, rate, _, _ in rates),
        cpu=statistics.median(cpu / echo_cpu for _, _, echo_cpu, cpu in rates),
        echo_rate=statistics.median(echo_rate for echo_rate, _, _, _ in rates),
        try_decision=_ratio(tries),
        start_decision=_ratio(starts),
        echo_latency=statistics.median(echo for echo, _ in starts + tries),
    )


def queue_pairs(client: Client) -> None:
    """Take all slots; the jobs that are submitted then have to wait."""
    blocker = client.submit("#!/bin/sh\nsleep 86400\n", nodes=SLOTS, time_limit=86400)
    wait_until(lambda: client.job(blocker).state == "running", "all slots are taken")
    for n in range(PAIRS):
        client.submit("#!/bin/sh\n", pair=f"try{n}")


def _ratio(times: Sequence[tuple[float, float]]) -> float:
    echo, decision = map(statistics.median, zip(*times, strict=True))
    return decision / echo


# Decisions: the three calls of RunJob, one after the other, each time for another pair


async def _decisions(echo_address: str, address: str, kind: str) -> list[tuple[float, float]]:
    """Seconds of an echo, and of a decision that ends in StartJob or TryStartMate.

    The mates have found each other before, as they do when they are submitted.
    """
    decide = _decide_start if kind == "start" else _decide_try
    times = []
    async with grpc.aio.insecure_channel(echo_address) as channel, grpc.aio.insecure_channel(address) as peer_channel:
        echo, peer = echo_call(channel), CoschedulingServiceStub(peer_channel)
        mates = {pair: await _ask_for_mate(peer, pair) for pair in (f"{kind}{n}" for n in range(PAIRS))}
        for pair, mate in mates.items():
            request = _status_request(pair, mate)
            for _ in range(WARM_UP):
                await echo(request)
            echo_seconds = await _seconds(echo(request))
            for _ in range(WARM_UP):
                await _ask_for_mate(peer, pair)
                await peer.GetMateStatus(request)
            seconds = await _seconds(decide(peer, pair))
            times.append((echo_seconds, seconds))
            if kind == "start":
                await _wait_for_end(peer, request)
    return times


async def decisions(address: str) -> list[float]:
    """Seconds of each decision that ends in TryStartMate, of a domain whose pairs are queued (`queue_pairs`)."""
    async with grpc.aio.insecure_channel(address) as channel:
        peer = CoschedulingServiceStub(channel)
        pairs = [f"try{n}" for n in range(PAIRS)]
        for pair in pairs:
            await _ask_for_mate(peer, pair)
        return [await _seconds(_decide_try(peer, pair)) for pair in pairs]


async def _seconds(work: Awaitable[Any]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def _decide_start(peer: Any, pair: str) -> None:
    mate = await _ask_for_mate(peer, pair)
    status = await peer.GetMateStatus(_status_request(pair, mate))
    said = {"request_id": f"b/{pair}/1", "job": ours(mate), "caller": caller(pair)}
    request = wire.StartJobRequest(**said, hold_generation=status.hold_generation)
    assert (await peer.StartJob(request)).started


async def _decide_try(peer: Any, pair: str) -> None:
    mate = await _ask_for_mate(peer, pair)
    status = await peer.GetMateStatus(_status_request(pair, mate))
    assert status.status == wire.MATE_STATUS_QUEUING
    request = wire.TryStartMateRequest(request_id=f"b/{pair}/1", job=ours(mate), caller=caller(pair))
    assert not (await peer.TryStartMate(request)).started


async def _ask_for_mate(peer: Any, pair: str) -> str:
    answer = await peer.GetMateJobId(wire.GetMateJobIdRequest(job=caller(pair), pair=pair, owner=OWNER))
    assert answer.lookup == wire.MATE_LOOKUP_FOUND
    return str(answer.mate.job_id)


async def _wait_for_end(peer: Any, request: wire.GetMateStatusRequest) -> None:
    """A job that was started runs for a moment, which is not to be in the next decision's time."""
    while (await peer.GetMateStatus(request)).status != wire.MATE_STATUS_ENDED:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)  # its files are removed


# Throughput


async def _rates(echo_address: str, address: str, pids: tuple[int, int]) -> list[tuple[float, float, float, float]]:
    """Of each round: calls a second of echo and of GetMateStatus, and CPU seconds of each server for a call."""
    async with grpc.aio.insecure_channel(echo_address) as channel, grpc.aio.insecure_channel(address) as peer_channel:
        peer = CoschedulingServiceStub(peer_channel)
        mate = await _ask_for_mate(peer, "try0")
        rounds = []
        for _ in range(ROUNDS):
            echo_rate, echo_cpu = await _load(echo_call(channel), _status_request("try0", mate), pids[0])
            rate, cpu = await _load(peer.GetMateStatus, _status_request("try0", mate), pids[1])
            rounds.append((echo_rate, rate, echo_cpu, cpu))
    return rounds


async def _load(send: Send, request: Any, pid: int) -> tuple[float, float]:
    async def call_often() -> None:
        for _ in range(CALLS // AT_A_TIME):
            await send(request)

    began, used = time.perf_counter(), _cpu(pid)
    await asyncio.gather(*(call_often() for _ in range(AT_A_TIME)))
    calls = CALLS // AT_A_TIME * AT_A_TIME
    return calls / (time.perf_counter() - began), (_cpu(pid) - used) / calls


def _cpu(pid: int) -> float:
    """CPU seconds that the process has used."""
    return sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


# Messages


def echo_call(channel: grpc.aio.Channel) -> Send:
    """Return what sends a status request to an echo server."""
    message = wire.GetMateStatusRequest
    return channel.unary_unary(f"/{SERVICE}/{METHOD}", message.SerializeToString, message.FromString)


def _status_request(pair: str, mate: str) -> wire.GetMateStatusRequest:
    return wire.GetMateStatusRequest(job=ours(mate), caller=caller(pair))


def ours(job: str) -> wire.JobRef:
    """A job of the service that is measured."""
    return wire.JobRef(domain="a", job_id=job)


def caller(pair: str) -> wire.JobRef:
    """A job of its peer."""
    return wire.JobRef(domain="b", job_id=pair)
