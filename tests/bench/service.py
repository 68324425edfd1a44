"""`python -m tests.bench.service`: the speed of a live service against what is asked of it.

Services are processes as users run them, on databases of their own, by plain text on loopback and a Unix socket. All
figures but memory are medians, or (iterations) a mean of many. Kernels are compiled before, and loaded at each start.
"""

import os
import socket
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cosched.client import Client
from cosched.core.job import JobState
from cosched.core.protocol import named_mate
from cosched.service.store import AuditRecord, EventRecord, JobScript, Store
from cosched.v1 import domain_pb2
from tests.bench import cpu_of_commands
from tests.bench.peer_calls import SLOTS, PeerCalls, measure_peer_calls, without_peer
from tests.live.services import Service, free_port
from tests.service.job_records import queued

JOBS = 10_000  # queued
HISTORY, ACTIVE = 100_000, 20
REPEATS = 9
LAST = 1000  # submissions over which iterations are averaged


class Figure(NamedTuple):
    """A line of the table; `measured` and `asked` in the same unit."""

    name: str
    measured: float
    asked: float
    unit: str
    at_least: bool = False
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether it is as asked."""
        return self.measured >= self.asked if self.at_least else self.measured <= self.asked


def main() -> None:
    """Measure, and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        figures = [*_with_many_jobs(Path(folder, "busy")), _start_up(Path(folder, "old"))]
    print(f"\nThe live service ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")
    print(f"{'':46} {'measured':>12} {'asked':>16}")
    for figure in figures:
        asked = f"at {'least' if figure.at_least else 'most'} {figure.asked:g} {figure.unit}"
        missed = "" if figure.met else "  MISSED"
        print(f"{figure.name:46} {figure.measured:>8.3g} {figure.unit:3} {asked:>16}{missed}  {figure.note}")


@contextmanager
def _service(folder: Path, **domain: Any) -> Iterator[Service]:
    with without_peer(folder, max_jobs_per_user=2 * JOBS, **domain) as service:
        service.config["manager"].update(policy="wfp")
        service.config["coscheduling"].update(max_held_fraction="1")
        yield service


# Calls of peers, and a queue of ten thousand jobs


def _with_many_jobs(folder: Path) -> list[Figure]:
    http = f"127.0.0.1:{free_port()}"
    with _service(folder, http=http) as service:
        service.start()  # compiles kernels if it must
        calls = measure_peer_calls(service)
        with service.client() as client:
            submit, iteration = _submit_all(client, http)
        queue, queue_cpu = _of_command(service, "queue")
        help_time, help_cpu = _of_command(service, "submit", "-h")
        assert service.process is not None
        resident, peak = (_memory(service.process.pid, name) for name in ("VmRSS", "VmHWM"))
    return [
        *_peer_figures(calls),
        Figure("submit, each of 10,000 one after the other", submit * 1e3, 2, "ms"),
        Figure("cosched queue, 10,000 jobs: CPU", queue_cpu, 0.2, "s", note=f"takes {queue:.2f} s"),
        Figure("cosched submit -h: CPU", help_cpu, 0.25, "s", note=f"takes {help_time:.2f} s"),
        Figure("scheduling iteration, 10,000 jobs", iteration * 1e3, 10, "ms"),
        Figure("resident memory, 10,000 jobs", resident, 200, "MB", note=f"{peak:.0f} MB at its peak"),
    ]


def _of_command(service: Service, *arguments: str) -> tuple[float, float]:
    """Seconds that a command takes, and its CPU seconds."""
    times, used = [], []
    for _ in range(REPEATS):
        before = cpu_of_commands()
        times.append(_seconds(lambda: service.run(*arguments, check=True)))
        used.append(cpu_of_commands() - before)
    return statistics.median(times), statistics.median(used)


def _peer_figures(calls: PeerCalls) -> list[Figure]:
    rate = f"{calls.echo_rate:,.0f} echoes/s; CPU of the server {calls.cpu:.2f} times the echo's"
    latency = f"an echo takes {calls.echo_latency * 1e3:.2f} ms"
    return [
        Figure("GetMateStatus / echo: throughput", calls.throughput, 0.6, "", at_least=True, note=rate),
        Figure("decision with TryStartMate / echo: latency", calls.try_decision, 5, "", note=latency),
        Figure("decision with StartJob / echo: latency", calls.start_decision, 5, ""),
    ]


