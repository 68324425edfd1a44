"""The laboratory with cosched: it comes up coupled, and nothing of it stays, whatever happens."""

import json
import os
import signal
from pathlib import Path

import pytest

from deploy.lab.processes import all_processes
from deploy.slurm.lab import CoupledLab, LabError, take_down
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.test_lab import lab, left

ASK = """
cd $LAB_DIR
cosched domains --json > here.json
COSCHED_SERVER=unix:$LAB_DIR/b/cosched.sock cosched domains --json > there.json
printf '[%s, %s, "%s", "%s"]' "$(cat here.json)" "$(cat there.json)" "$(sinfo -h -o %D)" $LAB_DIR
"""


@pytest.fixture(autouse=True)
def _compiler() -> None:
    check_for_compiler()


def test_a_command_runs_with_two_domains_that_are_each_others_peers() -> None:
    options = ("--names", "a,b", "--nodes", "1", "--schemes", "yield,hold", "--set", "release_interval=7")
    done = lab("run", "--cosched", *options, "--", "sh", "-c", ASK)
    assert done.returncode == 0, done.stderr
    here, there, nodes, folder = json.loads(done.stdout)
    assert (here["name"], here["manager"], here["scheme"], here["release_interval"]) == ("a", "slurm", "yield", 7)
    assert (there["name"], there["manager"], there["scheme"], there["release_interval"]) == ("b", "slurm", "hold", 7)
    assert [peer["state"] for domain in (here, there) for peer in domain["peers"]] == ["reachable"] * 2
    assert nodes == "1"
    assert not left(Path(folder))
    assert not Path(folder).exists()


def test_services_and_waiting_hooks_are_found_when_the_keeper_and_slurmctld_were_killed() -> None:
    coupled = CoupledLab(options={"nodes": 1}, schemes=("hold", "hold"), max_held_fraction=1)
    with coupled:
        here = next(iter(coupled))
        here.cluster.sbatch("true", "--comment=cosched:pair=p")
        hook = str(here.hooks.folder / "cosched-hook")
        here.cluster.wait_for(lambda: hook in [process.arguments[0] for process in all_processes()], "the hook to wait")
        coupled.detach()
        (keeper,) = [p for p in all_processes() if p.arguments[-1] == str(coupled.directory)]
        os.kill(keeper.pid, signal.SIGKILL)
        os.kill(here.cluster.pid(), signal.SIGKILL)
        take_down(coupled.directory)
        assert not left(coupled.directory)


def test_a_service_that_does_not_come_up_says_why_and_nothing_is_left() -> None:
    coupled = CoupledLab(options={"nodes": 1}, max_held_fraction=2)
    with pytest.raises(LabError, match=r"cosched ended with status 2\n(.*\n)*.*max_held_fraction"):
        coupled.start()
    assert not left(coupled.directory)
    assert not coupled.directory.exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--cosched", "--prolog", "/bin/true"), "brings its own --prolog"),
        (("--schemes", "hold,hold"), "are for --cosched"),
        (("--cosched", "--schemes", "hold"), "2 clusters, but 1 schemes: hold"),
        (("--cosched", "--set", "release_interval"), "not KEY=VALUE"),
        (("--cosched", "--set", "names=a"), "not a setting of cosched"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: tuple[str, ...], reason: str) -> None:
    done = lab("run", "--nodes", "1", *options, "--", "true")
    assert done.returncode != 0
    assert reason in done.stderr
