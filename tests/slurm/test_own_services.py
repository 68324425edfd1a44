"""Two accounts on two real Slurm clusters, without hooks and administrators: gates, and one login between them."""

import os
import random
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from deploy.slurm.lab import Cluster, Lab
from tests.live.own import BIN, Account, Sshd
from tests.live.services import free_port
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

    def submit(self, name: str, *options: str, then: str = "") -> str:
        """Submit a job that notes that it has begun, and then does this."""
        script = self.folder / f"{name}.sh"
        script.write_text(NOTING.format(notes=self.notes) + then)
        return self("submit", "--parsable", "--pair", name, *options, str(script), name).strip()

    def told(self, job: str) -> list[str]:
        path = self.state / "gates" / f"{job}.told"
        return path.read_text().splitlines() if path.exists() else []

    def kill_gate(self, job: str) -> None:
        """Kill all processes of a job's script; a job of the other cluster may have the same id."""
        script, here = f"job{int(job):05}/slurm_script".encode(), f"SLURM_CLUSTER_NAME={self.cluster.name}\0".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if script in (process / "cmdline").read_bytes() and here in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)

    def cut(self) -> None:
        """Cut the connection that leads here."""
        self.sshd.cut()


@contextmanager
def coupled(folder: Path, scheme: str, side: type[_Side] = Side, **options: Any) -> Iterator[tuple[_Side, _Side]]:
    """A coupled pair of services; the one here holds, or yields. `options`: of the laboratory."""
    with Lab(names=("intrepid", "eureka"), **options) as lab:
        there = side(folder / "there", lab["eureka"])
        sshd = Sshd(folder / "sshd", there)
        here = side(folder / "here", lab["intrepid"], COSCHED_SSH=f"ssh -F {sshd.client}")
        here.sshd = there.sshd = sshd
        there.own["COSCHED_SSH"] = here.own["COSCHED_SSH"]  # from its compute nodes to itself
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


def wait_for_starts(sides: tuple[Side, Side], name: str) -> None:
    try:
        wait_until(lambda: all(name in side.starts() for side in sides), f"{name} starts")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{jobs_of(sides)}") from None


def check_starts(sides: tuple[Side, Side]) -> None:
    """Both jobs start once, and together."""
    wait_for_starts(sides, "run1")
    (first,), (second,) = (side.starts()["run1"] for side in sides)
    assert abs(first - second) < 1


def waits_at_its_gate(side: Side) -> str:
    """Submit a job, and wait until it does."""
    job = side.submit("run1")
    at = f"0 ready nodes=1 nodelist={side.cluster.name}1 locked"
    wait_until(lambda: side.told(job) == [at], "it waits at its gate")
    return job


@pytest.fixture
def held(short_path: Path) -> Iterator[tuple[Side, Side]]:
    with coupled(short_path, "hold") as sides:
        yield sides


@pytest.fixture(params=["hold", pytest.param("yield", marks=pytest.mark.soak)])
def sides(request: pytest.FixtureRequest, short_path: Path) -> Iterator[tuple[Side, Side]]:
    with coupled(short_path, request.param) as sides:
        yield sides


def test_pairs_start_together_without_hooks(sides: tuple[Side, Side]) -> None:
    here, there = sides
    names = [f"run{number}" for number in range(3)]
    for name in names:
        here.submit(name)
        there.submit(name)
        wait_for_starts(sides, name)
    gaps = [abs(here.starts()[name][0] - there.starts()[name][0]) for name in names]
    assert all(len(times) == 1 for side in sides for times in side.starts().values())
    assert statistics.median(gaps) < 1, gaps
    checks = here.run("doctor").stdout
    assert "compute nodes see" in checks
    assert "eureka, by ssh" in checks
    assert ", as here" in checks
    assert "problem  " not in checks


@pytest.mark.soak
def test_a_hold_outlives_its_service_and_the_connection(held: tuple[Side, Side]) -> None:
    here, there = held
    waits_at_its_gate(here)
    for side in held:
        side.kill()
    there.submit("run1")  # which starts the service there
    here("queue")
    check_starts(held)

    cancelled = here.submit("run2")
    wait_until(lambda: here.told(cancelled) != [], "it waits at its gate")
    here("cancel", cancelled)
    wait_until(lambda: here.told(cancelled)[-1] == "0 gone", "its gate has ended")
    wait_until(lambda: "cancelled" in here("show", cancelled), "it is cancelled")


@pytest.mark.soak
def test_a_job_whose_gate_is_killed_waits_again(held: tuple[Side, Side]) -> None:
    here, there = held
    first = waits_at_its_gate(there)
    there.kill_gate(first)
    here.submit("run1")  # before Slurm has seen that
    check_starts(held)
    assert there.told(first)[1:] == ["1 ready nodes=1 nodelist=eureka1 locked", "1 starting soon", "1 started"]


