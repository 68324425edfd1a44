"""`python -m tests.bench.loop [KIND...]`: how long a busy domain's loop is taken up at a time, by kind of scheduler.

A service with 10,000 queued and 1,000 running jobs is killed and started again. Then 10 submissions, 10 ends and 2
TryStartMate a second come, while its peer asks for the states of mates. Turns of the loop count by their processor
time, calls by the clock: other work on the host makes these longer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pwd
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from cosched.core.protocol import named_mate
from cosched.service.store import JobScript, Store
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from tests.bench import cpu_of
from tests.bench.echo import echo_server
from tests.bench.loop.batch_systems import FAKES, Fake
from tests.bench.loop.kinds import ENTRY_POINTS, EXAMPLES, KINDS, RUNNING, Kind
from tests.bench.peer_calls import caller, echo_call, ours
from tests.live.scripted_peer import ScriptedPeer
from tests.live.services import COMMAND, Service, wait_until
from tests.service.job_records import queued

ROOT = Path(__file__).resolve().parents[3]
QUEUED, PAIRS = 10_000, 200
SECONDS = 20.0  # of traffic
TRIES, ASKED, SUBMITTED = 0.5, 0.02, 0.1  # seconds from one call to the next
COLUMNS = {  # and what is asked, at most; medians, but of turns the longest
    "turn ms": 100, "by clock": 0, "status ms": 10, "p99 ms": 0, "echo ms": 0, "try ms": 0, "submit ms": 0,
    "restart s": 10, "by clock s": 0,
}  # fmt: skip
UNITS = ("ms",) * 7 + ("s", "s")
OWNER = pwd.getpwuid(os.getuid()).pw_name
SCRIPT = JobScript(b"#!/bin/sh\nsleep 60\n", (), "/", {"HOME": "/root", "PATH": "/usr/bin:/bin"})


@dataclass
class Figures:
    """Of one kind, in seconds. A turn: its processor time, its time, and its longest part."""

    restart: float = 0.0
    restart_cpu: float = 0.0
    running: int = 0
    waiting: int = 0
    turns: list[tuple[float, float, str]] = field(default_factory=list)
    cpu: float = 0.0  # of the service while traffic comes, by second
    statuses: list[float] = field(default_factory=list)
    echoes: list[float] = field(default_factory=list)  # of a server that does nothing else: how busy the host is
    tries: list[float] = field(default_factory=list)
    submissions: list[float] = field(default_factory=list)


def main() -> int:
    """Measure, and print the table; return how many rows could not be measured."""
    parser = argparse.ArgumentParser(description="How long a busy domain's loop is taken up at a time.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{'; '.join((*KINDS, *FAKES))} (all)")
    parser.add_argument("--queued", type=int, default=QUEUED, help="jobs that wait (%(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of traffic (%(default)s)")
    given = parser.parse_args()
    if unknown := next((name for name in given.kinds if name not in (*KINDS, *FAKES)), None):
        parser.error(f"there is no kind {unknown!r}: give one of {'; '.join((*KINDS, *FAKES))}")
    print(f"\nA domain with {given.queued:,} queued and {RUNNING:,} running jobs (load {os.getloadavg()[0]:.1f})")
    print(f"{'':28}" + "".join(f"{name:>10}" for name in COLUMNS))
    asked = "".join(f"{most:>10g}" if most else " " * 10 for most in COLUMNS.values())
    print(f"{'asked, at most':28}{asked}", flush=True)
    failed = 0
    for name in given.kinds or (*KINDS, *FAKES):
        with tempfile.TemporaryDirectory(prefix="loop-") as folder:
            try:
                print(_row(name, _measured(Path(folder), name, given.queued, given.seconds)), flush=True)
            except AssertionError as error:  # its service has ended, or does not serve
                failed += 1
                print(f"{name:28}  not measured: {str(error).strip().splitlines()[-1]}", flush=True)
    return failed


def _row(name: str, of: Figures) -> str:
    turn, clock, what = max(of.turns, default=(0.0, 0.0, ""))
    late = statistics.quantiles(of.statuses, n=100)[-1] if len(of.statuses) > 1 else 0.0
    medians = [statistics.median(each) if each else 0.0 for each in (of.statuses, of.echoes, of.tries, of.submissions)]
    cells = [turn, clock, medians[0], late, *medians[1:], of.restart_cpu, of.restart]
    shown = [1e3 * cell if unit == "ms" else cell for cell, unit in zip(cells, UNITS, strict=True)]
    missed = [most and cell > most for cell, most in zip(shown, COLUMNS.values(), strict=True)]
    row = "".join(f"{cell:>9.1f}{'!' if over else ' '}" for cell, over in zip(shown, missed, strict=True))
    return f"{name:28}{row}  {of.waiting} wait, {of.running} run, {of.cpu:.0%} of a processor; {what}"


def _measured(folder: Path, name: str, number: int, seconds: float) -> Figures:
    with ScriptedPeer("b") as peer, _service(folder, peer) as service:
        work: Fake | Submitter
        if name in FAKES:
            work = FAKES[name](service.folder, RUNNING, number)
            service.config["manager"] = work.settings
        else:
            work = Submitter(service, KINDS[name])
            service.config["manager"] = dict(KINDS[name].settings(service.folder))
            _write_jobs(service.folder / "state.db", KINDS[name], number + RUNNING)
        found = Figures()
        service.start()
        with service.client() as client:
            wait_until(lambda: _settled(service), "as many run as can")
            service.kill()
            began = time.monotonic()
            service.start()
            found.restart = time.monotonic() - began
            found.restart_cpu = _cpu(service)
            wait_until(lambda: _settled(service), "it has taken up its work")
            jobs = client.jobs()
            found.running = sum(job.state == "running" for job in jobs)
            found.waiting = sum(job.state == "queued" for job in jobs)
            del jobs
            time.sleep(1)
            _traffic(service, work, found, range(number + RUNNING - PAIRS + 1, number + RUNNING + 1), seconds)
    return found


def _settled(service: Service) -> bool:
    """Whether it has been idle for a second."""
    before = _cpu(service)
    time.sleep(1)
    return _cpu(service) - before < 0.2


def _cpu(service: Service) -> float:
    assert service.process is not None
    return cpu_of(service.process.pid)


@contextmanager
def _service(folder: Path, peer: ScriptedPeer) -> Iterator[Service]:
    service = Service(folder / "a", "a")
    site = folder / "a" / "loop-1.dist-info"
    site.mkdir()
    (site / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "a" / "sitecustomize.py").write_text("import tests.bench.loop.meter\n")
    service.wrapper = COMMAND
    service.environment = {
        "PYTHONPATH": f"{folder / 'a'}:{ROOT}:{EXAMPLES}", "LOOP_TURNS": str(service.folder / "turns"),
    }  # fmt: skip
    service.config["domain"].update(log_level="info", schedule_interval="30s", max_jobs_per_user=3 * QUEUED)
    service.config["coscheduling"].update(scheme="hold", release_interval="20m", max_held_fraction="0.5")
    service.add_peer("b", peer.address)
    peer.answers |= {
        "GetMateJobId": lambda asked: wire.GetMateJobIdResponse(
            lookup=wire.MATE_LOOKUP_FOUND, mate=wire.JobRef(domain="b", job_id=asked.pair[4:] or "1")
        ),
        "TryStartMate": wire.TryStartMateResponse(started=False),
    }
    try:
        yield service
    finally:
        service.clear()


def _write_jobs(path: Path, kind: Kind, number: int) -> None:
    """The database of jobs that all wait; the last of them have mates."""
    now = int(time.time()) - 2 * number
    with closing(Store.open(path, "a")) as store, store.transaction():
        for id in range(1, number + 1):
            named = named_mate("b", f"pair{id}") if id > number - PAIRS else None
            nodes, columns = kind.says(id)
            record = queued(id, nodes, 3600 * (1 + id % 24), now + id, owner=OWNER, named=named)
            if columns:
                record.columns = json.dumps(columns)
            record.scheduled = dict.fromkeys(kind.keeps, nodes)
            store.add_job(record, SCRIPT)


# What comes


def _traffic(service: Service, work: Fake | Submitter, found: Figures, pairs: Sequence[int], seconds: float) -> None:
    began = time.monotonic()
    (service.folder / "traffic").touch()
    over = threading.Event()
    submitter = threading.Thread(target=_step, args=(work, over))
    submitter.start()
    try:
        used = _cpu(service)
        asyncio.run(_ask(service.address, pairs, found, began + seconds))
        found.cpu = (_cpu(service) - used) / (time.monotonic() - began)
    finally:
        over.set()
        submitter.join()
        found.submissions = work.seconds if isinstance(work, Submitter) else []
        (service.folder / "traffic").unlink()
    ended = time.monotonic()
    turns = service.folder / "turns"
    for line in turns.read_text().splitlines() if turns.exists() else ():
        at, cpu, clock, what = line.split(" ", 3)
        if began <= float(at) <= ended:
            found.turns.append((float(cpu), float(clock), what))


class Submitter:
    """Submits jobs of one kind."""

    def __init__(self, service: Service, kind: Kind) -> None:
        self._service, self._kind = service, kind
        self.seconds: list[float] = []  # of each submission

    def step(self) -> None:
        """Submit ten jobs in a second."""
        with self._service.client() as client:
            for number in range(10):
                nodes, columns = self._kind.says(number)
                began = time.monotonic()
                client.submit("#!/bin/sh\n", nodes=nodes, time_limit=3600 * (1 + number), columns=columns or None)
                self.seconds.append(time.monotonic() - began)
                time.sleep(max(0.0, began + SUBMITTED - time.monotonic()))


def _step(work: Fake | Submitter, over: threading.Event) -> None:
    while not over.is_set():
        began = time.monotonic()
        work.step()
        over.wait(max(0.0, began + 1 - time.monotonic()))


async def _ask(address: str, pairs: Sequence[int], found: Figures, until: float) -> None:
    with echo_server() as (echo_address, _):
        async with grpc.aio.insecure_channel(address) as channel, grpc.aio.insecure_channel(echo_address) as other:
            peer, echo = CoschedulingServiceStub(channel), echo_call(other)
            await asyncio.gather(_ask_states(peer, echo, pairs, found, until), _try(peer, pairs, found, until))


async def _ask_states(peer: Any, echo: Any, pairs: Sequence[int], found: Figures, until: float) -> None:
    for number in range(1 << 30):
        if (began := time.monotonic()) > until:
            return
        job = str(pairs[number % len(pairs)])
        request = wire.GetMateStatusRequest(job=ours(job), caller=caller(job))
        await echo(request)
        echoed = time.monotonic()
        with suppress(grpc.RpcError):  # it was not heard in time: that counts as long as it took
            await peer.GetMateStatus(request)
        found.statuses.append(time.monotonic() - echoed)
        found.echoes.append(echoed - began)
        await asyncio.sleep(max(0.0, began + ASKED - time.monotonic()))


async def _try(peer: Any, pairs: Sequence[int], found: Figures, until: float) -> None:
    for number in range(1, 1 << 30):
        if (began := time.monotonic()) > until:
            return
        job = str(pairs[number % len(pairs)])
        request = wire.TryStartMateRequest(request_id=f"b/{job}/{number}", job=ours(job), caller=caller(job))
        with suppress(grpc.RpcError):
            await peer.TryStartMate(request)
        found.tries.append(time.monotonic() - began)
        await asyncio.sleep(max(0.0, began + TRIES - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
