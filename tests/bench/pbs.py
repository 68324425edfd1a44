"""Real OpenPBS: pairs' starts, what the hook costs jobs without mates, and what an idle service asks.

`python -m tests.bench.pbs` prints all figures, and how busy the machine was; with arguments, some of them. All servers,
services and jobs are on this host: clocks agree, and processors are shared. A job notes the time as its first act
(first.c). A PBS job is ready when the server first calls the hook for it, as its log tells; a Slurm job when slurmctld
has chosen its nodes.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from deploy.lab.coupled import CoupledLab, Domain, Pbs, Slurm
from deploy.lab.waiting import wait_for
from deploy.pbs.lab import PbsCluster
from deploy.slurm.trace.controller_log import read_stories
from tests.bench.skew import in_turn, quantile

PAIRS = 50
JOBS, BATCHES, NODES = 100, 5, 20
SECOND, NOTHING = "sleep 1", "true"  # what jobs do
IDLE = 60  # seconds
WITH, WITHOUT = "with hook and service", "without"
LOGGED = "set server log_events = 4095"
SOURCE = Path(__file__).with_name("first.c")
_HOOK = re.compile(
    r"^(\S+ \S+);0800;\S+;Hook;hook_perf_stat;label=hook_runjob_cosched_(\d+)\.\S+ action=server_process_hooks"
    r"(?: walltime=(\S+))?",
    re.MULTILINE,
)
_REQUEST = re.compile(r";Type (?!0 |59 |95 )\d+ request received from root@", re.MULTILINE)


@contextmanager
def laboratory(*kinds: str) -> Iterator[CoupledLab]:
    """Domains of these kinds that hold, and `first` in their folder."""
    with tempfile.TemporaryDirectory(prefix="pbs-") as folder, CoupledLab(Path(folder), kinds) as lab:
        subprocess.run(["cc", "-O2", "-o", lab.folder / "first", SOURCE], check=True)
        for domain in lab:
            if isinstance(domain, Pbs):
                domain.cluster.qmgr(LOGGED)
        yield lab


def pairs(lab: CoupledLab, number: int = PAIRS) -> tuple[list[float], list[float]]:
    """Seconds, ascending: between the starts of two mates; from the second one's readiness to both running.

    One pair after another; in turn a job of the one and of the other domain comes first.
    """
    domains = lab.domains
    starts: list[list[float]] = []
    ids: list[dict[Domain, str]] = []
    for count in range(number):
        order = domains if count % 2 else domains[::-1]
        ids.append({domain: submit(lab, domain, f"p{count}") for domain in order})
        starts.append([begin(domain, f"p{count}") for domain in domains])
        for domain in domains:
            wait_until_free(domain)
    ready = {domain: readiness(domain) for domain in domains}
    second = [max(ready[domain][job] for domain, job in jobs.items()) for jobs in ids]
    delays = [max(begun) - at for begun, at in zip(starts, second, strict=True)]
    return sorted(max(begun) - min(begun) for begun in starts), sorted(delays)


def submit(lab: CoupledLab, domain: Domain, pair: str) -> str:
    """Submit a job that notes when it begins."""
    return domain.submit(f"exec {lab.folder}/first '{pair} 0.2 {domain.notes}'", pair=pair)


def begin(domain: Domain, pair: str) -> float:
    """Wait for a job's note; when it began."""
    return wait_for(lambda: _noted(domain).get(pair, 0.0), f"{pair} on {domain.name}")


def wait_until_free(domain: Domain) -> None:
    """Wait until a domain has no job and all its nodes."""
    wait_for(lambda: not domain.left(), f"{domain.name} to be free", interval=0.1)


def _noted(domain: Domain) -> dict[str, float]:
    lines = domain.notes.read_text().splitlines() if domain.notes.exists() else []
    return {name: float(at) for _, name, at in map(str.split, lines)}


def readiness(domain: Domain) -> dict[str, float]:
    """When each job was ready for the first time, in seconds since 1970."""
    if isinstance(domain, Slurm):
        stories = read_stories(domain.lab.cluster.controller_log.read_text())
        return {job: story.selected[0] for job, story in stories.items() if story.selected}
    assert isinstance(domain, Pbs)
    calls = _HOOK.findall(log(domain.cluster))
    return {job: _instant(at) for at, job, _ in reversed(calls)}  # the first call of each job


def log(cluster: PbsCluster) -> str:
    """All that the server has logged."""
    return "".join(path.read_text() for path in sorted(cluster.path("server_logs").glob("*")))


