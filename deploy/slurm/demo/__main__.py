"""The command `python -m deploy.slurm.demo`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.lab.demo import scenes
from deploy.lab.demo.place import Place
from deploy.lab.demo.playing import play
from deploy.lab.demo.screen import Screen
from deploy.lab.demo.stage import Stage
from deploy.lab.service import Service
from deploy.slurm.lab import Cluster, CoupledLab

_FORMAT = "--format=%.5i %.6j %.2t %.5D %R"


class SlurmPlace(Place):
    """A Slurm cluster."""

    command = "squeue"

    def __init__(self, cluster: Cluster, service: Service) -> None:
        super().__init__(cluster.name, service, cluster.jobs)
        self._cluster = cluster

    def submit(self, script: str, nodes: int, name: str, pair: str = "") -> str:
        mate = [f"--comment=cosched:pair={pair}"] if pair else []
        return str(self._cluster.sbatch(script, f"--nodes={nodes}", f"--job-name={name}", *mate))

    def wait_until_it_runs(self, job: str) -> None:
        self._cluster.wait_for_state(int(job), "RUNNING")

    def queue(self) -> str:
        return self._cluster.squeue("--all", "--sort=i", _FORMAT)

    @property
    def logs(self) -> list[Path]:
        return [self.service.log, self._cluster.controller_log]


@contextmanager
def stage(screen: Screen) -> Iterator[Stage]:
    """Two clusters, intrepid and eureka."""
    screen.say("Starting two Slurm clusters of this host's, each with cosched's hooks and its service ...")
    lab = CoupledLab(
        schemes=("hold", "yield"),
        options={"nodes": scenes.NODES},
        release_interval=scenes.RELEASE_INTERVAL,
        max_held_fraction=1,
        backoff=2,
    )
    with lab:
        yield Stage([SlurmPlace(domain.cluster, domain.service) for domain in lab], screen, lab.restart, lab.check)


if __name__ == "__main__":
    sys.exit(play("slurm-demo", stage, "deploy/slurm/lab/lab run --cosched -- bash"))
