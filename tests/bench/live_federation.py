"""A live federation of 20 services on one machine, with groups of 2 to 5 jobs drawn among them, and what it costs.

Services speak mutual TLS, all are peers. Half of them hold, half yield. A client of each domain submits its members one
after the other, all clients at once; instants are those at which these clients hear of events.
`python -m tests.bench.live_federation [GROUPS [SERVICES [CIRCLE]]]` prints the figures; exit code 1 if a group was
lost. CIRCLE: only so many services are peers of each other, so that 100 services fit on one machine.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cosched.client import Job
from tests.bench import cpu_of
from tests.bench.skew import quantile
from tests.live.secured import secure
from tests.live.services import COMMAND, Federation, Service, wait_until

GROUPS, SERVICES, MEMBERS, SEED = 2000, 20, (2, 3, 4, 5), 1
SLOTS, MOST_NODES, LONGEST = 16, 4, 0.5  # of a machine; of a job; seconds of a job
AT_ONCE = 20  # services that start: each needs most memory then
IDLE = 20.0  # seconds for which services are watched that have no jobs
PATIENCE = 3600.0
MB = 1e6
Named = TypeVar("Named")


@dataclass
class Member:
    """A job of a group, as its domain tells."""

    name: str
    domain: str
    state: str
    ready: float  # when it was first ready, else when it started: seconds, as all instants here
    started: float
    why: str


@dataclass
class Used:
    """What a service has used so far."""

    cpu: float  # seconds
    resident: float  # bytes, at their peak
    own: float  # bytes, with its share of what several processes use


@dataclass
class Figures:
    """What came of a run."""

    groups: dict[str, tuple[str, ...]]  # the domains of each, in the order of submission
    members: list[Member]
    start_up: float  # seconds from the first process to the last answer of all peers
    busy: float  # seconds from the first submission to the end of all jobs
    opened: list[Used]  # for each service: once all were peers,
    idle: list[float]  # of a processor, for a while then,
    ended: list[Used]  # and when all jobs had ended
    clocks: list[float]  # seconds: uncertainty of each comparison of two clocks
    faults: list[str]

    def waits(self) -> list[float]:
        """Seconds from the last member's readiness to the last start of each group, ascending."""
        ready, started = defaultdict(list), defaultdict(list)
        for job in self.members:
            ready[job.name].append(job.ready)
            started[job.name].append(job.started)
        return sorted(max(started[name]) - max(ready[name]) for name in ready)

    def lost(self) -> list[str]:
        """The groups of which a job did not run to its end, or not with all others."""
        found: dict[str, set[str]] = {name: set() for name in self.groups}
        for job in self.members:
            if job.state == "completed" and job.why.startswith(TOGETHER):
                found[job.name].add(job.domain)
        return [name for name, domains in self.groups.items() if set(domains) != found[name]]


TOGETHER = ("asked by ", "all members of its group are booked", "its mate could start", "its holding mate started")


def circles_of(all_of: Sequence[Named], size: int) -> list[Sequence[Named]]:
    """Those that are peers of each other."""
    return [all_of[first : first + size] for first in range(0, len(all_of), size)]


def groups_among(domains: Sequence[str], count: int, seed: int, circle: int) -> dict[str, tuple[str, ...]]:
    """So many groups: the domains of each, drawn at random, in random order; circles of peers take turns."""
    chance, circles = random.Random(seed), circles_of(domains, circle)
    drawn = [circles[number % len(circles)] for number in range(count)]
    sizes = [[size for size in MEMBERS if size <= len(peers)] for peers in drawn]
    return {f"g{n}": tuple(chance.sample(peers, chance.choice(sizes[n]))) for n, peers in enumerate(drawn)}


