"""`python -m tests.bench.news [ROUNDS] [slurm|pbs]`: from an owner's command to what follows on the other domain.

A job holds on one local domain for its mate on the other, which queues. The mate is cancelled, unlinked, or replaced,
or it was cancelled and the holder waits in vain for another in its place. At the end: what an idle holder costs. With
`slurm` or `pbs`, both domains are real clusters of it, and owners use scancel or qdel.
"""

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from cosched.client import Client, Job
from deploy.lab.coupled import CoupledLab as PbsLab
from deploy.lab.service import cosched
from deploy.slurm.lab import CoupledLab
from tests.live.coupled_labs import Coupled as PbsCoupled
from tests.live.services import Pair, fill, free_port, noted, script_that_notes
from tests.live.workloads import Work
from tests.slurm.coupled_checks import START, Served
from tests.waiting import wait_until

ROUNDS = 100
ASKED = 1.0  # seconds, the median
WATCHED = 95  # seconds for which an idle holder is watched: three checks
HOLD_CHECK = 30  # seconds, the default
NODES, LONG = 3, 36_000  # of each cluster; seconds for which one is taken
PBS_START = {"poll_interval": 1, "try_patience": 2.5, "max_held_fraction": 1, "release_interval": 0}
PATIENCE = 1  # seconds for another in the place of one that was cancelled, where that is waited for


class Holder:
    """Two domains; the nodes of b are taken, so that jobs of a hold for mates there."""

    def __init__(self, folder: Path, a: Client, b: Client, pair: Pair) -> None:
        self.folder, self.a, self.b, self.pair = folder, a, b, pair
        self._number = 0

    def held(self) -> tuple[Job, Job]:
        """A job of a that holds for its mate on b, and that mate."""
        self._number += 1
        script, name = script_that_notes(self.folder, 0), f"p{self._number}"
        mate = self.b.submit(script, pair=name)
        holder = self.a.submit(script, pair=name)
        wait_until(lambda: self.a.job(holder).state == "holding" and self.a.job(holder).mates[0].id == mate.id, "holds")
        return holder, mate

    def started(self, job: Job) -> float:
        """When its first instruction was; seconds since 1970."""
        return wait_until(lambda: next((at for of, id, _, at in noted(self.folder) if (of, id) == ("a", job.id)), None))

    def cancel(self) -> float:
        """The holder starts alone."""
        holder, mate = self.held()
        self._cancel_there(mate)
        return self._until_start(holder)

    def _cancel_there(self, mate: Job) -> None:
        self.b.cancel(mate, final=True)

    def _until_start(self, holder: Job) -> float:
        answered = time.time()
        return max(0.0, self.started(holder) - answered)

    def unlink(self) -> float:
        """The holder starts alone."""
        holder, mate = self.held()
        self.b.unlink(mate)
        after = self._until_start(holder)
        self.b.cancel(mate)
        return after

    def alone(self) -> float:
        """The holder starts alone at the end of the time for another in its place."""
        holder, mate = self.held()
        self.b.cancel(mate)
        ended = wait_until(lambda: self.b.job(mate).ended_at, "it has ended")
        return self.started(holder) - ended.timestamp() - PATIENCE

    def replaced(self) -> float:
        """The holder asks for the job that was submitted in the place of its mate."""
        holder, mate = self.held()
        other = self._submit_for(mate)
        answered = time.time()
        while self.a.job(holder).mates[0].id != other:
            time.sleep(0.005)
        after = time.time() - answered
        self.b.cancel(other, final=True)
        self.started(holder)
        return after

    def _submit_for(self, mate: Job) -> str:
        """Submit a job in the place of this one; its id."""
        return self.b.submit(script_that_notes(self.folder, 0), in_place_of=mate).id


class ClusterHolder(Holder):
    """Two real clusters; the nodes of the second are taken, and its jobs cancelled by its own command."""

    def __init__(self, coupled: Any, a: Client, b: Client) -> None:
        self.a, self.b, self.coupled = a, b, coupled
        self._number = 0

    def held(self) -> tuple[Job, Job]:
        self._number += 1
        work, coupled = Work(f"p{self._number}", 1, 0), self.coupled
        mate = coupled.submit(coupled.there, work)
        holder = coupled.submit(coupled.here, work)
        coupled.until_job(coupled.here, holder, lambda job: (job.state, job.mates[0].id) == ("holding", mate), "holds")
        return self.a.job(holder), self.b.job(mate)

    def started(self, job: Job) -> float:
        notes = self.coupled.notes(self.coupled.here)
        lines = lambda: notes.read_text().splitlines() if notes.exists() else []  # noqa: E731
        return wait_until(lambda: next((float(at) for id, _, at in map(str.split, lines()) if id == job.id), None))

    def _cancel_there(self, mate: Job) -> None:
        self.coupled.there.cluster.scancel(mate.id)

    def _submit_there(self, *arguments: str) -> str:
        """Submit by `cosched submit`; the job's id."""
        return str(self.coupled.there.service.run("submit", "--parsable", *arguments)).strip()

    def _submit_for(self, mate: Job) -> str:
        script = self.coupled.notes(self.coupled.there).with_name("other.sh")
        script.write_text("#!/bin/sh\ntrue\n")
        return self._submit_there("--chdir", str(script.parent), "--in-place-of", mate.id, str(script))


