"""The live half of `cosched demo`: two services on loopback run pairs of jobs as real processes."""

from __future__ import annotations

import tempfile
import textwrap
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from cosched.cli.output.terminal import NARROWEST

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cosched.cli.output.terminal import Progress
    from cosched.client import Client
    from cosched_sim.live.local_process import LocalProcess

PAIRS = 8
PATIENCE = 300.0  # seconds: a safety net for all jobs, which take ten seconds on an idle machine
MACHINES = {"intrepid": (6, "hold"), "eureka": (3, "yield")}  # slots, scheme
SCRIPT = """#!/bin/sh
date +%s.%N > {folder}/$COSCHED_PAIR.$COSCHED_DOMAIN
sleep 0.{tenths}
"""
BUSY = "#!/bin/sh\nsleep 1\n"  # jobs without a mate, which occupy nodes

HEAD = """
Live: two services on this host, {machines}, speak gRPC; each runs jobs as processes. {pairs} pairs of jobs were
submitted, on intrepid first, among others that are in the way. When did the two processes of each pair begin?
"""
TAIL = """
{together} of {pairs} pairs started together; between the first instructions of two mates lie {median:.1f} ms (median).
"""
TOGETHER_MS = 1000.0


@dataclass(frozen=True, slots=True)
class PairOfProcesses:
    """When the two processes of a pair began, in seconds since 1970, and how long each job waited."""

    pair: str
    nodes: tuple[int, int]
    waited_s: tuple[float, float]
    began: tuple[float, float]

    @property
    def skew_ms(self) -> float:
        """How far apart the two processes began, in milliseconds."""
        return abs(self.began[0] - self.began[1]) * 1000


def run_live(doing: Progress) -> list[PairOfProcesses]:
    """Run the pairs and leave nothing behind; ServiceDiedError or TimeoutError if that fails."""
    from cosched.schedulers.kernels import prepare

    doing.step("starting two services ...")
    prepare(["batch"], doing.say)
    with tempfile.TemporaryDirectory(prefix="cosched-demo-") as name, ExitStack() as stack:
        folder = Path(name)
        services = _services(folder)
        for service in services:
            stack.callback(service.stop)
            service.start()
        clients = [stack.enter_context(service.wait()) for service in services]
        doing.step(f"running {PAIRS} pairs of jobs ...")
        jobs = _submit(folder, clients)
        _await_end(clients, services)
        return [_found(folder, pair, ids, clients) for pair, ids in jobs.items()]


def _services(folder: Path) -> list[LocalProcess]:
    from cosched_sim.live.local_process import BESIDE_IT, LocalProcess, free_ports

    ports = dict(zip(MACHINES, free_ports(len(MACHINES)), strict=True))
    return [
        LocalProcess(
            folder / name,
            {
                "domain": {"name": name, "listen": f"127.0.0.1:{ports[name]}", "schedule_interval": 1, **BESIDE_IT},
                "coscheduling": {"scheme": scheme, "release_interval": 3},
                "peer": [{"name": peer, "address": f"127.0.0.1:{ports[peer]}"} for peer in MACHINES if peer != name],
                "manager": {"kind": "local", "slots": slots},
            },
        )
        for name, (slots, scheme) in MACHINES.items()
    ]


def _submit(folder: Path, clients: list[Client]) -> dict[str, tuple[str, str]]:
    """Submit the pairs and the jobs without mates; return the ids of each pair's jobs."""
    jobs: dict[str, list[str]] = {}
    for client, most in zip(clients, (4, 2), strict=True):
        for number in range(PAIRS):
            script = SCRIPT.format(folder=folder, tenths=2 + number % 5)
            pair, nodes = f"p{number + 1}", 1 + number % most
            job = client.submit(script, nodes=nodes, time_limit=60, pair=pair, directory=str(folder))
            jobs.setdefault(pair, []).append(job.id)
            if number % 3 == 0:
                client.submit(BUSY, nodes=most - 1, time_limit=60, directory=str(folder))
    return {pair: (here, there) for pair, (here, there) in jobs.items()}


def _await_end(clients: list[Client], services: list[LocalProcess]) -> None:
    end = time.monotonic() + PATIENCE
    while any(client.jobs() for client in clients):
        for service in services:
            service.check()
        if time.monotonic() > end:
            raise TimeoutError(f"the jobs have not ended within {PATIENCE:.0f} s")
        time.sleep(0.1)


def _found(folder: Path, pair: str, ids: tuple[str, str], clients: list[Client]) -> PairOfProcesses:
    jobs = [client.job(job) for client, job in zip(clients, ids, strict=True)]
    began = [float((folder / f"{pair}.{name}").read_text()) for name in MACHINES]
    both = zip(jobs, began, strict=True)
    waited = [max(0.0, at - job.submitted_at.timestamp()) for job, at in both if job.submitted_at]
    return PairOfProcesses(pair, (jobs[0].nodes, jobs[1].nodes), (waited[0], waited[1]), (began[0], began[1]))


def live_json(pairs: list[PairOfProcesses]) -> dict[str, Any]:
    """Return the pairs for --json."""
    return {
        "pairs": [{**asdict(pair), "skew_ms": round(pair.skew_ms, 3)} for pair in pairs],
        "median_skew_ms": round(median(pair.skew_ms for pair in pairs), 3),
    }


def live_parts(pairs: list[PairOfProcesses]) -> list[RenderableType]:
    """Return the lines and the table to show."""
    from cosched.words.quantities import duration
    from cosched_sim.commands.tables import new_table

    heads = (f"{what}\n{name}" for what in ("nodes", "waited") for name in MACHINES)
    table = new_table("\npair", *heads, "\napart")
    for pair in pairs:
        waits = (duration(seconds) for seconds in pair.waited_s)
        table.add_row(pair.pair, *map(str, pair.nodes), *waits, f"{pair.skew_ms:.1f} ms")
    machines = " and ".join(f"{name} ({slots} slots, {scheme})" for name, (slots, scheme) in MACHINES.items())
    skews = [pair.skew_ms for pair in pairs]
    together = sum(skew < TOGETHER_MS for skew in skews)
    tail = TAIL.format(together=together, pairs=len(pairs), median=median(skews))
    return [filled(HEAD.format(machines=machines, pairs=len(pairs))), "", table, "", filled(tail)]


def filled(text: str) -> str:
    """Return a paragraph in lines that fit anywhere."""
    return textwrap.fill(text.strip(), NARROWEST)
