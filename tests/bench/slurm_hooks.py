"""Slurm's hooks: what a job without a mate waits for its prolog, and how far apart the two jobs of a pair start.

`python -m tests.bench.slurm_hooks` prints both. Each job notes the time as its first command, a shell's $EPOCHREALTIME;
both clusters are on this host, so their clocks agree.
"""

import os
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from deploy.slurm.lab import Cluster, Lab, Options
from deploy.slurm.lab.laboratory import NAMES
from tests.slurm.cosched_hooks import Service, Site, ready, site

CALLS = 200
PAIRS = 40
AHEAD = 0.1  # seconds from telling both hooks to the instant agreed
LEAD = 0.3  # seconds that a job is let go before its gate opens
FIRST = "#!/bin/bash\necho $EPOCHREALTIME\n"


def passing(calls: int = CALLS) -> dict[str, list[float]]:
    """Milliseconds of each call, ascending, interleaved: the prolog of a job without a mate, and /bin/true."""
    with site() as hooks:
        environment = ready(1, "nothing of ours")
        commands = {"prolog": str(hooks.folder / "prolog"), "/bin/true": "/bin/true"}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(calls):
            for name, command in commands.items():
                times[name].append(_duration(command, environment))
    return {name: sorted(each) for name, each in times.items()}


def _duration(command: str, environment: Mapping[str, str | bytes]) -> float:
    began = time.perf_counter()
    pid = os.posix_spawn(command, [command], environment)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise RuntimeError(f"{command} ended with {status}")
    return (time.perf_counter() - began) * 1000


def skews(*, gated: bool, pairs: int = PAIRS) -> tuple[list[float], list[float]]:
    """Milliseconds, ascending: between the starts of each pair's jobs, and from the agreed instant to each start."""
    with ExitStack() as stack:
        hooks = {name: stack.enter_context(site()) for name in NAMES}
        lead = LEAD if gated else 0.0
        services = [stack.enter_context(Service(hooks[name].socket, gate_lead=lead)) for name in NAMES]
        lab = stack.enter_context(Lab(each={name: _options(hooks[name], gated) for name in NAMES}))
        clusters = [lab[name] for name in NAMES]
        jobs = [[cluster.sbatch(FIRST, "--comment=cosched:pair=p") for cluster in clusters] for _ in range(pairs)]
        starts = [_start(clusters, services, pair, lead) for pair in jobs]
    late = [start * 1000 for pair in starts for start in pair]
    return sorted(abs(one - other) * 1000 for one, other in starts), sorted(late)


def _options(hooks: Site, gated: bool) -> Options:
    return Options(nodes=1, cpus=PAIRS, **{k: v for k, v in hooks.options.items() if gated or k != "task_prolog"})


def _start(
    clusters: Sequence[Cluster], services: Sequence[Service], pair: Sequence[int], lead: float
) -> tuple[float, float]:
    """Start a pair; when its jobs started, in seconds after the instant agreed."""
    sides = list(zip(clusters, services, pair, strict=True))
    for _, service, job in sides:
        service.wait_for_offer(job)
    at = time.time() + lead + AHEAD
    for _, service, job in sides:
        service.start(job, at)
    for _, service, job in sides:
        service.wait_for(f"COMPLETED {job}")
    one, other = (float(_output(cluster, job)) - at for cluster, _, job in sides)
    return one, other


def _output(cluster: Cluster, job: int) -> str:
    return Path(cluster.jobs / f"slurm-{job}.out").read_text()


def _row(name: str, ascending: Sequence[float]) -> str:
    p95 = ascending[-1 - len(ascending) // 20]
    return f"{name:<34} {len(ascending):>6} {statistics.median(ascending):8.2f} {p95:8.2f} {ascending[-1]:8.2f}"


def main() -> None:
    """Measure and print."""
    print(f"{'Milliseconds':<34} {'number':>6} {'median':>8} {'p95':>8} {'max':>8}")
    for name, times in passing().items():
        print(_row(f"a job without a mate: {name}", times))
    for name, gated in (("hook only", False), ("gate", True)):
        apart, late = skews(gated=gated)
        print(_row(f"a pair's skew, {name}", apart))
        print(_row(f"  after the agreed instant, {name}", late))


if __name__ == "__main__":
    main()
