"""Users' own services, and a real sshd on loopback that leads from one to the other."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cosched.cli.own_service import OwnService, lives
from tests.live.services import free_port
from tests.waiting import wait_until

ADMITS = """
[[peer]]
name = "ann-intrepid"
address = "unix:{door}/ann-intrepid.out"
socket = "{door}/ann-intrepid.in"
user = "{user}"
owners = {{ {user} = "{user}" }}
other_owners = "nobody"
"""  # of an administrators' service that lets a user's own one in
BIN = Path(sys.executable).parent
PATIENCE = 120.0  # seconds of one command; a safety net
SITE = """
[domain]
name = "eureka"
socket = "eureka.sock"
state = "state.db"

[coscheduling]
scheme = "yield"

[manager]
kind = "local"
slots = 4
"""  # an administrators' service
SSHD_CONFIG = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {keys}
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 100
"""
SSH_CONFIG = """Host {host}
HostName 127.0.0.1
Port {port}
User {user}
IdentityFile {key}
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
"""
COSCHEDULING = ("release_interval", "max_held_fraction", "max_yields")  # other settings are in [manager]
_UNPACKED = Path(__file__).parents[2] / ".venv/sshd/usr/sbin"  # by make tools
_SSHD = os.environ.get("COSCHED_TEST_SSHD") or shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:{_UNPACKED}")


def skip_without_sshd() -> str:
    """Return the program; skip the test if there is none that can be run."""
    if _SSHD is None or shutil.which("ssh") is None:
        pytest.skip("there is no sshd here (Debian: openssh-server)")
    if os.geteuid() == 0:
        if missing_user() and subprocess.run(["unshare", "-m", "true"], check=False).returncode:
            pytest.skip("sshd run by root needs a user sshd, and none can be mounted into /etc/passwd")
        Path("/run/sshd").mkdir(exist_ok=True)
    return _SSHD


def missing_user() -> str:
    """Return the line that /etc/passwd lacks if root is to run an sshd; empty: none."""
    has_it = os.geteuid() != 0 or re.search(r"(?m)^sshd:", Path("/etc/passwd").read_text())
    return "" if has_it else "sshd:x:54399:65534::/run/sshd:/usr/sbin/nologin\n"


def sshd_command(*arguments: str) -> list[str]:
    """Return the command that runs the sshd, which may only be unpacked, with its libraries."""
    program = skip_without_sshd()
    libraries = ":".join(map(str, Path(program).parents[1].glob("lib/*-linux-gnu")))
    return ["env", f"LD_LIBRARY_PATH={libraries}", program, *arguments]


def make_key(file: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)


@contextmanager
def running(log: Path, ready: str, *command: object) -> Iterator[None]:
    """Run a command; it is ready when it has said so."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        wait_until(lambda: ready in log.read_text() or process.poll() is not None, f"{command} is ready")
        assert process.poll() is None, f"{command}: {log.read_text()}"
        yield
    finally:
        process.terminate()
        process.wait()


@contextmanager
def serving(config: Path) -> Iterator[Path]:
    """Run an administrators' service eureka; its log."""
    log = config.with_suffix(".log")
    with running(log, "serving eureka", BIN / "cosched", "serve", "--config", config):
        yield log


def seeing(passwd: Path, *command: str) -> list[str]:
    """Return the command by which root runs another one that sees this /etc/passwd."""
    return ["unshare", "-m", "sh", "-c", f'mount --bind {passwd} /etc/passwd; exec "$@"', "sh", *command]


class Account:
    """An account on one cluster: a folder for its own service, and the cosched command as it has it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.state, self.notes = folder / "state", folder / "notes"
        self.own = {"COSCHED_STATE": str(self.state), "PATH": f"{BIN}:{os.environ['PATH']}"} | environment

    def run(self, *command: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / "cosched", *command], env={**os.environ, **self.own}, cwd=self.folder, input=text,
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip

    def __call__(self, *command: str, text: str | None = None) -> str:
        """Run a command that must succeed; what it prints."""
        done = self.run(*command, text=text)
        assert done.returncode == 0, f"{command}: {done.stderr}\n{self.log}"
        return done.stdout

    @property
    def log(self) -> str:
        path = self.state / "service.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def change(self, **settings: float) -> None:
        """Change its configuration, as its user would; `up` lets it serve again."""
        self("down")
        config = self.state / "service.toml"
        text = config.read_text()
        for key, value in settings.items():
            section = "coscheduling" if key in COSCHEDULING else "manager"
            text = re.sub(rf"(?m)^{key} = .*\n", "", text).replace(f"[{section}]\n", f"[{section}]\n{key} = {value}\n")
        config.write_text(text)

    def starts(self) -> dict[str, list[float]]:
        """Return the instants at which its jobs have begun, by their names, as they note them."""
        found: dict[str, list[float]] = {}
        for line in self.notes.read_text().splitlines() if self.notes.exists() else []:
            name, at, *_ = line.split()
            found.setdefault(name, []).append(float(at))
        return found

    @property
    def process(self) -> int | None:
        """The process of its service."""
        return OwnService(self.state).process()

    def kill(self) -> None:
        """Kill its service."""
        if (process := self.process) is not None:
            os.kill(process, signal.SIGKILL)
            wait_until(lambda: not lives(process), "it is dead")

    def states(self) -> list[str]:
        return [line.split()[3] for line in self("queue", "--all").splitlines()[1:]]


class Sshd:
    """An sshd whose one key leads to one account."""

    def __init__(self, folder: Path, account: Account) -> None:
        folder.mkdir()
        self.port = free_port()
        for key in ("host", "user"):
            make_key(folder / key)
        there = " ".join(f"{key}='{value}'" for key, value in account.own.items())
        forced = f'cd {account.folder}; {there} exec sh -c \\"$SSH_ORIGINAL_COMMAND\\"'
        keys = folder / "authorized_keys"
        keys.write_text(f'command="{forced}" {(folder / "user.pub").read_text()}')
        config = folder / "sshd_config"
        config.write_text(SSHD_CONFIG.format(port=self.port, folder=folder, keys=keys))
        self.client = folder / "ssh_config"
        user = {"user": getpass.getuser(), "key": folder / "user"}
        self.client.write_text(SSH_CONFIG.format(host="*", port=self.port, **user))
        self._log = folder / "sshd.log"
        self._command = sshd_command("-D", "-e", "-f", str(config))
        if line := missing_user():
            passwd = folder / "passwd"
            passwd.write_text(Path("/etc/passwd").read_text() + line)
            self._command = seeing(passwd, *self._command)
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stderr=log, start_new_session=True)
        wait_until(lambda: "Server listening" in self._log.read_text() or self.process.poll(), "sshd listens")
        assert self.process.poll() is None, self._log.read_text()

    def sessions(self) -> list[int]:
        """The processes of connections, which are its children."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(child) for child in children.split()]

    def cut(self) -> None:
        """Kill all connections."""
        for process in self.sessions():
            os.kill(process, signal.SIGKILL)

    def stop(self) -> None:
        self.cut()
        self.process.kill()
        self.process.wait()
