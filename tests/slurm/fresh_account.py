"""The first pair of an ordinary user with an empty home on each of two clusters; run by test_fresh_account, as root.

    python -m tests.slurm.fresh_account FOLDER

Everything is in a mount namespace of its own, where /etc/passwd has the user ann. It prints what became of the pair.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from deploy.slurm.lab import Cluster, Lab
from tests.live.hosts import Host, bind, let_others_in
from tests.waiting import wait_until

USER, UID = "ann", 54321
INSTALL = "pip install --user coscheduling"  # from wheels of this tree, and those that it needs
SCRIPT = """#!/bin/sh
#SBATCH --output=/dev/null --time=5
echo "$(id -u) $(date +%s.%N)" > noted
"""


def site(folder: Path, cluster: Cluster) -> Host:
    """Return a cluster's login node, where ann has nothing yet."""
    path = f"{folder / cluster.name / USER}/.local/bin:{sys.base_prefix}/bin:{cluster.environment['PATH']}"
    return Host(
        cluster.name, folder / cluster.name, {USER: UID},
        SLURM_CONF=str(cluster.conf), PATH=path, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(folder / "wheels"),
    )  # fmt: skip


def first_pair(folder: Path) -> dict[str, object]:
    """Return what became of it."""
    with Lab(folder / "lab", names=("intrepid", "eureka")) as lab:
        here, there = [site(folder, cluster) for cluster in lab]
        bind(here.passwd, Path("/etc/passwd"))
        here.lead_to(there, USER)
        with here.serving(), there.serving():
            return _first_pair(here, there)


def _first_pair(here: Host, there: Host) -> dict[str, object]:
    began = time.monotonic()
    for script in ("sim.sh", "vis.sh"):
        (here.homes[USER] / script).write_text(SCRIPT)
    commands = ["cosched up", "cosched peer add eureka ann@login.eureka",
                "cosched submit --to intrepid:sim.sh --to eureka:vis.sh --pair run7"]  # fmt: skip
    try:
        said = [host(USER, INSTALL) for host in (here, there)] + [here(USER, command) for command in commands]
        logs = lambda: f"both start:\n{here.log(USER)}\n{there.log(USER)}"  # noqa: E731
        wait_until(lambda: here.noted(USER) and there.noted(USER), logs(), 240)
        seconds = time.monotonic() - began
        mode = oct((here.homes[USER] / ".local/state/cosched").stat().st_mode & 0o777)
        return {"said": said, "noted": [here.noted(USER), there.noted(USER)], "seconds": seconds, "mode": mode}
    finally:
        for host in (here, there):
            host(USER, "cosched down")


def main(folder: Path) -> None:
    let_others_in(Path(sys.base_prefix), folder / "python")
    os.umask(0o022)
    build = {**os.environ, "PYTHON": sys.executable}
    subprocess.run(["sh", "deploy/wheels.sh", folder / "wheels"], check=True, env=build, stdout=sys.stderr)
    json.dump(first_pair(folder), sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
