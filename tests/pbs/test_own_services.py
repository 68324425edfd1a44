"""An account on a real PBS cluster, without operators' rights and hooks, coupled with one on another host."""

from __future__ import annotations

import os
import random
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from cosched.cli.own_service import OwnService
from cosched.client import Client
from deploy.pbs.lab import PbsCluster
from deploy.slurm.lab import Lab
from deploy.slurm.lab.programs import missing_programs
from tests.live.own import BIN, Account, Sshd
from tests.slurm.test_own_services import Side
from tests.waiting import wait_until

pytestmark = pytest.mark.soak
PAIRS = 12
KILLS = 20
OPERATORS = ("qmgr", "qrun", "qrerun")  # commands that are theirs alone
REFUSED = '#!/bin/sh\necho "${0##*/}: Unauthorized Request" >&2\nexit 159\n'
SCRIPT = """#!/bin/bash
#PBS -l select={nodes}:ncpus=1
#PBS -l walltime=600
#PBS -N mine -j oe -v COLOUR=blue
echo "$PBS_JOBNAME $EPOCHREALTIME $COLOUR" >> {notes}
echo "$0 $# $COSCHED_MATES"
exit {code}
"""
LOCAL = "#!/bin/bash\necho {name} $EPOCHREALTIME >> {notes}\n{then}"


class There(Account):
    """An account whose jobs are local processes."""

    def submit(self, name: str, *options: str, then: str = "") -> str:
        script = LOCAL.format(name=name, notes=self.notes, then=then)
        return self("submit", "--parsable", "--pair", name, *options, "-", text=script).strip()


_There = TypeVar("_There", There, Side)


class Here(There):
    """An account on a cluster of PBS whose server grants it no more than its own jobs."""

    def __init__(self, folder: Path, cluster: PbsCluster, **environment: str) -> None:
        commands = folder.with_name("bin")
        commands.mkdir()
        for command in cluster.bin.iterdir():
            (commands / command.name).write_text(REFUSED if command.name in OPERATORS else command.read_text())
            (commands / command.name).chmod(0o755)
        super().__init__(folder, **environment, PATH=f"{BIN}:{commands}:{os.environ['PATH']}")
        self.cluster = cluster
        self.cut: Callable[[], None]  # the connection that leads to the peer

    def submit(self, name: str, *options: str, nodes: int = 1, code: int = 0) -> str:
        script = self.folder / f"{name}.sh"
        lines = SCRIPT.format(notes=self.notes, nodes=nodes, code=code).replace("$PBS_JOBNAME ", f"{name} ")
        script.write_text(lines)
        return self("submit", "--parsable", "--pair", name, *options, str(script)).strip()

    def told(self, job: str) -> list[str]:
        """The words that its gates have said, without their turns."""
        path = self.state / "gates" / f"{job}.told"
        return [line.partition(" ")[2] for line in path.read_text().splitlines()] if path.exists() else []

    def gate(self, job: str) -> list[int]:
        """Return all processes of a job's script."""
        script, found = f"/{job}.{self.cluster.name}.SC".encode(), []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if script in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
        return found

    def job(self, job: str) -> dict[str, object]:
        return self.cluster.job(f"{job}.{self.cluster.name}")


_Here = TypeVar("_Here", bound=Here)
LOCAL_PROCESSES = ("--manager", "local", "--name", "eureka")


@contextmanager
def coupled(
    folder: Path,
    cluster: PbsCluster,
    there: _There,
    *options: str,
    here_options: Sequence[str] = (),
    kind: type[_Here] = Here,  # type: ignore[assignment]
) -> Iterator[tuple[_Here, _There]]:
    """A coupled pair of services, of which the one there has these options; the account here is of this kind."""
    sshd = Sshd(folder / "sshd", there)
    here = kind(folder / "here", cluster, COSCHED_SSH=f"ssh -F {sshd.client}")
    here.cut = sshd.cut
    try:
        here("up", "--manager", "pbs", *here_options)
        there("up", *options)
        here("peer", "add", "eureka", "login.eureka")
        yield here, there
    finally:
        for its in (here, there):
            its.run("down")
        sshd.stop()


