"""Machines of two real Slurm clusters, chosen by a model: which are free, when others would be, what sbatch refuses."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cosched.client import Client
from deploy.lab.service import cosched
from tests.slurm.coupled_checks import START, Served
from tests.slurm.laboratory import laboratory

pytestmark = pytest.mark.soak
Run = Callable[..., subprocess.CompletedProcess[str]]
SCRIPT = """#!/bin/bash
echo "$SLURM_JOB_NODELIST $MAP_MACHINES $MAP_SHARES $MAP_BEFORE" > {folder}/$SLURM_JOB_NODELIST.map
"""
MACHINE = '[[machine]]\nname = "{node}.{domain}"\nspeed = {speed}\nmemory = 100\ndomain = "{domain}"\nnode = "{node}"\n'
LINK = '[[link]]\nfrom = "{one}"\nto = "{to}"\nbandwidth = 1000\nlatency = 0\n'
SPEEDS = {"intrepid": 400, "eureka": 500}
running, coupled = laboratory(Served, serve=("hold", "hold"), options={"nodes": 3}, services=False, **START)


@pytest.fixture
def run(coupled: Served, tmp_path: Path) -> Run:
    tables = [
        f'{domain.name} = {{server = "unix:{domain.service.socket}", batch_config = "{domain.cluster.conf}"}}\n'
        for domain in coupled.lab
    ]
    (tmp_path / "cosched").mkdir()
    (tmp_path / "cosched" / "client.toml").write_text("[domains]\n" + "".join(tables))
    (tmp_path / "job.sh").write_text(SCRIPT.format(folder=tmp_path))
    machines = [
        MACHINE.format(node=f"{domain}{n}", domain=domain, speed=speed)
        for domain, speed in SPEEDS.items()
        for n in (1, 2, 3)
    ]
    links = [LINK.format(one=one, to=to) for one, to in (("intrepid", "intrepid"), ("eureka", "eureka"), SPEEDS)]
    (tmp_path / "grid.toml").write_text("".join(machines + links) + '[[source]]\nkind = "domains"\n')
    (tmp_path / "unasked.toml").write_text("".join(machines + links))
    tmp_path.chmod(0o755)

    def run(grid: str, *options: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
        asked = ["submit", f"--select={grid}", "--application=jacobi", "--size=1200", "--time=1", *options, "job.sh"]
        return subprocess.run(
            [cosched(), *asked], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )

    return run


def maps(coupled: Served, folder: Path, count: int) -> dict[str, list[str]]:
    def written() -> list[Path]:
        found = [path for path in folder.glob("*.map") if path.read_text()]
        return found if len(found) == count else []

    return {path.stem: path.read_text().split()[1:] for path in coupled.until(written, "the maps of the jobs")}


def test_nodes_that_are_taken_or_drained_are_not_chosen(coupled: Served, run: Run, tmp_path: Path) -> None:
    """intrepid1 runs a job of five minutes, intrepid3 is drained; one of them, and three of eureka, are free."""
    here = coupled.here
    busy = here.cluster.sbatch("sleep 1000", "--nodelist=intrepid1", "--exclusive", "--time=5")
    here.cluster.scontrol("update", "nodename=intrepid3", "state=drain", "reason=fan")
    here.cluster.wait_for_state(busy, "RUNNING")
    with Client(f"unix:{here.service.socket}") as client:
        groups = {group.state: (group.count, group.names) for group in client.nodes()}
        assert groups == {"idle": (1, ("intrepid2",)), "down": (1, ("intrepid3",)), "busy": (1, ())}
        assert client.quote_start(1, time_limit=60).wait == 0
        assert 200 < client.quote_start(2, time_limit=60).wait <= 302
        assert client.quote_start(1, columns={"nodelist": "intrepid3"}).wait is None
    done = run("grid.toml")
    assert done.returncode == 0, done.stderr
    found = maps(coupled, tmp_path, 2)
    assert found.keys() == {"intrepid2", "eureka[1-3]"}
    assert found["intrepid2"][0] == "intrepid2.intrepid"
    here.cluster.scontrol("update", "nodename=intrepid3", "state=resume")
    assert sum(int(share) for its in found.values() for share in its[1].split(":")) == 1200


def test_domains_that_are_asked_nothing_refuse_what_they_cannot_start_now(
    coupled: Served, run: Run, tmp_path: Path
) -> None:
    """The list says that all are free; each domain tells when it would start its job."""
    here = coupled.here
    busy = here.cluster.sbatch("sleep 1000", "--nodelist=intrepid1", "--exclusive", "--time=5")
    here.cluster.wait_for_state(busy, "RUNNING")
    done = run("unasked.toml")
    assert done.stderr.startswith("intrepid cannot start 3 nodes now: in "), done.stderr
    assert maps(coupled, tmp_path, 1).keys() == {"eureka[1-3]"}


def test_what_sbatch_does_not_take_is_left_out(coupled: Served, run: Run, tmp_path: Path) -> None:
    """eureka has no eureka9: its sbatch refuses the job, and the machines of intrepid are chosen."""
    grid = (tmp_path / "unasked.toml").read_text()
    (tmp_path / "unasked.toml").write_text(grid.replace('node = "eureka3"', 'node = "eureka9"'))
    done = run("unasked.toml", "--strategy=static")
    assert "Invalid node name specified" in done.stderr, done.stderr
    assert done.stdout == f"Submitted job {done.stdout.split()[2]} to intrepid\n"
    assert maps(coupled, tmp_path, 1).keys() == {"intrepid[1-3]"}
