"""Login nodes with users of their own, for tests that root runs in a mount namespace: each sees its own /etc/passwd."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from tests.live.own import SSH_CONFIG, SSHD_CONFIG, make_key, missing_user, running, seeing, sshd_command
from tests.live.services import free_port


def bind(source: Path, target: Path) -> None:
    subprocess.run(["mount", "--bind", source, target], check=True)


def let_others_in(place: Path, aside: Path) -> None:
    """Let all users reach a folder below one that is closed to them."""
    closed = next((up for up in reversed(place.parents) if not up.stat().st_mode & 1), None)
    if closed is None:
        return
    aside.mkdir()
    bind(place, aside)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", closed], check=True)
    place.mkdir(parents=True)
    bind(aside, place)


class Host:
    """A login node: its users' homes, and its sshd, in whose sessions these variables are set."""

    def __init__(self, name: str, folder: Path, users: Mapping[str, int], **environment: str) -> None:
        self.name, self.folder, self.users = name, folder, users
        self.homes = {user: folder / user for user in users}
        self.passwd = folder / "passwd"
        self.port = free_port()
        (folder / "keys").mkdir(parents=True)
        for key in ("host", *(f"{user}.key" for user in users)):
            make_key(folder / key)
        variables = " ".join(f"{key}={value}" for key, value in environment.items())
        config = SSHD_CONFIG.format(port=self.port, folder=folder, keys=folder / "keys/%u")
        (folder / "sshd_config").write_text(f"{config}SetEnv {variables}\n")
        lines = [f"{user}:x:{uid}:{uid}:{user}:{self.homes[user]}:/bin/sh\n" for user, uid in users.items()]
        self.passwd.write_text(Path("/etc/passwd").read_text() + missing_user() + "".join(lines))
        for user, home in self.homes.items():
            (home / ".ssh").mkdir(parents=True)
            (folder / "keys" / user).write_text((folder / f"{user}.key.pub").read_text())
            (folder / f"{user}.config").write_text(self._client(user, folder / f"{user}.key"))
            self.give(user)

    def _client(self, user: str, key: Path) -> str:
        return SSH_CONFIG.format(host=f"login.{self.name}", port=self.port, user=user, key=key)

    def give(self, user: str) -> None:
        """Let all that is in a user's home be its own."""
        home = self.homes[user]
        for path in (home, *home.rglob("*")):
            shutil.chown(path, self.users[user], self.users[user])

    def lead_to(self, there: Host, user: str) -> None:
        """Let a user here log in there."""
        ssh = self.homes[user] / ".ssh"
        shutil.copy(self.folder / f"{user}.key", ssh / "id_ed25519")
        with (ssh / "config").open("a") as config:
            config.write(there._client(user, ssh / "id_ed25519"))
        with (there.folder / "keys" / user).open("a") as keys:
            keys.write((self.folder / f"{user}.key.pub").read_text())
        self.give(user)

    def serving(self) -> AbstractContextManager[None]:
        """Run the sshd."""
        command = sshd_command("-D", "-e", "-f", f"{self.folder}/sshd_config")
        return self.running(self.folder / "sshd.log", "Server listening", *command)

    def running(self, log: Path, ready: str, *command: str) -> AbstractContextManager[None]:
        """Run a command of root's here; it is ready when it has said so."""
        return running(log, ready, *seeing(self.passwd, *command))

    def run(self, user: str, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as this user types it here."""
        argv = ["ssh", "-F", self.folder / f"{user}.config", f"login.{self.name}", command]
        return subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def __call__(self, user: str, command: str) -> str:
        """Run a command that must succeed; what it prints."""
        done = self.run(user, command)
        if done.returncode:
            raise SystemExit(f"{user}@{self.name}: {command}: {done.stderr}{self.log(user)}")
        return done.stdout

    def log(self, user: str) -> str:
        """Return what a user's own service has said."""
        path = self.homes[user] / ".local/state/cosched/service.log"
        return path.read_text() if path.exists() else ""

    def noted(self, user: str) -> list[str]:
        """Return the words in the file `noted` in a user's home."""
        path = self.homes[user] / "noted"
        return path.read_text().split() if path.exists() else []
