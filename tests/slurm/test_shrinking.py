"""A job of a real Slurm gives nodes up, by `cosched.client.slurm` (slurm.md, Malleable jobs)."""

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cosched.client.slurm import SlurmJob
from deploy.slurm.lab import Cluster, Lab
from tests.slurm.versions import config_of, resizes_often

# Carries out what the files 1, 2, ... say, and answers in 1.answer, 2.answer, ...
APPLICATION = f"""#!{sys.executable}
import json, subprocess, sys, time
from pathlib import Path
from cosched.client.errors import ClientError
from cosched.client.slurm import SlurmJob

job, step, number = SlurmJob(), None, 0
while True:
    number += 1
    while not Path(f"{{number}}.order").exists():
        time.sleep(0.02)
    what, *arguments = json.loads(Path(f"{{number}}.order").read_text())
    answer = None
    try:
        if what == "keep":
            answer = job.keep(*arguments)
        elif what == "srun":
            answer = sorted(subprocess.check_output(["srun", *arguments], env=job.environment, text=True).split())
        elif what == "step":
            step = subprocess.Popen(["srun", *arguments], env=job.environment)
        elif what == "again":
            job = SlurmJob()
            answer = job.nodes
        elif what == "end":
            sys.exit()
    except (ClientError, ValueError) as error:
        answer = [type(error).__name__, getattr(error, "reason", ""), str(error)]
    Path("answer").write_text(json.dumps(answer))
    Path("answer").rename(f"{{number}}.answer")
"""


class Application:
    """The application, as a job on so many nodes."""

    def __init__(self, cluster: Cluster, folder: Path, nodes: int) -> None:
        self.cluster, self.folder, self._orders = cluster, folder, 0
        self.id = cluster.sbatch(APPLICATION, f"--nodes={nodes}", f"--chdir={folder}", "--output=out")
        cluster.wait_for_state(self.id, "RUNNING")

    def __call__(self, what: str, *arguments: object) -> Any:
        """What it answers to an order."""
        self._orders += 1
        order, answer = (self.folder / f"{self._orders}.{kind}" for kind in ("order", "answer"))
        order.with_suffix(".new").write_text(json.dumps([what, *arguments]))
        order.with_suffix(".new").rename(order)
        self.cluster.wait_for(answer.exists, f"the answer to {what}")
        return json.loads(answer.read_text())

    @property
    def nodes(self) -> int:
        return int(self.cluster.job(self.id)["NumNodes"])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Lab(nodes=4, names=("intrepid",)) as lab:
        yield lab["intrepid"]


@pytest.fixture
def application(cluster: Cluster, tmp_path: Path) -> Iterator[Application]:
    made = Application(cluster, tmp_path, 4)
    yield made
    cluster.scancel(made.id)
    cluster.wait_for_no_jobs()


def names(*numbers: int) -> list[str]:
    return [f"intrepid{number}" for number in numbers]


def test_nodes_that_a_job_gives_up_are_another_one_s(application: Application, cluster: Cluster) -> None:
    waits = cluster.sbatch("true", "--nodes=3")
    assert application("srun", "printenv", "SLURMD_NODENAME") == names(1, 2, 3, 4)
    assert application("keep", 1) == names(2, 3, 4)
    cluster.wait_for_state(waits, "COMPLETED")
    assert application("srun", "printenv", "SLURMD_NODENAME") == names(1)
    assert application("again") == names(1)
    assert not list(application.folder.glob("slurm_job_*_resize*")), "scontrol leaves its scripts in the job's folder"


def test_nodes_in_use_and_numbers_that_cannot_be_are_refused(application: Application, cluster: Cluster) -> None:
    application("step", "--ntasks-per-node=1", "sleep", "600")
    cluster.wait_for(lambda: ".0" in cluster.squeue("-h", "-s"), "the step")
    kind, reason, said = application("keep", 3)
    assert (kind, reason) == ("ClientError", "NODES_IN_USE")
    assert (
        said
        == f"step {application.id}.0 still runs on intrepid4: wait for its end before job {application.id} gives it up"
    )
    for count in (0, 5):
        assert application("keep", count) == [
            "ValueError",
            "",
            f"job {application.id} has 4 nodes: it cannot keep {count}",
        ]
    assert application("keep", 4) == []
    assert application.nodes == 4