class ServedPbs(PbsCoupled):
    """Clusters of PBS whose services have other settings from measurement to measurement."""

    def serve(self, schemes: tuple[str, str], **settings: object) -> None:
        """Have services with these settings."""
        self.lab.serve(schemes, **settings)


class PbsHolder(ClusterHolder):
    """The same of PBS."""

    def _cancel_there(self, mate: Job) -> None:
        self.coupled.there.cluster.run("qdel", mate.id)

    def _submit_there(self, *arguments: str) -> str:
        service, commands = self.coupled.there.service, self.coupled.there.cluster.bin
        environment = service.environment | {"PATH": f"{commands}:/usr/bin:/bin"}
        command = [cosched(), "submit", "--parsable", *arguments]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()


@contextmanager
def slurm_holders() -> Iterator[ClusterHolder]:
    """The clusters; whose owner's cancellations are for good."""
    with CoupledLab(options={"nodes": NODES}, services=False, **START) as lab:
        served = Served(lab)
        served.serve(("hold", "yield"), successor_patience=0)
        blocker, cluster = served.submit(served.there, Work(None, NODES, LONG)), served.there.cluster
        served.until(lambda: "RUNNING" in cluster.squeue("-h", "-j", blocker, "-o", "%T"), "its nodes to be taken")
        with Client(served.here.service.server) as a, Client(served.there.service.server) as b:
            yield ClusterHolder(served, a, b)
        lab.clear()


@contextmanager
def pbs_holders() -> Iterator[PbsHolder]:
    """As above, with PBS."""
    with (
        tempfile.TemporaryDirectory(prefix="pbs-") as folder,
        PbsLab(Path(folder), ("pbs", "pbs"), ("hold", "yield"), nodes=NODES, successor_patience=0, **PBS_START) as lab,
    ):
        coupled = ServedPbs(lab)
        cluster = coupled.there.cluster
        cluster.wait_for_state(cluster.qsub(f"sleep {LONG}", f"-lselect={NODES}:ncpus=1", "-lwalltime=10:00:00"), "R")
        with Client(coupled.here.service.server) as a, Client(coupled.there.service.server) as b:
            yield PbsHolder(coupled, a, b)
        for domain in lab:
            domain.clear()


CLUSTERS = {"slurm": slurm_holders, "pbs": pbs_holders}


@contextmanager
def holders(folder: Path, **settings: object) -> Iterator[Holder]:
    """The domains, with these settings of their coscheduling."""
    pair = Pair(folder, scheme="hold", max_held_fraction="1", hold_check=HOLD_CHECK, **settings)
    for service in pair.both:
        service.config["domain"] |= {"http": f"127.0.0.1:{free_port()}", "log_level": "info"}
    try:
        pair.start()
        fill(pair.b)
        with pair.a.client() as a, pair.b.client() as b:
            yield Holder(folder, a, b, pair)
    finally:
        pair.clear()


def calls(holder: Holder) -> dict[str, float]:
    """How many calls a has made to b, by their names."""
    with urlopen(f"http://{holder.pair.a.config['domain']['http']}/metrics") as answer:
        text = answer.read().decode()
    found: dict[str, float] = {}
    for call, number in re.findall(r'^cosched_peer_calls_total\{call="(\w+)".*\} (\S+)$', text, re.MULTILINE):
        found[call] = found.get(call, 0) + float(number)
    return found


def report(what: str, measure: Callable[[], float], rounds: int) -> None:
    """Print a line of seconds."""
    seconds = [measure() for _ in range(rounds)]
    median = statistics.median(seconds)
    print(f"{what:>10} {median:7.3f} {max(seconds):7.3f}{'' if median < ASKED else '  MISSED'}", flush=True)


def main(rounds: int = ROUNDS, manager: str = "local") -> None:
    """Measure, and print a table."""
    if manager in CLUSTERS:
        print(f"\nNews between clusters of {manager}: seconds until it has an effect, median and worst of {rounds}")
        with CLUSTERS[manager]() as holder:
            for measure in (holder.cancel, holder.unlink):
                report(measure.__name__, measure, rounds)
            serve = holder.coupled.serve
            serve(("hold", "yield"), successor_patience=600, successor_hold=600)
            report("replaced", holder.replaced, rounds)
            serve(("hold", "yield"), successor_patience=PATIENCE, successor_hold=PATIENCE)
            report("alone", holder.alone, rounds)
        return
    print(f"\nNews between local domains: seconds until it has an effect, median and worst of {rounds}")
    with tempfile.TemporaryDirectory() as folder:
        with holders(Path(folder) / "now") as holder:
            for measure in (holder.cancel, holder.unlink, holder.replaced):
                report(measure.__name__, measure, rounds)
            holder.held()
            before = calls(holder)
            time.sleep(WATCHED)
            made = {call: number - before.get(call, 0) for call, number in calls(holder).items()}
            named = ", ".join(f"{call} {60 * number / WATCHED:.1f}" for call, number in made.items() if number)
            print(f"an idle holder: calls a minute to its peer: {named}")
        with holders(Path(folder) / "later", successor_patience=PATIENCE, successor_hold=PATIENCE) as holder:
            report("alone", holder.alone, rounds)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    sys.exit(main(*numbers or [ROUNDS], *(word for word in sys.argv[1:] if not word.isdigit())))
