"""PrologSlurmctld's hook, run by hand: what it says, what it does when told, and what when the service misbehaves."""

import os
import shutil
import signal
import socket
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from deploy.slurm.lab import wait_for
from deploy.slurm.lab.installed_hooks import SCRIPTS, SOURCES, build, program
from tests.slurm.cosched_hooks import Service, Site, check_for_compiler, hooks, ready, service, site

END = 300  # seconds: a safety net
PATIENCE = 6  # seconds, of hooks that find a service first: more than one that lives keeps them waiting
SHORT_PATIENCE = 3  # of those that wait for nobody: after four times as long they have noticed
YIELD, START = 1, 0
Hook = subprocess.Popen[bytes]
__all__ = ["hooks", "service"]


@pytest.fixture
def hook(hooks: Site, service: Service) -> Hook:
    """The hook of job 17, which has offered it and waits."""
    hook = hooks.prolog()
    service.wait_for_offer(17)
    return hook


def let_start(service: Service, hook: Hook) -> None:
    service.start(17)
    assert hook.wait(END) == START


def cpu_ticks(pid: int) -> int:
    """What a process and its ended children have used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))


def asleep(pid: int) -> bool:
    """Whether a process waits for something."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("S")


def child_of(pid: int) -> int:
    """A process's only child."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_scripts_are_posix_shell(script: str) -> None:
    subprocess.run(["sh", "-n", SOURCES / script], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", "--shell=sh", SOURCES / script], check=True)


@pytest.mark.parametrize("comment", ["", "some words", "pair=cosched", "a cosched:adoptable b", None])
def test_a_job_without_a_mate_passes_and_nothing_is_started_for_it(hooks: Site, comment: str | None) -> None:
    (hooks.folder / "cosched-hook").write_text(f"#!/bin/sh\n: > {hooks.folder}/started\nexit 1\n")
    environment = ready(1, comment or "")
    if comment is None:
        del environment["SLURM_JOB_COMMENT"]
    assert hooks.run("prolog", environment).wait(END) == START
    assert not (hooks.folder / "started").exists()


def test_the_offer_says_what_slurm_says_of_the_job(hooks: Site, service: Service) -> None:
    environment = ready(23, "cosched:pair=p")
    environment |= {"SLURM_ARRAY_JOB_ID": "20", "SLURM_ARRAY_TASK_ID": "3"}
    environment |= {"SLURM_HET_JOB_ID": "23", "SLURM_HET_JOB_OFFSET": "0"}
    hook = hooks.run("prolog", environment)
    offer = service.wait_for_offer(23)
    assert (offer.nodes, offer.nodelist, offer.restarts) == (4, "a[1-4]", 0)
    assert (offer.user, offer.uid, offer.comment, offer.name) == ("ann", 1000, "cosched:pair=p", "flow")
    assert (offer.batch, offer.array, offer.het) == (True, "20_3", "23+0")
    assert service.server._offers == {"23": offer}
    assert service.start(23)
    assert hook.wait(END) == START


def test_a_hook_starts_its_job_or_gives_its_turn_up_as_it_is_told(hooks: Site, service: Service) -> None:
    first, second = hooks.prolog(1), hooks.prolog(2)
    service.wait_for_offer(1)
    service.wait_for_offer(2)
    assert service.start(1)
    assert service.give_back(2)
    assert (first.wait(END), second.wait(END)) == (START, YIELD)
    assert service.server._offers == {}
    assert not service.start(1)
    assert not service.give_back(2)
    service.wait_for("starting 1 0")
    assert sorted(service.told) == ["offer 1", "offer 2", "starting 1 0"]  # what was told is not withdrawn


def test_a_job_starts_at_an_agreed_instant(service: Service, hook: Hook) -> None:
    instant = time.time() + 0.5
    service.start(17, instant)
    assert hook.wait(END) == START
    assert time.time() >= instant


@pytest.mark.parametrize("ahead", [-100, 3600], ids=["past", "too far ahead"])
def test_a_job_starts_at_once_where_the_instant_cannot_be_waited_for(hooks, service, hook, ahead) -> None:
    service.start(17, time.time() + ahead)
    assert hook.wait(END) == START
    assert len(hooks.messages()) == (ahead > 0)


def test_a_hook_that_waits_sleeps(service: Service, hook: Hook) -> None:
    for pid in (hook.pid, child_of(hook.pid)):
        wait_for(partial(asleep, pid), "its sleep")
        assert cpu_ticks(pid) < 10
    let_start(service, hook)


def test_a_killed_hook_withdraws_its_job(service: Service, hook: Hook) -> None:
    hook.kill()  # only the script: the program that it waits for goes with it
    hook.wait(END)
    service.wait_for("killed 17")
    assert not service.start(17)
    assert service.told == ["offer 17", "withdrawn 17", "killed 17"]


def test_it_is_known_that_a_hook_was_killed_before_it_did_what_it_was_told(service: Service, hook: Hook) -> None:
    assert service.start(17, time.time() + 9)
    hook.kill()
    hook.wait(END)
    service.wait_for("killed 17")
    assert service.told == ["offer 17", "killed 17"]


def test_a_service_that_restarts_before_the_agreed_instant_hears_that_the_job_starts(service, hook) -> None:
    assert service.start(17, time.time() + 3)
    service.close()
    service.open()
    assert hook.wait(END) == START
    service.wait_for("starting 17 0")
    assert service.told == ["offer 17", "starting 17 0"]


def test_without_a_service_a_job_starts_and_one_line_says_so() -> None:
    with site(patience=1) as hooks:
        assert hooks.prolog().wait(END) == START
        (line,) = hooks.messages()
        assert line.endswith(f" cosched-hook: job 17: no service at {hooks.socket} for 1 s, starts without it")


def test_when_the_service_ends_for_good_a_held_job_starts() -> None:
    with site(PATIENCE) as hooks, Service(hooks.socket) as service:
        hook = hooks.prolog()
        service.wait_for_offer(17)
        service.close()
        assert hook.wait(END) == START
        assert service.told == ["offer 17"]  # no withdrawal: it was the service that went
        assert len(hooks.messages()) == 1


def test_when_the_service_comes_back_the_hold_resumes(hooks: Site, service: Service, hook: Hook) -> None:
    service.close()
    service.open()
    service.wait_for_offer(17, times=2)
    assert service.give_back(17)
    assert hook.wait(END) == YIELD
    assert hooks.messages() == []


def test_who_waits_is_answered_that_the_service_lives(hooks: Site, service: Service, hook: Hook) -> None:
    with socket.socket(socket.AF_UNIX) as peer:  # what the hook does every three times its patience
        peer.connect(str(hooks.socket))
        peer.sendall(b"ready\tjob=18\tnodes=1\tuid=0\trestarts=0\nwaiting\nwaiting\n")
        with peer.makefile("rb") as lines:
            assert [next(lines) for _ in range(3)] == 3 * [b"parked\n"]
    service.wait_for("withdrawn 18")
    let_start(service, hook)


NASTY = {
    "shell": b"cosched:pair=$(touch /tmp/cosched-evaluated) `id` ${IFS} ; exit 1 & | > < * ? ~ # \\ '\"",
    "lines": b"cosched:pair=p\nended\tjob=1\tstate=COMPLETED\nready\tjob=2\r\n\n",
    "fields": b"cosched:pair=p\tjob=99\tuid=0\tcomment=other",
    "percent": b"cosched:pair=%41%0A%s%n%%",
    "latin": b"cosched:pair=caf\xe9 \xff\xfe",
    "unicode": "cosched:pair=naïve→✓".encode(),
    "all bytes": b"cosched:" + bytes(range(1, 256)),
    "long": b"cosched:" + 1016 * b"\xff",
}


@pytest.mark.parametrize("kind", NASTY)
def test_a_comment_arrives_whole_and_forges_nothing(hooks: Site, service: Service, kind: str) -> None:
    environment = ready(17, NASTY[kind]) | {"SLURM_JOB_NAME": NASTY[kind]}
    hook = hooks.run("prolog", environment)
    offer = service.wait_for_offer(17)
    assert offer.comment.encode("utf-8", "surrogateescape") == NASTY[kind]
    assert offer.name == offer.comment
    assert (offer.uid, service.told) == (1000, ["offer 17"])
    let_start(service, hook)
    assert not Path("/tmp/cosched-evaluated").exists()


def test_what_does_not_fit_into_a_line_is_left_out(hooks: Site, service: Service) -> None:
    environment = ready(17, "cosched:pair=p") | {"SLURM_JOB_NODELIST": 1000 * "node[1-2],", "SLURM_JOB_NAME": "short"}
    hook = hooks.run("prolog", environment)
    offer = service.wait_for_offer(17)
    assert (offer.comment, offer.nodelist, offer.name) == ("cosched:pair=p", "", "short")
    assert hooks.messages()[0].endswith("job 17: nodelist is left out: it has 10000 bytes")
    let_start(service, hook)


def test_a_job_starts_where_the_program_is_missing_or_crashes(hooks: Site) -> None:
    broken = hooks.folder / "cosched-hook"
    for text in ("#!/bin/sh\nexit 2\n", "#!/bin/sh\nkill -SEGV $$\n", "\x7fELF of another machine", "#!/none\n"):
        broken.write_text(text)
        assert hooks.prolog(stderr=subprocess.DEVNULL).wait(END) == START
    broken.unlink()
    assert hooks.prolog(stderr=subprocess.DEVNULL).wait(END) == START


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL])
def test_who_ends_the_program_but_not_its_script_lets_the_job_start(
    hooks: Site, service: Service, number: signal.Signals
) -> None:
    hook = hooks.prolog(stderr=subprocess.DEVNULL)
    service.wait_for_offer(17)
    os.kill(child_of(hook.pid), number)
    assert hook.wait(END) == START
    service.wait_for("starting 17 0")


def test_mistakes_in_the_configuration_are_said_and_leave_what_is_built_in(hooks: Site, service: Service) -> None:
    hooks.configure(f"# a comment\n\nlog={hooks.log}\nsocket={hooks.socket}\npatience=soon\ncolour=red\n")
    hook = hooks.prolog()
    service.wait_for_offer(17)
    let_start(service, hook)
    said = [line.partition(" job 17: ")[2] for line in hooks.messages()]
    assert said == [
        "patience=soon in the configuration is not 1 to 3600 seconds",
        "colour in the configuration is unknown",
    ]


@pytest.mark.parametrize("log", ["/dev/full", "/none/log"])
def test_a_log_that_cannot_be_written_keeps_no_job_from_starting(log: str) -> None:
    with site(patience=1) as hooks:
        hooks.configure(f"log={log}\nsocket=/none/{'x' * 200}\npatience=1\n")
        assert hooks.prolog().wait(END) == START


def test_the_program_may_be_linked_dynamically(hooks: Site, service: Service) -> None:
    shutil.copy(build("-Werror"), hooks.folder / "cosched-hook")
    hook = hooks.prolog()
    service.wait_for_offer(17)
    service.give_back(17)
    assert hook.wait(END) == YIELD


def test_the_program_says_how_it_is_used() -> None:
    check_for_compiler()
    done = subprocess.run([program()], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    usage, keys = done.stderr.splitlines()
    assert usage == f"usage: {program()} prolog|starting|gate|ended CONFIGURATION"
    assert keys.endswith("keys: socket gates waiting log patience")


def test_a_hook_notes_that_its_job_waits_until_it_lets_it_start(hooks: Site, service: Service) -> None:
    note = hooks.waiting / "17"
    hook = hooks.run("prolog", ready(17, "cosched:pair=p") | {"SLURM_JOB_RESTART_COUNT": "3"})
    service.wait_for_offer(17)
    assert note.read_text() == "restarts=3\n"
    let_start(service, hook)
    assert not note.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_note_stays_when_the_script_is_killed(hooks, service, hook, number) -> None:
    hook.send_signal(number)
    hook.wait(END)
    service.wait_for("killed 17")
    assert (hooks.waiting / "17").read_text() == "restarts=0\n"


def test_no_note_stays_of_a_job_that_starts_by_itself() -> None:
    """Without a service; and when the program alone is ended, since its script lets the job start then."""
    with site(patience=1) as hooks:
        assert hooks.prolog().wait(END) == START
        assert list(hooks.waiting.iterdir()) == []
    with site() as hooks, Service(hooks.socket) as service:
        hook = hooks.prolog(18, stderr=subprocess.DEVNULL)
        service.wait_for_offer(18)
        os.kill(child_of(hook.pid), signal.SIGKILL)
        assert hook.wait(END) == START
        assert list(hooks.waiting.iterdir()) == []


def test_a_job_whose_note_cannot_be_written_waits_and_starts_as_ever(hooks: Site, service: Service) -> None:
    hooks.waiting.rmdir()
    hook = hooks.prolog()
    service.wait_for_offer(17)
    let_start(service, hook)
    assert [line.partition(" job 17: ")[2] for line in hooks.messages()] == [
        f"{hooks.waiting}/17: No such file or directory"
    ]