def run(
    folder: Path,
    services: int = SERVICES,
    groups: int = GROUPS,
    circle: int | None = None,
    *,
    seed: int = SEED,
    forked: bool = False,
    idle: float = 0.0,
) -> Figures:
    """Start the services in this folder, see all groups to their end, and stop the services.

    `circle`: so many are peers of each other; None: all. `forked`: from one process that has loaded everything, so that
    starts are fast; their memory is then partly shared. `idle`: seconds before the first submission.
    """
    federation = Federation(folder, [f"site{number:02}" for number in range(services)])
    configure(federation, forked, circle or services)
    with ThreadPoolExecutor(2 * services) as pool:
        try:
            began = time.monotonic()
            for some in circles_of(federation.services, AT_ONCE):
                for service in some:
                    service.start(wait=False)
                for service in some:
                    wait_until(service.is_serving, service.name, PATIENCE)
            wait_until(lambda: all(map(knows_all_peers, federation.services)), "all peers are reachable")
            start_up, opened = time.monotonic() - began, list(map(used, federation.services))
            time.sleep(idle)
            rested = list(map(used, federation.services))
            wanted = groups_among([service.name for service in federation.services], groups, seed, circle or services)
            began = time.monotonic()
            watched = [pool.submit(watch, service, wanted) for service in federation.services]
            list(pool.map(lambda service: submit(service, wanted, seed), federation.services))
            wait_until(lambda: all(watch.done() for watch in watched), "all jobs have ended", PATIENCE)
            return Figures(
                wanted,
                [member for done in watched for member in done.result()],
                start_up,
                time.monotonic() - began,
                opened,
                [(late.cpu - early.cpu) / (idle or 1) for early, late in zip(opened, rested, strict=True)],
                list(map(used, federation.services)),
                [seconds for service in federation.services for seconds in clocks(service)],
                [fault for service in federation.services for fault in service.faults()],
            )
        finally:
            federation.clear()