def _instant(text: str) -> float:
    return datetime.strptime(text, "%m/%d/%Y %H:%M:%S.%f").timestamp()


@contextmanager
def clusters() -> Iterator[dict[str, PbsCluster]]:
    """One cluster with hook and service, and one without."""
    with ExitStack() as stack:
        own, folder = (Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pbs-"))) for _ in range(2))
        lab = stack.enter_context(CoupledLab(own, ("pbs", "local"), nodes=NODES))
        plain = stack.enter_context(PbsCluster("plain", folder / "plain", NODES))
        domain = lab.domains[0]
        assert isinstance(domain, Pbs)
        yield {WITH: domain.cluster, WITHOUT: plain}


def throughput(running: Mapping[str, PbsCluster], script: str) -> dict[str, list[float]]:
    """Jobs a second of each batch, ascending."""
    return in_turn(running, BATCHES, lambda cluster: _rate(cluster, script))


def _rate(cluster: PbsCluster, script: str) -> float:
    """Jobs are submitted while the scheduler is off, and all wait when it begins."""
    cluster.qmgr("set server scheduling = false")
    for _ in range(JOBS):
        cluster.qsub(script, "-lselect=1:ncpus=1", "-o/dev/null")
    began = time.monotonic()
    cluster.qmgr("set server scheduling = true")
    cluster.wait_for(lambda: not cluster.run("qselect").strip(), "the end of all jobs")
    return JOBS / (time.monotonic() - began)


def hook_times(cluster: PbsCluster) -> list[float]:
    """Seconds that the server has spent in calls of the hook for jobs about to run, ascending."""
    return sorted(float(took) for _, _, took in _HOOK.findall(log(cluster)) if took)


def idle_calls(cluster: PbsCluster, seconds: float = IDLE) -> float:
    """Requests a minute from the service while nothing happens, without those that open and close connections."""
    before = len(_REQUEST.findall(log(cluster)))
    time.sleep(seconds)
    return 60 * (len(_REQUEST.findall(log(cluster))) - before) / seconds


def row(name: str, ascending: Sequence[float], target: str) -> str:
    """One row; milliseconds."""
    shown = " ".join(f"{quantile(ascending, share) * 1000:8.1f}" for share in (0.5, 0.95, 0.99, 1.0))
    return f"{name:<42} {len(ascending):>5} {shown}  {target}"


def busy() -> str:
    """How busy the machine has been lately."""
    return f"(load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors)"


def show_pairs() -> None:
    """Print how far apart mates start, and how soon after the second one was ready."""
    print(f"{'Milliseconds':<42} {'':>5} {'median':>8} {'p95':>8} {'p99':>8} {'max':>8}  target")
    for kinds in (("pbs", "pbs"), ("pbs", "slurm")):
        name = " and ".join(kinds)
        with laboratory(*kinds) as lab:
            skews, delays = pairs(lab)
        print(row(f"{name}: between mates' starts", skews, "median 30, p99 300"), busy())
        print(row(f"{name}: second ready to both started", delays, "median 100"), flush=True)


def show_throughput() -> None:
    """Print how many jobs without mates a server starts and ends, with and without the hook."""
    with clusters() as running:
        for what, script in (("of one second", SECOND), ("that do nothing", NOTHING)):
            rates = throughput(running, script)
            medians = {name: statistics.median(each) for name, each in rates.items()}
            shown = ", ".join(f"{rate:.1f} {name}" for name, rate in medians.items())
            print(f"{JOBS * BATCHES} jobs {what} on {NODES} nodes, jobs a second: {shown};", busy())
            print(f"    ratio {medians[WITH] / medians[WITHOUT]:.3f} (target 0.95)", flush=True)


def show_hook() -> None:
    """Print how long the hook takes for a job without a mate, and what an idle service asks."""
    with clusters() as running:
        running[WITH].qmgr(LOGGED)
        _rate(running[WITH], NOTHING)
        print(row("hook, job without a mate", hook_times(running[WITH]), "median 5"), flush=True)
        print(f"requests of an idle service a minute: {idle_calls(running[WITH]):.1f}", busy())


FIGURES = {"pairs": show_pairs, "throughput": show_throughput, "hook": show_hook}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Figures of real PBS servers.")
    parser.add_argument("figures", nargs="*", choices=FIGURES, help="which; default: all")
    for name in parser.parse_args().figures or FIGURES:
        FIGURES[name]()


if __name__ == "__main__":
    main()
