"""Two accounts on two real Slurm clusters, without hooks and administrators: gates, and one login between them."""

from __future__ import annotations

import os
import random
import signal
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from cosched.cli.own_service import OwnService, lives
from deploy.slurm.lab import Cluster, Lab
from tests.live.own import BIN, Account, Sshd
from tests.waiting import wait_until

KILLS = 30
NOTING = """#!/bin/bash
#SBATCH --output=/dev/null
#SBATCH --time=10
echo "$1 $EPOCHREALTIME $SLURM_RESTART_COUNT" >> {notes}
"""


_Side = TypeVar("_Side", bound="Side")


class Side(Account):
    """An account on a cluster; its jobs note when they begin."""

    def __init__(self, folder: Path, cluster: Cluster, **environment: str) -> None:
        path = f"{BIN}:{cluster.environment['PATH']}"
        super().__init__(folder, SLURM_CONF=str(cluster.conf), **environment, PATH=path)
        self.cluster = cluster
        self.sshd: Sshd
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

    def told(self, job: str) -> list[str]:
        path = self.state / "gates" / f"{job}.told"
        return path.read_text().splitlines() if path.exists() else []

    def kill(self) -> None:
        """Kill the service."""
        process = OwnService(self.state).process()
        if process is not None:
            os.kill(process, signal.SIGKILL)
            wait_until(lambda: not lives(process), "it is dead")

    def kill_gate(self, job: str) -> None:
        """Kill all processes of a job's script."""
        script = f"job{int(job):05}/slurm_script".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if script in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)

    def cut(self) -> None:
        """Cut the connection that leads here."""
        self.sshd.cut()


@contextmanager
def coupled(folder: Path, scheme: str, side: type[_Side] = Side, **options: int) -> Iterator[tuple[_Side, _Side]]:
    """A coupled pair of services; the one here holds, or yields. `options`: of the laboratory."""
    with Lab(names=("intrepid", "eureka"), **options) as lab:
        there = side(folder / "there", lab["eureka"])
        sshd = Sshd(folder / "sshd", there)
        here = side(folder / "here", lab["intrepid"], COSCHED_SSH=f"ssh -F {sshd.client}")
        here.sshd = there.sshd = sshd
        try:
            here("up", "--scheme", scheme)
            there("up")
            here("peer", "add", "eureka", "login.eureka")
            yield here, there
        finally:
            for its in (here, there):
                its.run("down")
            sshd.stop()


def jobs_of(sides: tuple[Side, Side]) -> str:
    """Return all that Slurm and the services say of their jobs."""
    return "\n".join(side.cluster.squeue("-a", "-t", "all") + side("queue", "--all") + side.log for side in sides)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Side, Side]]:
    with coupled(tmp_path, "hold") as sides:
        yield sides


@pytest.fixture(params=["hold", pytest.param("yield", marks=pytest.mark.soak)])
def sides(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Side, Side]]:
    with coupled(tmp_path, request.param) as sides:
        yield sides


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
    checks = here.run("doctor", "--config", str(here.state / "service.toml")).stdout  # the laboratory has its faults
    assert "compute nodes must see it, too" in checks


@pytest.mark.soak
def test_a_hold_outlives_its_service_and_the_connection(held: tuple[Side, Side]) -> None:
    here, there = held
    first = here.submit("run1")
    wait_until(lambda: here.told(first) == ["0 ready nodes=1 nodelist=intrepid1 locked"], "it waits at its gate")
    for side in held:
        side.kill()
    there.submit("run1")  # which starts the service there
    here("queue")
    wait_until(lambda: all("run1" in side.starts() for side in held), f"both start:\n{here.log}\n{there.log}")
    assert [len(side.starts()["run1"]) for side in held] == [1, 1]

    cancelled = here.submit("run2")
    wait_until(lambda: here.told(cancelled) != [], "it waits at its gate")
    here("cancel", cancelled)
    wait_until(lambda: here.told(cancelled)[-1] == "0 gone", "its gate has ended")
    wait_until(lambda: "cancelled" in here("show", cancelled), "it is cancelled")


@pytest.mark.soak
def test_a_job_whose_gate_is_killed_waits_again(held: tuple[Side, Side]) -> None:
    here, there = held
    first = there.submit("run1")
    wait_until(lambda: there.told(first) == ["0 ready nodes=1 nodelist=eureka1 locked"], "it waits at its gate")
    there.kill_gate(first)
    here.submit("run1")  # before Slurm has seen that
    wait_until(lambda: all("run1" in side.starts() for side in held), f"both start:\n{here.log}\n{there.log}", 120)
    assert [len(side.starts()["run1"]) for side in held] == [1, 1]
    assert there.told(first)[1:] == ["1 ready nodes=1 nodelist=eureka1 locked", "1 starting"]
    gap = abs(here.starts()["run1"][0] - there.starts()["run1"][0])
    assert gap < 1, gap


@pytest.mark.soak
def test_pairs_over_kills_of_services_connections_and_gates(held: tuple[Side, Side]) -> None:
    here, there = held
    chance = random.Random(7)
    for number in range(KILLS):
        name, order = f"run{number}", list(held)
        chance.shuffle(order)
        first = order[0].submit(name)
        time.sleep(chance.uniform(0, 2))
        chance.choice([here.kill, there.kill, here.cut, partial(order[0].kill_gate, first)])()
        order[1].submit(name)
        for side in held:
            side("queue")
        try:
            wait_until(lambda name=name: all(name in side.starts() for side in held), f"{name} starts", 180)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{jobs_of(held)}") from None
    starts = [side.starts() for side in held]
    assert all(len(times) == 1 for side in starts for times in side.values())
    gaps = [abs(starts[0][name][0] - starts[1][name][0]) for name in starts[0]]
    assert statistics.median(gaps) < 0.1, gaps