def configure(federation: Federation, forked: bool, circle: int) -> None:
    """Mutual TLS, both schemes, and no logs of every call."""
    first, files = federation.services[0], federation.folder / "certs"
    names = [service.name for service in federation.services]
    for arguments in (["init", str(files)], *(["issue", str(files), name] for name in names)):
        assert first.run("certs", *arguments).returncode == 0
    circles = circles_of(federation.services, circle)
    for number, service in enumerate(federation.services):
        service.wrapper = () if forked else COMMAND
        secure(service, files, [peer for peer in circles[number // circle] if peer is not service])
        service.config["domain"].update(log_level="info", schedule_interval="30s", max_jobs_per_user=100_000)
        service.config["manager"].update(slots=SLOTS)
        service.config["coscheduling"].update(
            scheme=("hold", "yield")[number % 2], release_interval="20s", max_held_fraction="0.75",
            heartbeat_interval=10, on_peer_unreachable="hold",
        )  # fmt: skip


def knows_all_peers(service: Service) -> bool:
    """Whether all its peers have answered."""
    with service.client() as client:
        return all(peer.state == "reachable" for peer in client.domain().peers)


def submit(service: Service, groups: dict[str, tuple[str, ...]], seed: int) -> None:
    """Submit all members of one domain."""
    chance = random.Random(f"{seed} {service.name}")
    with service.client() as client:
        for name, domains in groups.items():
            if service.name in domains:
                seconds = round(chance.uniform(0.05, LONGEST), 3)
                others = [domain for domain in domains if domain != service.name]
                client.submit(
                    f"#!/bin/sh\nexec sleep {seconds}\n",
                    nodes=chance.randint(1, MOST_NODES), time_limit=60, group=name, members=others,
                )  # fmt: skip


def watch(service: Service, groups: dict[str, tuple[str, ...]]) -> list[Member]:
    """What became of the domain's jobs, once all have ended; instants as we hear of them."""
    left = sum(service.name in domains for domains in groups.values())
    ready: dict[str, float] = {}
    started: dict[str, tuple[float, str]] = {}
    with service.client() as client:
        for event in client.events(after=0, kinds=["ready", "started", "ended"]):
            job = str(event.job)
            if event.kind == "ready":
                ready[job] = time.monotonic()
            elif event.kind == "started":
                started[job] = time.monotonic(), event.detail["why"]
            else:
                left -= 1
            if not left:
                break
        jobs = client.jobs(["completed", "failed", "cancelled"])
    return [_member(job, ready, started) for job in jobs]


def _member(job: Job, ready: dict[str, float], started: dict[str, tuple[float, str]]) -> Member:
    at, why = started.get(str(job), (0.0, ""))
    name = job.group.name if job.group is not None else str(job.mates[0].pair)
    return Member(name, job.domain, job.state, ready.get(str(job), at), at, why)


def clocks(service: Service) -> list[float]:
    """The uncertainty of its comparison with each peer's clock, in seconds; none of a peer that was not compared."""
    with service.client() as client:
        found = [peer.clock_uncertainty for peer in client.domain().peers]
    return [span.total_seconds() for span in found if span is not None]


def used(service: Service) -> Used:
    """CPU, without that of its jobs, and memory of the service's process; `own` is that of its children, too."""
    assert service.process is not None
    process = Path(f"/proc/{service.process.pid}")
    (peak,) = (line.split()[1] for line in (process / "status").read_text().splitlines() if line.startswith("VmHWM"))
    children = [child for task in process.glob("task/*/children") for child in task.read_text().split()]
    own = sum(_pss(pid) for pid in (service.process.pid, *children))
    return Used(cpu_of(service.process.pid), int(peak) * 1024, own)


def _pss(pid: int | str) -> int:
    """Return the bytes of a process, with its share of what several use; 0: it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def told(figures: Figures) -> str:
    """The figures, for people."""
    waits, jobs, services = figures.waits(), len(figures.members), len(figures.opened)
    spent = sorted(late.cpu - early.cpu for early, late in zip(figures.opened, figures.ended, strict=True))
    opening = sorted(early.cpu for early in figures.opened)
    peaks = sorted(late.resident / MB for late in figures.ended)
    lines = [
        f"{services} services, {len(figures.clocks)} comparisons of clocks (uncertain by at most"
        f" {max(figures.clocks, default=0) * 1e3:.1f} ms); {len(figures.groups):,} groups, {jobs:,} jobs",
        f"groups that did not start together: {len(figures.lost())}; faults logged: {len(figures.faults)}",
        f"until all are peers of all: {figures.start_up:.0f} s; {opening[0]:.1f} to {opening[-1]:.1f} s of CPU each",
        f"first submission to end of all jobs: {figures.busy:.0f} s; CPU a service {spent[0]:.1f} to {spent[-1]:.1f} s,"
        f" {sum(spent) / jobs * 1e3:.1f} ms a job",
        f"peak of memory a service: {peaks[0]:.0f} to {peaks[-1]:.0f} MB; with its share of what is shared (PSS)"
        f" {_range([early.own / MB for early in figures.opened])} MB at first,"
        f" {_range([late.own / MB for late in figures.ended])} MB in the end",
        f"idle: {_range([1e3 * share for share in figures.idle])} ms of CPU a second each",
        f"last member ready to all started: median {quantile(waits, 0.5) * 1e3:.0f} ms,"
        f" p99 {quantile(waits, 0.99) * 1e3:.0f} ms, at most {waits[-1] * 1e3:.0f} ms",
    ]
    return "\n".join(lines)


def _range(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


def main() -> None:
    """Measure and print."""
    given = list(map(int, sys.argv[1:]))
    groups, services, circle = [*given, *(GROUPS, SERVICES, given[1] if given[1:] else SERVICES)[len(given) :]]
    with tempfile.TemporaryDirectory(prefix="cosched-federation-") as folder:
        figures = run(Path(folder), services, groups, circle, idle=IDLE)
    print(told(figures))
    if figures.lost() or figures.faults:
        sys.exit("\n".join([*figures.lost()[:10], *figures.faults[:10]]))


if __name__ == "__main__":
    main()
