"""The laboratory: clusters come up, and nothing of them stays, whatever happens."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.lab.keeping import Keeping
from deploy.lab.processes import Process, all_processes, end, look
from deploy.slurm.lab import Cluster, Lab, LabError, Options, take_down, wait_for
from deploy.slurm.lab.cluster import PortTakenError
from deploy.slurm.lab.ports import Reservations

COMMAND = Path(__file__).resolve().parents[2] / "deploy" / "slurm" / "lab" / "lab"

PATIENCE = 240  # seconds; a safety net

# As nodes have fewer CPUs than this, they do not become usable: an `up` that is to be killed does not end before.
NEVER_UP = ("--cpus", "4096", "--line", "SlurmdParameters=l3cache_as_socket")

# A job that leaves processes behind which nothing ties to it: other sessions, no environment, another folder.
HIDING = "setsid env -i /bin/sh -c 'cd /; sleep {0} & sleep {0}' >/dev/null 2>&1 & echo started; sleep {0}"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A new folder with a short path, which sockets need; no process of a laboratory in it may be left at the end."""
    folder = Path(tempfile.mkdtemp(prefix="lab-"))
    try:
        yield folder
        assert not left(folder), "processes were left behind"
    finally:
        take_down(folder)
        shutil.rmtree(folder, ignore_errors=True)


def left(folder: Path) -> list[tuple[str, ...]]:
    """The command lines of the processes that name the folder, and of those of the jobs with `HIDING`."""
    words = (str(folder), mark(folder))
    return [p.arguments for p in all_processes() if any(word in argument for argument in p.arguments for word in words)]


def mark(folder: Path) -> str:
    """A number of seconds to sleep by which a laboratory's processes are known."""
    return f"600.{int.from_bytes(folder.name.encode(), 'big') % 10**9:09d}"


def hide(cluster: Cluster, folder: Path) -> None:
    """Run a job that leaves processes behind, until they are there."""
    cluster.sbatch(HIDING.format(mark(folder)))
    there = ("sleep", mark(folder))
    cluster.wait_for(lambda: [p.arguments for p in all_processes()].count(there) == 3, "the job's processes")


def lab(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, COMMAND, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False)


def started(*arguments: str | Path) -> subprocess.Popen[str]:
    argv = [sys.executable, COMMAND, *arguments]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True)


def test_two_clusters_run_jobs_side_by_side() -> None:
    with Lab(nodes=2) as lab:
        jobs = {cluster: cluster.sbatch("echo $SLURM_CLUSTER_NAME on $SLURM_NNODES", "--nodes=2") for cluster in lab}
        for cluster, job in jobs.items():
            cluster.wait_for_state(job, "COMPLETED")
            assert (cluster.jobs / f"slurm-{job}.out").read_text() == f"{cluster.name} on 2\n"
    assert not left(lab.directory)
    assert not lab.directory.exists()


def test_the_daemons_listen_on_loopback_only() -> None:
    with Lab(nodes=1, names=("intrepid",)) as lab:
        ports = re.findall(r"Port=([0-9]+)", lab["intrepid"].conf.read_text())
        assert len(ports) == 2  # the controller's and the node's
        for port in ports:
            with socket.socket() as ours:
                ours.bind(("127.0.0.2", int(port)))  # refused if a daemon listened on all addresses


def test_laboratories_that_start_together_do_not_collide() -> None:
    labs = [Lab(nodes=2, names=("intrepid",)) for _ in range(3)]
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(Lab.start, labs))
        assert all(lab["intrepid"].sinfo("-h", "-o", "%D %t") == "2 idle\n" for lab in labs)
    finally:
        for each in labs:
            each.stop()


@pytest.mark.parametrize("taken", [0, 1])
def test_a_port_that_another_process_has_taken_is_told_from_other_failures(folder: Path, taken: int) -> None:
    reservations = Reservations()
    ports = reservations.take(2)
    with socket.socket() as other:
        other.bind(("127.0.0.1", ports[taken]))
        keeping = Keeping(folder, reservations.descriptors())
        try:
            with pytest.raises(PortTakenError, match="Address already in use"):
                Cluster("intrepid", folder / "intrepid", ports, Options(nodes=1), keeping).start()
        finally:
            keeping.close()
            reservations.close()