@pytest.fixture
def sides(short_path: Path, cluster: PbsCluster) -> Iterator[tuple[Here, There]]:
    with coupled(short_path, cluster, There(short_path / "there"), *LOCAL_PROCESSES) as sides:
        yield sides


def both_start(sides: tuple[Here, There | Side], name: str) -> float:
    """Wait until both have started; return how far apart."""
    here, there = sides
    try:
        wait_until(lambda: all(name in side.starts() for side in sides), f"{name} starts", 120)
    except AssertionError as error:
        shown = "\n".join(side("queue", "--all") + side.log for side in sides) + here.cluster.run("qstat", "-x")
        raise AssertionError(f"{error}\n{shown}") from None
    assert [len(side.starts()[name]) for side in sides] == [1, 1]
    return abs(here.starts()[name][0] - there.starts()[name][0])


def test_pairs_start_together_with_other_jobs_around(sides: tuple[Here, There]) -> None:
    here, there = sides
    gaps = []
    for number in range(PAIRS):
        here.cluster.qsub("sleep 2", "-lselect=2:ncpus=1")
        order = [here, there] if number % 2 else [there, here]
        for side in order:
            side.submit(f"run{number}")
        gaps.append(both_start(sides, f"run{number}"))
    assert statistics.median(gaps) < 0.1, gaps
    checks = here.run("doctor").stdout
    assert "compute nodes see" in checks
    assert "problem  " not in checks
    assert not [name for name in OPERATORS if f"{name}: " in here.log]


def test_a_job_is_what_it_is_without_its_gate(sides: tuple[Here, There]) -> None:
    here, there = sides
    job = here.submit("run1", nodes=2, code=7)
    wait_until(lambda: here.told(job) == ["ready nodes=1 nodelist=- locked"], "it waits at its gate")
    wait_until(lambda: "holding" in here("show", job), "it holds")
    assert "2" in here("queue").splitlines()[1].split()
    there.submit("run1")
    both_start(sides, "run1")
    here.cluster.wait_for_state(f"{job}.mira", "F")
    shown = here.job(job)
    assert (shown["Exit_status"], shown["Job_Name"]) == (7, "mine")
    assert here.notes.read_text().split()[2] == "blue"
    output = here.folder / f"mine.o{job}"
    wait_until(output.exists, "its output is there")
    assert output.read_text().startswith("/mnt/pbs/mom_priv/jobs/"), output.read_text()
    assert "eureka" in output.read_text()
    wait_until(lambda: "failed" in here("show", job), "its exit code is known")


def test_jobs_that_end_in_their_gates_and_their_mates(sides: tuple[Here, There]) -> None:
    here, there = sides
    cancelled = here.submit("run2")
    wait_until(lambda: here.told(cancelled) != [], "it waits at its gate")
    assert (
        "a job of your own service can only hold"
        in here.run("submit", "--pair", "late", "-", text="#!/bin/sh\n").stderr
    )
    here("cancel", cancelled)
    wait_until(lambda: "cancelled" in here("show", cancelled), "it is cancelled")
    assert here.told(cancelled)[-1] == "gone"
    assert "run2" not in here.starts()

    parted = here.submit("run3")
    wait_until(lambda: here.told(parted) != [], "it waits at its gate")
    wait_until(lambda: "holding" in here("show", parted), "it holds")
    here("unlink", parted)
    wait_until(lambda: "run3" in here.starts(), "it starts alone")
    assert "run3" not in there.starts()


def test_a_hold_outlives_its_service_and_the_connection(sides: tuple[Here, There]) -> None:
    here, there = sides
    job = here.submit("run1")
    wait_until(lambda: here.told(job) != [], "it waits at its gate")
    for side in sides:
        side.kill()
    there.submit("run1")
    here("queue")
    both_start(sides, "run1")


