"""The command `python -m deploy.pbs.demo`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.lab.coupled import CoupledLab, Pbs, Slurm
from deploy.lab.demo import scenes
from deploy.lab.demo.place import Place
from deploy.lab.demo.playing import play
from deploy.lab.demo.screen import Screen
from deploy.lab.demo.stage import Stage
from deploy.lab.service import Service
from deploy.lab.waiting import LabError
from deploy.pbs.lab import PbsCluster, is_installed
from deploy.slurm.demo.__main__ import SlurmPlace

_MISSING = "needs root, and OpenPBS in /opt/pbs (or where COSCHED_LAB_PBS says): build it from its public source"


class PbsPlace(Place):
    """A PBS cluster."""

    command = "qstat"

    def __init__(self, cluster: PbsCluster, service: Service) -> None:
        super().__init__(cluster.name, service, cluster.jobs)
        self._cluster = cluster

    def submit(self, script: str, nodes: int, name: str, pair: str = "") -> str:
        mate = [f"-lpair={pair}"] if pair else []
        options = (f"-lselect={nodes}:ncpus=1", "-lwalltime=600", "-N", name)
        return self._cluster.qsub(script, *options, *mate).partition(".")[0]

    def wait_until_it_runs(self, job: str) -> None:
        self._cluster.wait_for_state(f"{job}.{self.name}", "R")

    def queue(self) -> str:
        rows = [line.split() for line in self._cluster.run("qstat").splitlines()[2:]]
        return "\n".join(f"{job:>8} {name:>6} {state}" for job, name, _, _, state, _ in rows)

    @property
    def logs(self) -> list[Path]:
        return [self.service.log, *sorted(self._cluster.path("server_logs").glob("*"))]


@contextmanager
def stage(screen: Screen) -> Iterator[Stage]:
    """A Slurm cluster and a PBS cluster."""
    if not is_installed():
        raise LabError(_MISSING)
    screen.say("Starting a PBS cluster and a Slurm cluster on this host, each with cosched's hooks and its service ...")
    settings = {"release_interval": scenes.RELEASE_INTERVAL, "max_held_fraction": 1, "backoff": 2}
    with (
        tempfile.TemporaryDirectory(prefix="pbs-demo-") as folder,
        CoupledLab(Path(folder), ("pbs", "slurm"), ("yield", "hold"), scenes.NODES, **settings) as lab,
    ):
        there, here = lab
        assert isinstance(there, Pbs)
        assert isinstance(here, Slurm)
        places = [SlurmPlace(here.lab.cluster, here.service), PbsPlace(there.cluster, there.service)]
        yield Stage(places, screen, lambda schemes: lab.serve(tuple(reversed(schemes))))


if __name__ == "__main__":
    sys.exit(play("pbs-demo", stage, "deploy/pbs/lab/README.md"))