def test_a_daemon_that_does_not_end_when_it_is_stopped_is_killed(folder: Path) -> None:
    keeping = Keeping(folder)
    try:
        script = f"trap '' TERM; touch {folder}/deaf; sleep 1000"
        deaf = keeping.spawn(["sh", "-c", script], {"PATH": os.defpath}, folder / "out")
        wait_for(lambda: (folder / "deaf").exists(), "the trap")
        keeping.stop(deaf, seconds=0.1)
        assert keeping.exit_code(deaf) == -signal.SIGKILL
    finally:
        keeping.close()


def test_daemons_can_be_killed_and_started_again_and_set_up_anew() -> None:
    with Lab(nodes=2, names=("intrepid",)) as lab:
        cluster = lab["intrepid"]
        cluster.stop_controller()
        assert "is DOWN" in cluster.try_run("scontrol", "ping").stdout
        cluster.configure(MinJobAge=77, SchedulerParameters=None)
        cluster.start_controller()
        shown = {
            k.strip(): v.strip()
            for k, _, v in (x.partition("=") for x in cluster.scontrol("show", "config").splitlines())
        }
        assert (shown["MinJobAge"], shown["SchedulerParameters"]) == ("77 sec", "(null)")
        cluster.configure(MinJobAge=78)
        cluster.reconfigure()
        assert "78 sec" in cluster.scontrol("show", "config")
        before = cluster.pid(1)
        cluster.kill_node(1)
        assert look(before) is None
        cluster.start_node(1)
        cluster.wait_for_nodes("idle")


def test_a_laboratory_that_cannot_come_up_says_why_and_leaves_nothing(folder: Path) -> None:
    with pytest.raises(LabError, match="unrecognized key: Nonsense"):
        Lab(folder, nodes=1, lines=("Nonsense=1",)).start()
    assert not left(folder)


def test_a_folder_whose_path_is_too_long_for_sockets_is_refused(folder: Path) -> None:
    with pytest.raises(LabError, match="choose a folder with a shorter path"):
        Lab(folder / (70 * "x"), nodes=1).start()


def test_waiting_in_vain_ends_and_shows_the_logs() -> None:
    with Lab(nodes=1, names=("intrepid",)) as lab, pytest.raises(LabError) as caught:
        lab["intrepid"].wait_for(lambda: False, "something", seconds=0.1)
    first, *rest = str(caught.value).splitlines()
    assert first == "waited 0.1 s for intrepid: something"
    assert any("slurmctld version" in line or "slurmd version" in line for line in rest)


def test_a_cluster_can_have_options_of_its_own() -> None:
    with Lab(names=("one", "two"), nodes=2, each={"two": replace(Options(), nodes=1, quick=False)}) as lab:
        assert [len(cluster.nodes) for cluster in lab] == [2, 1]
        assert "SchedulerParameters" not in lab["two"].conf.read_text()


def test_up_leaves_the_clusters_running_until_down(folder: Path) -> None:
    up = lab("up", "--dir", folder / "clusters", "--nodes", "1", "--names", "intrepid")
    assert up.returncode == 0, up.stderr
    first, second = up.stdout.splitlines()
    assert first == f"LAB_DIR={folder}/clusters"
    assert second == f"intrepid: export SLURM_CONF={folder}/clusters/intrepid/slurm.conf"
    environment = os.environ | {"SLURM_CONF": second.partition("=")[2]}
    nodes = subprocess.run(["sinfo", "-h", "-o", "%N %t"], env=environment, capture_output=True, text=True, check=True)
    assert nodes.stdout == "intrepid1 idle\n"
    for _ in range(2):  # the second time there is nothing left to do
        down = lab("down", folder / "clusters")
        assert (down.returncode, down.stdout, down.stderr) == (0, "", "")
        assert not left(folder)


