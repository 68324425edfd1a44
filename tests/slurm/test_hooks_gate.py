"""TaskProlog's hook where the service's socket is not: by the folder that all nodes see."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hanging_folder import hanging
from tests.slurm.cosched_hooks import Service, Site, site
from tests.slurm.test_hooks_server import END, READY, Peer, as_root

JOB = {"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0"}
NOBODY = 65534
AHEAD = 0.5  # seconds: of instants that are waited for
FAR = 9.5  # seconds: nearly as much as a gate waits at most


@pytest.fixture
def hooks() -> Iterator[Site]:
    """Those of a node that sees the folder `gates` beside them."""
    with site() as hooks:
        (hooks.folder / "gates").mkdir(mode=0o755)
        configure(hooks, f"gates={hooks.folder}/gates\n")
        yield hooks
        assert hooks.messages() == []  # a user's process logs nothing


def configure(hooks: Site, lines: str) -> None:
    """The configuration of a node, where there is no socket."""
    hooks.configure(f"socket=/nowhere/hooks.sock\nlog={hooks.log}\n{lines}")


def gate(hooks: Site, **options: object) -> float:
    """Go through the gate, which never fails; when that was done."""
    assert hooks.run("task-prolog", JOB, **options).wait(END) == 0
    return time.time()


def put(hooks: Site, text: str | bytes) -> Path:
    path = hooks.folder / "gates" / "17"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def passes_at_once(hooks: Site, at: float, **options: object) -> bool:
    """Whether it passes before that instant, to which it does not wait."""
    return gate(hooks, **options) < at


def test_a_task_begins_at_the_instant_in_the_file_of_its_job(hooks: Site) -> None:
    at = time.time() + AHEAD
    put(hooks, f"at={at:.9f}\n")
    assert gate(hooks) >= at


@pytest.mark.parametrize("text", ["# cosched\nversion=2\nat={}\nmore=x\n", "at={}"], ids=["with more", "without LF"])
def test_other_lines_in_the_file_are_for_later_versions(hooks: Site, text: str) -> None:
    at = time.time() + AHEAD
    put(hooks, text.format(f"{at:.9f}"))
    assert gate(hooks) >= at


def printed(hooks: Site) -> str:
    argv = [hooks.folder / "task-prolog"]
    return subprocess.run(argv, env=JOB, capture_output=True, text=True, check=True, timeout=END).stdout


def test_variables_in_the_file_are_printed_for_slurm_and_nothing_else(hooks: Site) -> None:
    ours = 'COSCHED_MATES=[{"domain": "eureka"}]\nCOSCHED_PORTS=1-2\n'
    put(hooks, f"at=1.000000000\n{ours}PATH=/tmp\nCOSCHED_X\nXCOSCHED_A=1\nCOSCHED_A=\x1b[1m\n")
    assert printed(hooks) == 'export COSCHED_MATES=[{"domain": "eureka"}]\nexport COSCHED_PORTS=1-2\n'
    put(hooks, f"at=1.000000000\nCOSCHED_MATES={3990 * 'x'}\n")
    assert printed(hooks) == ""


def test_variables_that_the_service_tells_are_printed(hooks: Site) -> None:
    configure(hooks, f"socket={hooks.socket}\n")
    with Service(hooks.socket) as service, Peer(hooks.socket, READY % 17):
        service.wait_for_offer(17)
        service.call(
            service.server.start, "17", None, {"COSCHED_MATES": '[{"domain": "ä%"}]', "COSCHED_A": "b\nPATH=c"}
        )
        assert printed(hooks) == 'export COSCHED_MATES=[{"domain": "ä%"}]\n'
        service.call(service.server.keep_finding, [])
        assert printed(hooks) == ""


@pytest.mark.parametrize(
    "text",
    [
        "", "\n", "at=\n", "at=soon\n", "at=-1.5\n", "at={}\n", "at={}.\n", "at={}.5x\n", "at={}.1234567891\n",
        "at=99999999999999.5\n", " at={}.5\n", "to={}.5\n", b"\xff\x00" * 4096, "x" * 5000 + "\nat={}.5\n",
    ],
    ids=lambda text: repr(text[:20]),
)  # fmt: skip
def test_a_file_that_makes_no_sense_keeps_no_task(hooks: Site, text: str | bytes) -> None:
    at = time.time() + FAR
    put(hooks, text if isinstance(text, bytes) else text.replace("{}", str(int(at))))
    assert passes_at_once(hooks, at - 1)


@pytest.mark.parametrize("ahead", [-1e9, -1000, -1, 60, 1e6, 1e10])
def test_an_instant_that_is_over_or_far_ahead_keeps_no_task(hooks: Site, ahead: float) -> None:
    at = time.time() + ahead
    put(hooks, f"at={max(at, 0):.9f}\n")
    assert passes_at_once(hooks, time.time() + FAR)


def test_only_a_plain_file_of_the_jobs_own_is_read(hooks: Site) -> None:
    at = time.time() + FAR
    path = put(hooks, f"at={at:.9f}\n")
    path.rename(path.with_name("18"))
    assert passes_at_once(hooks, at)  # another job's
    path.symlink_to("18")
    assert passes_at_once(hooks, at)
    path.unlink()
    path.mkdir()
    assert passes_at_once(hooks, at)
    path.rmdir()
    os.mkfifo(path)
    assert passes_at_once(hooks, at)
    for job in ("", "../gates/18", "18/", "1e1", "0x12", "9" * 5000):
        assert hooks.run("task-prolog", {"SLURM_JOB_ID": job}).wait(END) == 0
    assert hooks.run("task-prolog", {}).wait(END) == 0
    assert time.time() < at


@as_root
def test_a_file_that_the_user_may_not_read_keeps_no_task(hooks: Site) -> None:
    at = time.time() + FAR
    path = put(hooks, f"at={at:.9f}\n")
    path.chmod(0o600)
    assert passes_at_once(hooks, at, user=NOBODY, group=NOBODY)
    path.chmod(0o644)
    path.parent.chmod(0o700)
    assert passes_at_once(hooks, at, user=NOBODY, group=NOBODY)
    path.parent.chmod(0o755)
    at = time.time() + AHEAD
    put(hooks, f"at={at:.9f}\n")
    assert gate(hooks, user=NOBODY, group=NOBODY) >= at


@pytest.mark.parametrize("lines", ["", "gates=\n", "gates=gates\n", "gates=/nowhere\n", f"gates=/{'x' * 3000}\n"])
def test_without_a_folder_no_task_waits(hooks: Site, lines: str) -> None:
    at = time.time() + FAR
    put(hooks, f"at={at:.9f}\n")
    configure(hooks, lines)
    assert passes_at_once(hooks, at)


def test_a_file_server_that_hangs_keeps_no_task(hooks: Site) -> None:
    put(hooks, f"at={time.time() + FAR:.9f}\n")
    with hanging(hooks.folder / "gates"):
        gate(hooks)


def test_a_folder_that_is_no_path_is_told_to_the_operator() -> None:
    with site() as hooks, Service(hooks.socket) as service:
        hooks.configure(f"log={hooks.log}\nsocket={hooks.socket}\ngates=shared/gates\n")
        hook = hooks.prolog()
        service.wait_for_offer(17)
        service.start(17)
        assert hook.wait(END) == 0
        (said,) = hooks.messages()
        assert said.endswith("gates=shared/gates in the configuration is not an absolute path")


def test_on_the_services_host_its_word_counts_and_the_file_where_it_knows_nothing(hooks: Site) -> None:
    configure(hooks, f"socket={hooks.socket}\ngates={hooks.folder}/gates\n")
    far = time.time() + FAR
    put(hooks, f"at={far:.9f}\n")
    with Service(hooks.socket) as service, Peer(hooks.socket, READY % 17):
        service.wait_for_offer(17)
        at = time.time() + AHEAD
        service.start(17, at)
        done = gate(hooks)
        assert at <= done < far
    with Service(hooks.socket):
        at = time.time() + AHEAD
        put(hooks, f"at={at:.9f}\n")
        assert gate(hooks) >= at


def test_a_task_looks_once_and_nowhere_else(hooks: Site, tmp_path: Path) -> None:
    """What a task without a file is kept for is one call of the system."""
    trace = tmp_path / "trace"
    argv = ["strace", "-o", trace, hooks.folder / "cosched-hook", "gate", hooks.folder / "cosched.conf"]
    try:
        done = subprocess.run(argv, env=JOB, check=False, timeout=END)
    except FileNotFoundError:
        pytest.skip("there is no strace")
    assert done.returncode == 0
    lines = [line for line in trace.read_text().splitlines() if f"{hooks.folder}/gates" in line]
    assert len([line for line in lines if line.startswith("open")]) == 1
    assert "ENOENT" in lines[-1]
