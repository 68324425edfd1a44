"""The page that adds cosched to two Slurm clusters, and takes it away: typed as written on two real clusters."""

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from deploy.lab.service import cosched
from deploy.slurm.lab import Lab
from deploy.slurm.lab.cluster import Cluster
from tests.docs.terminals import Terminal, assert_prints_what_is_shown, blocks
from tests.slurm.cosched_hooks import check_for_compiler
from tests.waiting import wait_until

PAGE = Path(__file__).resolve().parents[2] / "docs" / "two-slurm-clusters.md"
FOLDERS = ("etc/slurm", "etc/systemd/system", "run", "var/lib")
SCP = """#!/bin/sh
for target; do host=${target#root@}; done
while [ $# -gt 1 ]; do cp "$1" "$ROOTS/${host%"${host#?}"}/home/"; shift; done
"""


class Host:
    """The host of a cluster's slurmctld: its folders are below `root`, and a terminal is open in one of them."""

    def __init__(self, root: Path, lab: Lab, cluster: Cluster, ports: Mapping[str, str]) -> None:
        self.root = root / cluster.name[0]  # a name of its own: the page exchanges the names in a file
        self._lab, self._cluster = lab, cluster
        self._service: int | None = None
        for folder in (*FOLDERS, "home", "bin"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "etc/slurm/slurm.conf").symlink_to(cluster.conf)
        self._changes = {folder: f"{self.root}{folder}" for folder in ("/etc/", "/run/", "/var/lib/")}
        self._changes |= {" -o slurm": "", "runuser -u slurm -- ": "", **ports}
        self.terminal = Terminal(self.root / "home", cluster.name)
        users_command(self.root / "bin/cosched", self.root / "run/cosched")
        self.terminal.run(f"export SLURM_CONF={cluster.conf} PATH={self.root}/bin:$PATH\n")

    def here(self, text: str) -> str:
        """Paths and ports of a command, or of a file, as they are on this host of the tests'."""
        pattern = "|".join(map(re.escape, sorted(self._changes, key=len, reverse=True)))
        return re.sub(pattern, lambda found: self._changes[found[0]], text)

    def type(self, code: str) -> str:
        """What a block prints. systemd is not there: what it would do is done in its place."""
        printed, lines = "", ""
        for line in code.splitlines(keepends=True):
            if line.startswith("systemctl "):
                printed += self.terminal.run(lines)
                lines = ""
                self._systemctl(*shlex.split(line)[1:])
            else:
                lines += self.here(line)
            if line.startswith("cosched files "):
                printed += self.terminal.run(lines)
                lines = ""
                self._adapt("intrepid.toml", "hooks/cosched.conf")
        return printed + self.terminal.run(lines)

    def _adapt(self, *names: str) -> None:
        for name in names:
            file = self.root / "home/files/deploy/slurm" / name
            file.write_text(self.here(file.read_text()))

    def _systemctl(self, what: str, *of: str) -> None:
        if of == ("slurmctld",):
            self._cluster.stop_unit()
            self._cluster.start_controller()
        elif what == "enable":
            assert of == ("--now", "cosched@$here")
            self._serve(self._cluster.name)
        elif what == "disable" and self._service is not None:
            self._lab.keeping.stop(self._service)
            self._service = None
        else:
            assert what == "daemon-reload"

    def _serve(self, name: str) -> None:
        (self.root / "run/cosched").mkdir()
        arguments = [cosched(), "serve", "--config", str(self.root / f"etc/cosched/{name}.toml")]
        log = self.root / "log"
        self._service = self._lab.keeping.spawn(arguments, {"PATH": os.environ["PATH"]}, log)
        wait_until(lambda: f"serving {name} on " in log.read_text(), "it serves")

    def files(self) -> list[Path]:
        """What there is, but for logs and what was typed at home."""
        return sorted(path for name in ("etc", "run", "var") for path in (self.root / name).rglob("*"))


def users_command(path: Path, sockets: Path) -> None:
    """Write `cosched` as the users of this host have it: it looks there for the host's domain."""
    module = "from cosched.client import defaults"
    there = f"from pathlib import Path\n\ndefaults.SOCKETS = Path({str(sockets)!r})"
    path.write_text(f"#!{sys.executable}\n{module}\nfrom cosched.cli.main import main\n{there}\nmain()\n")
    path.chmod(0o755)


@pytest.fixture
def hosts() -> Iterator[dict[str, Host]]:
    check_for_compiler()
    with TemporaryDirectory(prefix="cosched-") as folder, Lab(further_ports=4) as lab:
        root = Path(folder)
        root.chmod(0o755)  # or users could not reach what is in it, as doctor says
        (root / "bin").mkdir()
        (root / "bin/scp").write_text(SCP)
        (root / "bin/scp").chmod(0o755)
        listens, https = lab.ports[:2], lab.ports[2:]
        made = {}
        for place, cluster in enumerate(lab):
            ports = {
                "0.0.0.0:7701": f"127.0.0.1:{listens[place]}",
                "eureka.example.org:7701": f"localhost:{listens[1 - place]}",
                "127.0.0.1:7781": f"127.0.0.1:{https[place]}",
            }
            made[cluster.name] = Host(root, lab, cluster, ports)
        yield made
        for host in made.values():
            host.terminal.close()


@pytest.mark.soak
def test_cosched_is_added_tried_and_rolled_back_as_the_page_says(hosts: dict[str, Host]) -> None:
    before = {name: (host.files(), (host.root / "etc/slurm/slurm.conf").read_text()) for name, host in hosts.items()}
    starts = []
    for block in blocks(PAGE):
        where = block.code.removeprefix("# ").split()[0]
        for name in hosts if where == "both" else [where]:
            printed = hosts[name].type(block.code) if name in hosts else elsewhere(hosts, block.code)
            assert_prints_what_is_shown(block, printed)
            starts += re.findall(r"^\d\d:\d\d:\d\d\.\d+$", printed, re.MULTILINE)
        if "cosched pairs" in block.code:
            (job,) = json.loads(hosts[where].type("cosched pairs --all --json\n"))
            assert job["mates"][0]["gap"] is None, "they started together"
    assert len(starts) == 2
    for name, host in hosts.items():
        assert (host.files(), (host.root / "etc/slurm/slurm.conf").read_text()) == before[name]


def elsewhere(hosts: dict[str, Host], code: str) -> str:
    """What is typed on a third host: all three are this one."""
    root = hosts["intrepid"].root.parent
    (root / "elsewhere").mkdir()
    terminal = Terminal(root / "elsewhere", "elsewhere")
    terminal.run(f"export ROOTS={root} PATH={root}/bin:$PATH\n")
    printed = terminal.run(code.replace("--host $name.example.org", "--host localhost"))
    terminal.close()
    return printed


def test_the_page_is_short() -> None:
    assert len(PAGE.read_text().splitlines()) <= 200