@pytest.mark.soak
def test_a_second_time_needs_slurmdbd_where_slurm_says_so(application: Application, cluster: Cluster) -> None:
    application("keep", 3)
    answer = application("keep", 2)
    if resizes_often(config_of(cluster)):
        assert (answer, application.nodes) == (names(3), 2)
        return
    assert answer[:2] == ["ClientError", "REFUSED"]
    assert answer[2].endswith("Without slurmdbd, Slurm up to 24.05 changes the size of a job only once")
    assert application.nodes == 3


@pytest.mark.soak
def test_a_slurmctld_that_is_away_is_asked_again(application: Application, cluster: Cluster) -> None:
    cluster.wait_until_saved(application.id)
    cluster.stop_controller()
    assert application("keep", 2)[:2] == ["Unreachable", "NO_ANSWER"]
    cluster.start_controller()
    cluster.wait_for_nodes("alloc")
    assert application("keep", 2) == names(3, 4)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_slurm_lets_nobody_else_change_it(application: Application, cluster: Cluster) -> None:
    for folder in (cluster.directory.parent, cluster.directory):
        folder.chmod(0o755)
    argv = ["scontrol", "update", f"JobId={application.id}", "NumNodes=1"]
    done = subprocess.run(
        argv, env=cluster.environment, user="daemon", group="daemon", extra_groups=[], cwd="/",
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, application.nodes) == (1, 4)
    assert "Invalid user id" in done.stderr


@pytest.mark.parametrize("language", ["#!/bin/sh", "import subprocess"])
def test_the_page_s_scripts_do_so(cluster: Cluster, tmp_path: Path, language: str) -> None:
    """Of docs/slurm.md, with programs that tell their nodes."""
    page = (Path(__file__).parents[2] / "docs" / "slurm.md").read_text().partition("### Malleable jobs")[2]
    (block,) = (block for block in re.findall(r"\n\n((?:(?:    .*)?\n)+)", page) if block.strip().startswith(language))
    for name in ("simulate", "analyse"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} $SLURMD_NODENAME >> {tmp_path}/said\n")
        (tmp_path / name).chmod(0o755)
    script = textwrap.dedent(block)
    if language != "#!/bin/sh":
        script = f"#!{sys.executable}\n{script}"
    path = f"--export=PATH={tmp_path}:{cluster.environment['PATH']},SLURM_CONF={cluster.conf}"
    job = cluster.sbatch(script, "--nodes=4", path, f"--chdir={tmp_path}", "--output=out")
    cluster.wait_for_state(job, "COMPLETED")
    said = (tmp_path / "said").read_text().split()
    assert sorted(said[:8:2] + said[1:8:2]) == ["intrepid1", "intrepid2", "intrepid3", "intrepid4", *["simulate"] * 4]
    assert said[8:] == ["analyse", "intrepid1"]


def test_outside_of_jobs_and_without_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(ValueError, match="SLURM_JOB_ID is not set"):
        SlurmJob()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Exception, match="squeue cannot be run: No such file or directory"):
        SlurmJob("17")


def test_a_step_that_is_shown_for_a_moment_after_its_end_is_waited_for(monkeypatch, tmp_path: Path) -> None:
    commands = {
        "squeue": 'case "$*" in *" -s "*) mkdir shown 2>&- && echo "7.0|b" ;; *) echo "RUNNING|a|a,b" ;; esac; true',
        "scontrol": '[ "$1" = update ] || echo "$3" | tr , "\\n"',
    }
    for name, does in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert SlurmJob("7").keep(1) == ("b",)
