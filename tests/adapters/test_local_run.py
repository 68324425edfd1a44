"""Jobs of the local manager: what they get, what they leave, how they end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cosched_adapters.manager import End, Started
from tests.adapters.machine import machine

SHOW = "import json, os, sys; print(json.dumps([dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid(), sys.argv]))"


async def test_environment_directory_and_session(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_SECRET", "not for jobs")
    async with machine(place) as here:
        end = await here.run(
            "17",
            sys.executable,
            "-c",
            SHOW,
            "a b; $HOME",
            nodes=3,
            mate="eureka:4",
            pair="p1",
            environment={"COLOUR": "blue; `rm`", "COSCHED_JOB_ID": "forged", "PATH": "/bin:/usr/bin"},
        )
        assert end.succeeded
    got, folder, leads_session, arguments = json.loads(here.output("17"))
    expected = {"JOB_ID": "17", "NODES": "3", "NODELIST": "slot0,slot1,slot2", "DOMAIN": "intrepid"}
    assert got.items() >= {f"COSCHED_{name}": value for name, value in expected.items()}.items()
    assert (got["COSCHED_MATE"], got["COSCHED_PAIR"]) == ("eureka:4", "p1")
    assert (got["COLOUR"], got["PATH"]) == ("blue; `rm`", "/bin:/usr/bin")
    assert "SERVICE_SECRET" not in got
    assert (folder, leads_session, arguments[1:]) == (str(place), True, ["a b; $HOME"])


async def test_without_a_mate_there_is_no_mate(place: Path) -> None:
    async with machine(place) as here:
        await here.run("1", "env")
    names = {line.partition("=")[0] for line in here.output("1").splitlines()}
    assert names == {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "COSCHED_LAUNCH"} | {
        f"COSCHED_{name}" for name in ("JOB_ID", "NODES", "NODELIST", "DOMAIN")
    }


async def test_signals_and_descriptors_are_as_after_a_login(place: Path, request: pytest.FixtureRequest) -> None:
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    request.addfinalizer(lambda: signal.signal(signal.SIGHUP, old))
    async with machine(place) as here:
        await here.run("1", "/bin/sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd; umask")
    blocked, ignored, *rest = here.output("1").split("\n")
    usual = (1 << 31) - 1  # signals 1 to 31
    assert int(blocked.split()[1], 16) & usual == int(ignored.split()[1], 16) & usual == 0
    assert rest == ["0", "1", "2", "3", "0022", ""]  # 3: the folder that ls reads


async def test_script_with_arguments(place: Path) -> None:
    async with machine(place) as here:
        script = b'#!/bin/sh\necho "$COSCHED_JOB_ID: $2"\nexit 3\n'
        end = await here.run("s.1", "one", "two $x", script=script)
    assert (end.how, end.exit_code, here.output("s.1")) == (End.EXITED, 3, "s.1: two $x\n")


async def test_output_and_error(place: Path) -> None:
    (place / "both.txt").write_text("of an earlier job, longer than what comes")
    async with machine(place) as here:
        command = ("/bin/sh", "-c", "echo out; echo err >&2; cat")
        await here.run("1", *command, output="both.txt")
        await here.run("2", *command, output=str(place / "o.txt"), error="e.txt")
        await here.run("3", *command, output="/dev/null")
    assert (place / "both.txt").read_text() == "out\nerr\n"
    assert (place / "o.txt").read_text() == "out\n"
    assert (place / "e.txt").read_text() == "err\n"


async def test_times_exit_codes_and_signals(place: Path) -> None:
    async with machine(place) as here:
        before = time.time_ns()
        good = await here.run("0", "date", "+%s%N")
        bad = await here.run("1", "/bin/sh", "-c", "exit 77")
        killed = await here.run("2", "/bin/sh", "-c", "kill -USR1 $$")
        assert before < (await here.started("0")).at <= int(here.output("0")) < good.at < time.time_ns()
        assert [type(report) for report in here.told[:2]] == [Started, type(good)]
    assert (good.how, good.exit_code, good.signal, good.succeeded) == (End.EXITED, 0, None, True)
    assert (bad.how, bad.exit_code, bad.signal, bad.succeeded) == (End.EXITED, 77, None, False)
    assert (killed.how, killed.exit_code, killed.signal) == (End.SIGNALLED, None, signal.SIGUSR1)
    assert good.started_at == (await here.started("0")).at


async def test_fifty_at_once(place: Path) -> None:
    async with machine(place, slots=50) as here:
        gate = place / "gate"
        for job in range(50):
            await here.launch(f"{job}", "/bin/sh", "-c", f"while ! test -e {gate}; do sleep 0.2; done; exit {job}")
        for job in range(50):
            await here.started(f"{job}")
        gate.touch()
        assert [(await here.ended(f"{job}")).exit_code for job in range(50)] == list(range(50))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_other_user(place: Path) -> None:
    place.chmod(0o777)
    for folder in list(place.parents)[:3]:  # pytest's, which only root may enter
        folder.chmod(folder.stat().st_mode | 0o011)
    async with machine(place) as here:
        script = b"#!/bin/sh\nid -un; id -gn; echo $HOME; cat " + str(place / "jobs").encode() + b"/*/job.json\n"
        end = await here.run("1", user="nobody", script=script)
        private = place / "private"
        private.mkdir(mode=0o700)
        refused = await here.run("2", "true", user="nobody", output=str(private / "out"))
        closed = await here.run("3", "true", user="nobody", directory=str(private))
        owner = (place / "cosched-1.out").stat().st_uid
        long = await here.launch("4", "sleep", "100", user="nobody")
        await here.started("4")
        await here.manager.cancel("4")
        assert long is None
        assert (await here.ended("4")).how is End.CANCELLED
    user, group, home, complaint = here.output("1").splitlines()
    assert (user, home) == ("nobody", "/nonexistent")
    assert group
    assert owner != 0
    assert "denied" in complaint
    assert end.exit_code == 1
    assert (refused.how, "Permission denied" in refused.reason) == (End.UNSTARTED, True)
    assert (closed.how, "Permission denied" in closed.reason) == (End.UNSTARTED, True)


async def test_first_instruction_comes_soon_after_launch(place: Path) -> None:
    """About 6 ms on an idle machine; an interpreter takes several times as long, and on a busy one both take longer."""
    async with machine(place) as here:
        latencies, starts = [], []
        for job in range(9):
            before = time.time_ns()
            end = await here.run(f"{job}", "true")
            latencies.append((end.started_at or 0) - before)
            before = time.time_ns()
            subprocess.run([sys.executable, "-c", ""], check=True)
            starts.append(time.time_ns() - before)
        assert sorted(latencies)[4] < 5 * sorted(starts)[4]