def test_a_mate_fails_too_if_a_gate_is_killed_between_its_answer_and_its_start(sides: tuple[Here, There]) -> None:
    here, there = sides
    for number in range(10):  # until one is killed in time
        name = f"run{number}"
        job = here.submit(name)
        wait_until(lambda job=job: here.told(job) != [], "it waits at its gate")
        gate, answer = here.gate(job), here.state / "gates" / f"{job}.answer"
        mate = there.submit(name, "--fail-together", then="exec sleep 600\n")
        wait_until(lambda path=answer: " start " in path.read_text(), "its gate has its answer", 180)
        for process in gate:
            os.kill(process, signal.SIGKILL)
        if here.told(job)[-1] == "started":
            there("cancel", mate)
            continue
        wait_until(lambda mate=mate: "its mate failed" in there("show", mate), "its mate fails")
        assert name not in here.starts()
        return
    raise AssertionError("no gate was killed in time")


def test_a_job_that_an_operator_queues_again_waits_again(sides: tuple[Here, There]) -> None:
    here, there = sides
    job = here.submit("run1")
    wait_until(lambda: "holding" in here("show", job), "it holds")
    here.cluster.run("qrerun", job)
    wait_until(lambda: sum(word.startswith("ready") for word in here.told(job)) == 2, "it waits again", 120)
    there.submit("run1")
    both_start(sides, "run1")


def test_a_hold_is_shown_and_counted_and_the_budget_knows_it(cluster: PbsCluster, short_path: Path) -> None:
    budget = ("--hold-budget", "0")
    with coupled(short_path, cluster, There(short_path / "there"), *LOCAL_PROCESSES, here_options=budget) as sides:
        here, there = sides
        with Client(f"unix:{OwnService(here.state).socket}") as client:
            job = here.submit("run1", nodes=2)
            wait_until(lambda: client.job(job).state == "holding", "it holds, whatever the budget")
            wait_until(lambda: client.job(job).holds.held_node_seconds > 0, "that is counted as it goes on")
            assert " HO " in here("queue")
            there.submit("run1")
            both_start(sides, "run1")
            begins, ends = (client.events(0, [job], [kind], until_now=True) for kind in ("held", "started"))
            seconds = (next(iter(ends)).at - next(iter(begins)).at).total_seconds()
            held = client.job(job).holds.held_node_seconds
            assert abs(held - 2 * seconds) <= 2, (held, seconds)
            (usage,) = client.usage("account")
            assert (usage.held_in_a_day, usage.cost.held, usage.may_hold_in_a_day) == (held, held, 0)


def test_what_users_cannot_have_is_one_line(sides: tuple[Here, There], short_path: Path) -> None:
    here, _ = sides
    said = here.run("submit", "--pair", "a", "-", text="#!/bin/sh\n#PBS -J 1-2\n")
    assert said.returncode != 0
    assert "array" in said.stderr
    said = here.run("submit", "--adoptable", "-", text="#!/bin/sh\n")
    assert "--adoptable" in said.stderr
    other = Account(short_path / "other", PATH=here.own["PATH"])
    said = other.run("up", "--manager", "pbs", "--scheme", "yield")
    assert "let the other side yield" in said.stderr
    with suppress(FileNotFoundError):
        assert not list(other.state.iterdir())


def test_pbs_holds_and_slurm_yields(cluster: PbsCluster, short_path: Path) -> None:
    if missing_programs():
        pytest.skip("needs Slurm")
    with Lab(names=("eureka",)) as lab:
        there = Side(short_path / "there", lab["eureka"])
        with coupled(short_path, cluster, there, "--scheme", "yield") as sides:
            here, _ = sides
            gaps = []
            for number in range(6):
                order = [here, there] if number % 2 else [there, here]
                for side in order:
                    side.submit(f"run{number}")
                gaps.append(both_start(sides, f"run{number}"))
            assert statistics.median(gaps) < 0.1, gaps


def test_pairs_over_kills_of_services_and_connections(sides: tuple[Here, There]) -> None:
    here, there = sides
    chance = random.Random(7)
    gaps = []
    for number in range(KILLS):
        name, order = f"run{number}", list(sides)
        chance.shuffle(order)
        order[0].submit(name)
        time.sleep(chance.uniform(0, 2))
        chance.choice([here.kill, there.kill, here.cut])()
        order[1].submit(name)
        for side in sides:
            side("queue")
        gaps.append(both_start(sides, name))
    assert statistics.median(gaps) < 0.1, gaps
