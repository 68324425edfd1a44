"""A user's own service: what is said when it cannot stay, and what runs it again. The service is a stand-in."""

import getpass
import os
import re
import signal
import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cosched.cli import own as own_commands
from cosched.cli import own_service, own_unit
from cosched.cli.main import main
from cosched.cli.output.failures import Failure
from cosched.cli.own_service import OwnService, lives
from cosched.sockets.hello import written
from tests.waiting import wait_until

STAND_IN = """
import os, signal, socket, sys
folder = os.path.dirname(sys.argv[-1])
listener = socket.socket(socket.AF_UNIX)
listener.bind(folder + "/intrepid.sock.new")
listener.listen()
os.rename(folder + "/intrepid.sock.new", folder + "/intrepid.sock")
print('"event": "serving intrepid on unix:intrepid.sock"', flush=True)
signal.sigwait([signal.SIGTERM])
print('"event": "stopping"', flush=True)
"""

# It outlives what started it.
pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        own_service, "COMMAND", f"import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]){STAND_IN}"
    )
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    own = OwnService(tmp_path / "state")
    own.make({"name": "intrepid"}, {}, {"kind": "local"})
    yield own
    own.end()


def kill(own: OwnService) -> None:
    process = own.process()
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: not lives(process))


def test_a_service_that_was_killed_is_started_again_and_that_is_said(own, capsys):
    own.start()
    own.end()
    own.start()
    assert capsys.readouterr().err == ""
    kill(own)
    own.bring_up()
    host = socket.gethostname()
    assert capsys.readouterr().err == (
        f"your service on {host} was killed, and runs again: if {host} forbids processes that stay, ask there\n"
    )
    assert own.process() is not None


def test_only_one_service_runs_at_a_time(own):
    assert own.start()
    assert not own.start()
    (own.folder / "host").write_text("login1\n")
    kill(own)
    with pytest.raises(Failure, match="your service runs on login1: use it there, or end it there by cosched down"):
        own.start()
    assert own.start(here=True)


def test_gates_find_how_to_start_it_again_until_its_user_ends_it(own, monkeypatch, tmp_path):
    monkeypatch.setenv("COSCHED_SSH", f"echo {tmp_path}/ssh -F config")
    own.start()
    host = socket.gethostname()
    lines = (own.folder / "restart").read_text().splitlines()
    assert lines[0] == "#!/bin/sh"
    assert lines[1].startswith(f"exec echo {tmp_path}/ssh -F config -T -o BatchMode=yes ")
    assert f" -- {host} 'COSCHED_STATE={own.folder} {sys.executable} -c " in "\n".join(lines)
    assert lines[-1].endswith(" up'")
    own.end()
    assert not (own.folder / "restart").exists()


@pytest.mark.parametrize(("works", "stays"), [(True, True), (False, True), (True, False)])
def test_a_unit_has_it_where_the_user_s_systemd_works_and_stays_after_a_logout(
    own, monkeypatch, tmp_path, works, stays
):
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd" / "private").touch()
    if stays:
        (tmp_path / getpass.getuser()).touch()
    tool = tmp_path / "systemd-run"
    does = 'while [ "${1#--}" != "$1" ]; do shift; done; unset HOSTILE; exec "$@"' if works else "exit 1"
    tool.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n{does}\n')
    tool.chmod(0o700)
    monkeypatch.setattr(own_unit, "LINGER", tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOSTILE", "it's $HOME\n%h")
    own.start()
    asked = (tmp_path / "asked").read_text().splitlines() if stays else []
    assert [line.split()[-1] for line in asked] == ["true", f"{own.folder}/run"][: stays * (1 + works)]
    assert b"\0HOSTILE=it's $HOME\n%h\0" in Path(f"/proc/{own.process()}/environ").read_bytes()
    own.end()
    assert not (own.folder / "run").exists()


def test_clocks_that_differ_are_said_when_a_peer_is_added(own, monkeypatch, tmp_path):
    own.start()
    ssh = tmp_path / "ssh"
    hello = written({"domain": "eureka", "user": "ann", "time": "NOW"}).decode().strip()
    ssh.write_text(f"""#!/bin/sh\nread hello\necho '{hello}' | sed "s/\\"NOW\\"/$(($(date +%s) + 10))/"\n""")
    ssh.chmod(0o700)
    monkeypatch.setenv("COSCHED_SSH", str(ssh))
    monkeypatch.setenv("COSCHED_STATE", str(own.folder))
    monkeypatch.setattr(own_commands, "_await_answer", lambda *_: None)
    done = CliRunner().invoke(main, ["peer", "add", "eureka", "ann@login.eureka"])
    assert done.exit_code == 0, done.output
    said = r"the clock of eureka is (9|10)\.\d s ahead: pairs may start so far apart; ask for a time service there"
    assert re.fullmatch(said, done.output.splitlines()[-1])
    assert own.settings()["peer"][0]["ssh"] == "ann@login.eureka"


@pytest.fixture
def up(tmp_path, monkeypatch):
    """Set up a service with only the commands in this folder; it is not started."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("COSCHED_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(OwnService, "start", lambda *_, **__: True)
    return lambda *options: CliRunner().invoke(main, ["up", *options])


@pytest.mark.parametrize("scheme", ["hold", "yield"])
def test_a_service_beside_pbs_has_the_name_of_its_server_and_can_only_hold(up, tmp_path, scheme):
    (tmp_path / "qstat").write_text("#!/bin/sh\n[ \"$*\" = '-B -f' ] && echo 'Server: mira.example.org'\n")
    (tmp_path / "qstat").chmod(0o700)
    done = up("--scheme", scheme)
    if scheme == "yield":
        assert "PBS lets only operators queue a running job again" in done.output
        return
    assert done.exit_code == 0, done.output
    settings = OwnService(tmp_path / "state").settings()
    assert (settings["domain"]["name"], settings["manager"]["kind"]) == ("mira", "pbs")
    assert settings["manager"]["gates"] == str(tmp_path / "state" / "gates")


def test_jobs_are_processes_of_this_host_only_if_that_was_asked_for(up, tmp_path):
    done = up()
    assert done.exit_code == 2
    assert "neither scontrol nor qstat tells of a cluster here" in done.output
    assert not (tmp_path / "state").exists()
    assert up("--manager", "local").exit_code == 0