def _submit_all(client: Client, http: str) -> tuple[float, float]:
    """Seconds to submit a job, and of an iteration while the last of them come.

    Some slots are free and most jobs would fit there, but none may delay the first, which wants the whole machine.
    """
    (blocker,) = client.jobs(["running"])
    client.cancel(blocker)
    client.submit("#!/bin/sh\nsleep 86400\n", nodes=SLOTS - 8, time_limit=3600)
    client.submit("#!/bin/sh\n", nodes=SLOTS, time_limit=7200)
    times = []
    for n in range(JOBS):
        if n == JOBS - LAST:
            before = _iterations(http)
        times.append(_seconds(lambda n=n: client.submit("#!/bin/sh\n", nodes=1 + n % 12, time_limit=86400)))
    after = _iterations(http)
    return statistics.median(times), (after[0] - before[0]) / (after[1] - before[1])


def _iterations(http: str) -> tuple[float, float]:
    """Seconds of all iterations so far, and how many they were."""
    with urllib.request.urlopen(f"http://{http}/metrics") as answer:
        series = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#"))
    return float(series["cosched_iteration_seconds_sum"]), float(series["cosched_iteration_seconds_count"])


def _memory(pid: int, name: str) -> float:
    """VmRSS or VmHWM of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(name))


# A long history


def _start_up(folder: Path) -> Figure:
    with _service(folder) as service, closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as told:
        _write_history(folder / "state.db")
        told.bind(service.environment.setdefault("NOTIFY_SOCKET", str(folder / "told")))
        times = {how: [_seconds_to_start(service, told, how) for _ in range(REPEATS)] for how in ("stop", "kill")}
    after_stop, after_kill = map(statistics.median, times.values())
    note = f"{after_kill:.2f} s after a kill"
    return Figure("start-up with 100,000 jobs of history", after_stop, 2, "s", note=note)


def _seconds_to_start(service: Service, told: socket.socket, how: str) -> float:
    """Until it says that it is ready and has answered; then it ends by `how`."""

    def start() -> None:
        service.start(wait=False)
        assert b"READY=1" in told.recv(4096)
        with service.client() as client:
            assert len(client.jobs()) == ACTIVE

    seconds = _seconds(start)
    if how == "stop":
        service.stop()
        assert b"STOPPING=1" in told.recv(4096)
    else:
        service.kill()
    return seconds


def _write_history(path: Path) -> None:
    """The database of jobs that have ended, every third of them with its mate, and of some that their users hold."""
    now = int(time.time()) - HISTORY
    with closing(Store.open(path, "a")) as store, store.transaction():
        for number in range(1, HISTORY + ACTIVE + 1):
            _write_job(store, number, now + number, number <= HISTORY)


def _write_job(store: Store, number: int, at: int, ended: bool) -> None:
    named = named_mate("b", f"pair{number}", str(number)) if number % 3 == 0 else None
    job = queued(number, 1 + number % 60, 3600, at, owner=f"user{number % 50}", named=named, user_hold=not ended)
    kinds = {"submitted": domain_pb2.EVENT_KIND_SUBMITTED}
    if ended:
        job.job.state = JobState.COMPLETED
        job.job.ready_at = job.job.started_at = at
        job.ended_at, job.exit_code = at, 0
        kinds |= {"started": domain_pb2.EVENT_KIND_STARTED, "completed": domain_pb2.EVENT_KIND_ENDED}
    if named is not None:
        store.save_answer("b", str(number), f"b/{number}/1", "MateTried", [True])
    store.add_job(job, JobScript(b"#!/bin/sh\nsleep 60\n", (), "/", {"HOME": "/root", "PATH": "/usr/bin:/bin"}))
    first = 3 * number
    store.add_events(EventRecord(first + n, at, kinds[what], number, what, {}) for n, what in enumerate(kinds))
    store.save_reply(job.owner, f"request-{number}", "SubmitJob", number, "")
    store.add_audit(AuditRecord(at, job.owner, "socket uid 1000", "SubmitJob", str(number), "OK", ""))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