def test_down_ends_everything_after_daemons_were_killed_and_the_folder_removed(folder: Path) -> None:
    laboratory = Lab(folder, nodes=2, names=("intrepid",))
    laboratory.start()
    hide(laboratory["intrepid"], folder)
    laboratory["intrepid"].kill_controller()
    laboratory["intrepid"].kill_node(1)
    laboratory.detach()
    shutil.rmtree(folder)
    take_down(folder)
    assert not left(folder)
    laboratory.stop()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_down_ends_everything_without_the_help_of_the_keeper(folder: Path, number: signal.Signals) -> None:
    laboratory = Lab(folder, nodes=2, names=("intrepid",))
    laboratory.start()
    job = laboratory["intrepid"].sbatch(f"sleep {mark(folder)}")
    laboratory["intrepid"].wait_for_state(job, "RUNNING")
    laboratory.detach()
    (keeper,) = [p for p in all_processes() if p.arguments[-1] == str(folder)]
    os.kill(keeper.pid, number)
    environment = os.environ | {
        "SLURM_CONF": str(laboratory["intrepid"].conf),
        "SLURM_JOB_ID": "1",
    }  # as salloc's shell
    with subprocess.Popen(["sleep", "60"], env=environment) as shell:
        take_down(folder)
        assert shell.poll() is None
        shell.kill()
    assert not left(folder)
    laboratory.stop()


def test_a_process_that_has_got_the_id_of_another_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        now = look(other.pid)
        assert isinstance(now, Process)
        assert end(replace(now, started=now.started - 1), signal.SIGKILL, PATIENCE)
        assert other.poll() is None
        assert end(replace(now, arguments=("before it was another program",)), signal.SIGKILL, PATIENCE)
    assert other.returncode == -signal.SIGKILL


def test_run_gives_the_command_a_laboratory_and_takes_it_down(folder: Path) -> None:
    script = "echo $LAB_DIR $SLURM_CONF; sinfo -h -o '%D %t'; exit 7"
    done = lab("run", "--dir", folder, "--nodes", "2", "--", "sh", "-c", script)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == f"{folder} {folder}/intrepid/slurm.conf\n2 idle\n"
    assert not left(folder)


@pytest.mark.parametrize(
    ("number", "to_all"), [(signal.SIGTERM, False), (signal.SIGINT, True), (signal.SIGKILL, False)]
)
def test_run_takes_all_down_when_it_is_told_to_end_and_when_it_is_killed(
    folder: Path, number: signal.Signals, to_all: bool
) -> None:
    script = f"echo ready; exec sleep {mark(folder)}"
    with started("run", "--dir", folder, "--nodes", "1", "--names", "intrepid", "--", "sh", "-c", script) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        os.killpg(run.pid, number) if to_all else run.send_signal(number)
        code = run.wait(PATIENCE)
        if number == signal.SIGKILL:
            assert code == -signal.SIGKILL
            os.killpg(run.pid, signal.SIGKILL)  # the command itself: it was not the laboratory's
            wait_for(lambda: not left(folder), "the end of all processes")
        else:
            assert code == 128 + number
    assert not left(folder)


def test_killing_up_half_way_leaves_nothing(folder: Path) -> None:
    with started("up", "--dir", folder / "clusters", "--nodes", "4", *NEVER_UP) as up:
        wait_for(lambda: (folder / "clusters" / "eureka" / "slurm.conf").exists(), "the daemons to be started")
        up.kill()
        assert up.wait(PATIENCE) == -signal.SIGKILL  # it had not ended
    wait_for(lambda: not left(folder), "the end of all processes")


@pytest.mark.skipif(
    os.geteuid() != 0, reason="changing the user needs root; as another user all tests here show the same"
)
def test_an_ordinary_user_has_a_laboratory_too(folder: Path) -> None:
    deploy = COMMAND.parents[2]
    for part in ("lab", "slurm/lab"):  # in a place that every user can read
        copy = shutil.copytree(deploy / part, folder / "deploy" / part)
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, 65534, 65534)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "PYTHONDONTWRITEBYTECODE=1"]
    argv: list[str | Path] = [
        *user, "/usr/bin/python3", copy / "lab", "run", "--dir", folder / "clusters", "--nodes", "1", "--",
    ]  # fmt: skip
    script = "cd $LAB_DIR && sbatch --wait --output=out --wrap 'id -u' && cat out"
    done = subprocess.run([*argv, "sh", "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout == "Submitted batch job 1\n65534\n", done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["up", "--nodes", "0"], "a number of at least 1 is needed"),
        (["up", "--names", "a,a"], "names are different words"),
        (["up", "--prolog", "/nowhere"], "/nowhere: no file that can be read"),
        (["up", "--dir", "/usr"], "/usr: not empty"),
        (["run", "--nodes", "1", "--names", "a", "--", "/no-such-command"], "/no-such-command: No such file"),
    ],
)
def test_bad_requests_are_refused_with_the_reason(arguments: list[str], said: str) -> None:
    done = lab(*arguments)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
