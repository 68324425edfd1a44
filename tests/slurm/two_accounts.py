"""Own services of two users, and the administrators' service that lets one of them in; test_two_accounts is root.

    python -m tests.slurm.two_accounts FOLDER

intrepid is a cluster of Slurm without hooks, where ann and bob have services of their own. eureka's service is root's,
and runs local processes as the users who submit them. It prints what users and services have said.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

from deploy.slurm.lab import Lab
from tests.live.hosts import Host, bind, let_others_in
from tests.live.own import ADMITS
from tests.waiting import wait_until

USERS = {"ann": 54321, "bob": 54322}
SITE = """
[domain]
name = "eureka"
socket = "eureka.sock"
state = "state.db"

[manager]
kind = "local"
slots = 4
"""
SCRIPT = """#!/bin/sh
#SBATCH --output=/dev/null --time=5
echo "{name} $(id -u) $(date +%s.%N)" >> ~/noted
"""
UP = "cosched up --manager slurm --name"
ADD = "cosched peer add eureka {user}@login.eureka"


class Accounts:
    """The users on both hosts."""

    def __init__(self, here: Host, there: Host, log: Path) -> None:
        self.here, self.there, self._log = here, there, log

    def starts(self, host: Host, user: str) -> dict[str, list[str]]:
        """Return user id and instant of each job that has begun, by its name."""
        words = host.noted(user)
        return {name: [uid, at] for name, uid, at in zip(words[::3], words[1::3], words[2::3], strict=True)}

    def submit(self, host: Host, user: str, name: str, *options: str) -> str:
        """Submit a job; its id."""
        (host.homes[user] / f"{name}.sh").write_text(SCRIPT.format(name=name))
        return host(user, " ".join(["cosched submit --parsable", *options, f"{name}.sh"])).strip()

    def both_start(self, name: str) -> list[list[str]]:
        """Wait until ann's jobs of this name have started on both hosts."""
        logs = f"{name} starts:\n{self.here.log('ann')}\n{self._log.read_text()}"
        wait_until(lambda: all(name in self.starts(host, "ann") for host in (self.here, self.there)), logs, 300)
        return [self.starts(host, "ann")[name] for host in (self.here, self.there)]

    def all(self) -> dict[str, object]:
        """Return what became of all."""
        here, there = self.here, self.there
        found: dict[str, object] = {"up": [here("ann", f"{UP} ann-intrepid"), here("bob", f"{UP} bob-intrepid")]}
        found["add"] = here("ann", ADD.format(user="ann"))
        refused = here.run("bob", ADD.format(user="bob"))
        found["refused"] = [refused.returncode, refused.stderr]
        found["shut"] = there.run("bob", "ls $COSCHED_PEERS/eureka/ann").returncode
        self.submit(here, "ann", "run1", "--pair run1")
        wait_until(lambda: " HO " in here("ann", "cosched queue"), "ann's job holds")
        self.submit(there, "ann", "run1", "--pair run1")
        found["run1"] = self.both_start("run1")
        found |= self.of_another()
        found["owned"] = [(host.homes[user] / ".local/state/cosched").exists() for host, user in
                          ((there, "ann"), (there, "bob"))]  # fmt: skip
        return found

    def of_another(self) -> dict[str, object]:
        """Let bob ask for a mate of ann's, and ann for one of bob's."""
        here, there = self.here, self.there
        (there.homes["bob"] / "run2.sh").write_text("#!/bin/sh\n")
        found: dict[str, object] = {"nobody": there.run("bob", "cosched submit --pair run2 run2.sh").stderr}
        bobs = self.submit(there, "bob", "run3", "--hold")
        self.submit(here, "ann", "run2", "--pair run2")
        anns = self.submit(here, "ann", "run3", f"--mate eureka:{bobs}")
        explain = lambda: here("ann", f"cosched explain {anns}")  # noqa: E731
        wait_until(lambda: "may name" in explain(), "ann's job has no mate")
        found["unknown"] = explain()
        self.submit(there, "ann", "run2", "--pair run2")
        found["run2"] = self.both_start("run2")
        there("bob", f"cosched release {bobs}")
        wait_until(lambda: self.starts(there, "bob"), "bob's job starts")
        return found | {"bobs": there("bob", f"cosched show {bobs}"), "alone": "run3" not in self.starts(here, "ann")}


def keep_caches(folder: Path) -> None:
    """Let root's services find their compiled kernels when its home is hidden."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    caches.mkdir(exist_ok=True)
    folder.mkdir()
    bind(caches, folder)
    os.environ["XDG_CACHE_HOME"] = str(folder)


def main(folder: Path) -> None:
    keep_caches(folder / "cache")
    let_others_in(Path(sys.base_prefix), folder / "python")
    os.umask(0o022)
    doors, site = folder / "peers", folder / "site"
    door, program = doors / "eureka" / "ann", Path(sys.executable).parent
    for made in (door, site):
        made.mkdir(parents=True)
    door.chmod(0o770)
    shutil.chown(door, USERS["ann"], 0)
    (site / "eureka.toml").write_text(SITE + ADMITS.format(door=door, user="ann"))
    with Lab(folder / "lab", names=("intrepid",)) as lab, ExitStack() as stack:
        cluster = lab["intrepid"]
        slurm = {"SLURM_CONF": str(cluster.conf), "PATH": f"{program}:{cluster.environment['PATH']}"}
        here = Host("intrepid", folder / "intrepid", USERS, **slurm)
        asked = {"COSCHED_SERVER": f"unix:{site}/eureka.sock", "COSCHED_PEERS": str(doors)}
        there = Host("eureka", folder / "eureka", USERS, PATH=f"{program}:{os.environ['PATH']}", **asked)
        bind(here.passwd, Path("/etc/passwd"))
        log = site / "eureka.log"
        serve = (str(program / "cosched"), "serve", "--config", str(site / "eureka.toml"))
        for host in (here, there):
            stack.enter_context(host.serving())
        stack.enter_context(there.running(log, "serving eureka", *serve))
        for user in USERS:
            here.lead_to(there, user)
            stack.callback(here.run, user, "cosched down")
        json.dump(Accounts(here, there, log).all(), sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
