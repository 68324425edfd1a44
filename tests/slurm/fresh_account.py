"""The first pair of an ordinary user with an empty home on each of two clusters; run by test_fresh_account, as root.

    python -m tests.slurm.fresh_account FOLDER

Everything is in a mount namespace of its own, where /etc/passwd has the user ann. It prints what became of the pair.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.slurm.lab import Cluster, Lab
from tests.live.own import skip_without_sshd
from tests.live.services import free_port
from tests.waiting import wait_until

USER, UID = "ann", 54321
INSTALL = "pip install --user coscheduling"  # from wheels of this tree, and those that it needs
SERVER = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
SetEnv SLURM_CONF={conf} PATH={path} PIP_NO_INDEX=1 PIP_FIND_LINKS={wheels}
"""
CLIENT = """Host login.{name}
HostName 127.0.0.1
Port {port}
User ann
IdentityFile {key}
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
"""
SCRIPT = """#!/bin/sh
#SBATCH --output=/dev/null --time=5
echo "$(id -u) $(date +%s.%N)" > noted
"""


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


class Site:
    """A login node of a cluster: ann's home there, and its sshd."""

    def __init__(self, folder: Path, cluster: Cluster, wheels: Path) -> None:
        self.name, self.folder, self.home = cluster.name, folder, folder / USER
        self.ssh = self.home / ".ssh"
        self.ssh.mkdir(parents=True)
        self.port = free_port()
        for key in ("host", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        path = f"{self.home}/.local/bin:{sys.base_prefix}/bin:{cluster.environment['PATH']}"
        server = SERVER.format(port=self.port, folder=folder, conf=cluster.conf, path=path, wheels=wheels)
        (folder / "sshd_config").write_text(server)
        user = f"{USER}:x:{UID}:{UID}:Ann:{self.home}:/bin/sh\n"
        (folder / "passwd").write_text(Path("/etc/passwd").read_text() + user)

    def client(self, key: Path) -> str:
        return CLIENT.format(name=self.name, port=self.port, key=key)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Run the sshd, which sees its own /etc/passwd."""
        sshd = f"{skip_without_sshd()} -D -e -f {self.folder}/sshd_config"
        command = f"mount --bind {self.folder}/passwd /etc/passwd; exec {sshd}"
        log = self.folder / "sshd.log"
        with log.open("wb") as errors:
            process = subprocess.Popen(["unshare", "-m", "sh", "-c", command], stderr=errors)
        try:
            wait_until(lambda: "Server listening" in log.read_text(), "sshd listens")
            yield
        finally:
            process.terminate()
            process.wait()

    def __call__(self, command: str) -> str:
        """Run a command as ann types it there."""
        argv = ["ssh", "-F", self.folder / "config", f"login.{self.name}", command]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise SystemExit(f"{self.name}: {command}: {done.stderr}{self.log()}")
        return done.stdout

    def log(self) -> str:
        path = self.home / ".local/state/cosched/service.log"
        return path.read_text() if path.exists() else ""

    def noted(self) -> list[str]:
        path = self.home / "noted"
        return path.read_text().split() if path.exists() else []


def first_pair(folder: Path) -> dict[str, object]:
    """Return what became of it."""
    with Lab(folder / "lab", names=("intrepid", "eureka")) as lab:
        here, there = sites = [Site(folder / cluster.name, cluster, folder / "wheels") for cluster in lab]
        bind(here.folder / "passwd", Path("/etc/passwd"))
        key = here.ssh / "id_ed25519"
        shutil.copy(here.folder / "key", key)
        (here.ssh / "config").write_text(there.client(key))
        for site in sites:
            (site.folder / "config").write_text(site.client(site.folder / "key"))
            keys = [(site.folder / "key.pub").read_text(), (here.folder / "key.pub").read_text()]
            (site.folder / "authorized_keys").write_text("".join(keys))
            for path in (site.home, *site.home.rglob("*")):
                shutil.chown(path, UID, UID)
        with here.serving(), there.serving():
            return _first_pair(here, there)


def _first_pair(here: Site, there: Site) -> dict[str, object]:
    began = time.monotonic()
    for script in ("sim.sh", "vis.sh"):
        (here.home / script).write_text(SCRIPT)
    commands = ["cosched up", "cosched peer add eureka ann@login.eureka",
                "cosched submit --to intrepid:sim.sh --to eureka:vis.sh --pair run7"]  # fmt: skip
    try:
        said = [site(INSTALL) for site in (here, there)] + [here(command) for command in commands]
        wait_until(lambda: here.noted() and there.noted(), f"both start:\n{here.log()}\n{there.log()}", 240)
        seconds = time.monotonic() - began
        mode = oct((here.home / ".local/state/cosched").stat().st_mode & 0o777)
        return {"said": said, "noted": [here.noted(), there.noted()], "seconds": seconds, "mode": mode}
    finally:
        for site in (here, there):
            site("cosched down")


def main(folder: Path) -> None:
    let_others_in(Path(sys.base_prefix), folder / "python")
    os.umask(0o022)
    build = {**os.environ, "PYTHON": sys.executable}
    subprocess.run(["sh", "deploy/wheels.sh", folder / "wheels"], check=True, env=build, stdout=sys.stderr)
    json.dump(first_pair(folder), sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