@pytest.mark.soak
def test_a_pair_starts_again_if_a_gate_is_killed_between_its_answer_and_its_start(held: tuple[Side, Side]) -> None:
    here, there = held
    for number in range(10):  # until one is killed in time
        name = f"run{number}"
        jobs = [side.submit(name, "--if-requeued", "requeue", then="exec sleep 600\n") for side in held]
        answer = there.state / "gates" / f"{jobs[1]}.answer"
        wait_until(lambda path=answer: path.exists() and " start " in path.read_text(), "its gate has its answer", 180)
        there.kill_gate(jobs[1])
        if there.told(jobs[1])[-1] == "0 started":
            for side, job in zip(held, jobs, strict=True):
                side("cancel", job)
            continue
        wait_until(lambda name=name: name in there.starts(), f"it starts again:\n{jobs_of(held)}", 180)
        wait_until(lambda name=name: len(here.starts()[name]) == 2, f"and its mate:\n{jobs_of(held)}", 180)
        assert len(there.starts()[name]) == 1
        gap = abs(here.starts()[name][1] - there.starts()[name][0])
        assert gap < 1, gap
        return
    raise AssertionError("no gate was killed in time")


@pytest.mark.soak
def test_pairs_over_kills_of_services_connections_and_gates(sides: tuple[Side, Side]) -> None:
    here, there = sides
    chance = random.Random(7)
    for number in range(KILLS):
        name, order = f"run{number}", list(sides)
        chance.shuffle(order)
        first = order[0].submit(name)
        time.sleep(chance.uniform(0, 2))
        chance.choice([here.kill, there.kill, here.cut, partial(order[0].kill_gate, first)])()
        order[1].submit(name)
        for side in sides:
            side("queue")
        wait_for_starts(sides, name)
    starts = [side.starts() for side in sides]
    assert all(len(times) == 1 for side in starts for times in side.values())
    gaps = [abs(starts[0][name][0] - starts[1][name][0]) for name in starts[0]]
    assert statistics.median(gaps) < 0.1, gaps


@pytest.mark.soak
def test_a_gate_starts_its_service_again_but_not_one_that_its_user_has_ended(held: tuple[Side, Side]) -> None:
    here, there = held
    there.change(gate_patience=20)
    there("up")
    waits_at_its_gate(there)
    here("down")  # whose connection would start it, too
    there.kill()
    wait_until(lambda: there.process is not None, "its gate has started its service", 180)
    here.submit("run1")
    check_starts(held)

    second = there.submit("run2")
    wait_until(lambda: len(there.told(second)) == 1, "it waits at its gate")
    there("down")
    wait_until(lambda: "run2" in there.starts(), "it starts alone after the patience of its gate", 180)
    assert there.process is None


@pytest.mark.soak
def test_a_time_limit_is_that_of_the_script_once_the_job_has_started(held: tuple[Side, Side]) -> None:
    here, there = held
    here.change(hold_time=7200)
    here("up")
    script = "#!/bin/sh\n#SBATCH --time=10 --output=/dev/null\nsleep 60\n"
    first = here("submit", "--parsable", "--pair", "run1", "-", text=script).strip()
    limit = lambda: here.cluster.squeue("-h", "-j", first, "-o", "%l").strip()  # noqa: E731
    wait_until(lambda: here.told(first) != [], "it waits at its gate")
    assert limit() == "2:10:00"
    there("submit", "--pair", "run1", "-", text=script)
    wait_until(lambda: here.told(first)[-1] == "0 started", "it starts", 180)
    wait_until(lambda: limit() != "2:10:00", "its limit falls")
    assert limit() in ("10:00", "11:00")


@pytest.mark.soak
def test_jobs_yield_where_jobs_are_not_requeued_unless_they_ask(short_path: Path) -> None:
    with coupled(short_path, "yield", lines=("JobRequeue=0",)) as sides:
        here, there = sides
        first = here.submit("run1")
        wait_until(lambda: "0 gone" in here.told(first), "it yields")
        there.submit("run1")
        check_starts(sides)
        kept = here.run("submit", "--pair", "run2", "-", text="#!/bin/sh\n#SBATCH --no-requeue\n")
        assert "Slurm must not requeue it" in kept.stderr or "no-requeue" in kept.stderr, kept.stderr


@pytest.mark.soak
@pytest.mark.parametrize("end", ["ssh", "network"])
def test_a_connection_that_freezes_is_replaced(held: tuple[Side, Side], end: str) -> None:
    here, there = held
    frozen = here.sshd.sessions() if end == "network" else children(here.process)
    assert frozen
    for process in frozen:
        os.kill(process, signal.SIGSTOP)
    try:
        here.submit("run1")
        there.submit("run1")
        check_starts(held)
    finally:
        for process in frozen:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0, reason="a folder that nodes do not see is a mount, which needs root")
def test_nodes_that_do_not_share_the_home_reach_the_service_by_tcp(held: tuple[Side, Side]) -> None:
    here, there = held
    here.change(gate_port=free_port())
    here("up")
    unseen = here.folder / "unseen"
    unseen.mkdir()
    script = NOTING.format(notes=here.notes).replace("/dev/null", f"{here.folder}/out")
    submit = f"mount --bind {here.state} {unseen}; exec {BIN}/cosched submit --parsable --pair run1 - run1"
    done = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", submit], input=script, text=True, check=True,
        env={**os.environ, **here.own, "COSCHED_STATE": str(unseen)}, capture_output=True,
    )  # fmt: skip
    first = done.stdout.strip()
    wait_until(lambda: here.told(first) == ["0 ready nodes=1 nodelist=intrepid1 locked"], "it waits at its gate")
    here.kill()
    here("up")
    there.submit("run1")
    check_starts(held)
    assert (here.folder / "out").read_text() == ""


def children(process: int | None) -> list[int]:
    """Return the processes that another one has started."""
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
