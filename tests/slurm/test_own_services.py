"""Two accounts on two real Slurm clusters, without hooks and administrators: gates, and one login between them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.slurm.lab import Cluster, Lab
from tests.live.own import BIN, Account, Sshd
from tests.waiting import wait_until

NOTING = """#!/bin/bash
#SBATCH --output=/dev/null
#SBATCH --time=10
echo "$1 $EPOCHREALTIME $SLURM_RESTART_COUNT" >> {notes}
"""


class Side(Account):
    """An account on a cluster; its jobs note when they begin."""

    def __init__(self, folder: Path, cluster: Cluster, **environment: str) -> None:
        path = f"{BIN}:{cluster.environment['PATH']}"
        super().__init__(folder, SLURM_CONF=str(cluster.conf), **environment, PATH=path)
        self.cluster = cluster
        self.notes = folder / "notes"

    def submit(self, name: str, *options: str) -> str:
        script = self.folder / f"{name}.sh"
        script.write_text(NOTING.format(notes=self.notes))
        return self("submit", "--parsable", "--pair", name, *options, str(script), name).strip()

    def starts(self) -> dict[str, list[float]]:
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        found: dict[str, list[float]] = {}
        for name, at, *_ in map(str.split, lines):
            found.setdefault(name, []).append(float(at))
        return found


@pytest.fixture(params=["hold", "yield"])
def sides(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Side, Side]]:
    """A coupled pair of services; the one here holds, or yields."""
    with Lab(names=("intrepid", "eureka")) as lab:
        there = Side(tmp_path / "there", lab["eureka"])
        sshd = Sshd(tmp_path / "sshd", there)
        here = Side(tmp_path / "here", lab["intrepid"], COSCHED_SSH=f"ssh -F {sshd.client}")
        try:
            here("up", "--scheme", request.param)
            there("up")
            here("peer", "add", "eureka", "login.eureka")
            yield here, there
        finally:
            for side in (here, there):
                side.run("down")
            sshd.stop()


def test_pairs_start_together_without_hooks(sides: tuple[Side, Side]) -> None:
    here, there = sides
    names = [f"run{number}" for number in range(3)]
    for name in names:
        here.submit(name)
        there.submit(name)
        wait_until(
            lambda name=name: name in here.starts() and name in there.starts(),
            f"{name} starts:\n{here.log}\n{there.log}\n{here.cluster.squeue('-a')}{there.cluster.squeue('-a')}",
        )
    gaps = [abs(here.starts()[name][0] - there.starts()[name][0]) for name in names]
    assert all(len(times) == 1 for side in sides for times in side.starts().values())
    assert statistics.median(gaps) < 1, gaps
    print(gaps)
