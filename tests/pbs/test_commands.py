"""Users' and operators' commands with a real server: submit by qsub, queue, show, link, doctor, serve --check."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.lab.coupled import CoupledLab, Pbs
from deploy.lab.service import cosched
from deploy.lab.waiting import wait_for

pytestmark = pytest.mark.soak
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def mira() -> Iterator[Pbs]:
    """A PBS domain and one of local processes. Its nodes are parts of one host, so jobs have one node."""
    with tempfile.TemporaryDirectory(prefix="pbs-") as folder, CoupledLab(Path(folder), ("pbs", "local")) as lab:
        domain, _ = lab
        assert isinstance(domain, Pbs)
        yield domain
        assert domain.left() == ""


@pytest.fixture
def run(mira: Pbs, tmp_path: Path) -> Iterator[Run]:
    """Run a command `cosched ...` as users of mira do, whose PATH has PBS's commands; afterwards there are no jobs."""
    environment = mira.service.environment | {"PATH": f"{mira.cluster.bin}:/usr/bin:/bin"}
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#PBS -l walltime=600\nsleep 60\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [cosched(), *arguments]
        return subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    yield run
    mira.clear()
    wait_for(lambda: not mira.left(), "all nodes to be free")


def test_a_job_is_submitted_by_qsub_and_shown(run: Run, mira: Pbs) -> None:
    submitted = run("submit", "--parsable", "--nodes", "1", "--pair", "run7", "--name", "flow", "job.sh")
    assert submitted.returncode == 0, submitted.stderr
    job = submitted.stdout.strip()
    assert mira.cluster.job(f"{job}.mira")["Resource_List"]["pair"] == "run7"
    wait_for(lambda: " HO " in run("queue").stdout, "its hold", interval=0.2)
    assert "run7@eureka" in run("queue").stdout
    assert "flow" in run("show", job).stdout


def test_a_job_has_the_vnode_that_its_user_names_also_while_it_holds(run: Run, mira: Pbs) -> None:
    last = mira.cluster.nodes[-1]
    submitted = run("submit", "--parsable", "--nodelist", last, "--pair", "run7", "job.sh")
    assert submitted.returncode == 0, submitted.stderr
    job = submitted.stdout.strip()
    wait_for(lambda: " HO " in run("queue").stdout, "its hold", interval=0.2)
    assert run("unlink", job).returncode == 0
    wait_for(lambda: mira.cluster.job(f"{job}.mira")["job_state"] == "R", "its start")
    assert mira.cluster.job(f"{job}.mira")["exec_vnode"].startswith(f"({last}:")


def test_what_qsub_refuses_is_the_user_s_answer(run: Run, mira: Pbs) -> None:
    refused = run("submit", "--mate", "nobody:1", "job.sh")
    assert refused.returncode != 0
    assert "qsub: cosched: no domain nobody is known here (known: eureka)" in refused.stderr
    assert mira.left() == ""


def test_a_job_whose_size_the_domain_would_change_is_refused(run: Run, mira: Pbs) -> None:
    refused = run("submit", "--nodes", "2", "--least", "1", "job.sh")
    assert refused.returncode == 2
    assert refused.stderr == "cosched: --least: nothing reads this of jobs of mira, since pbs schedules them\n"
    assert mira.left() == ""


def test_a_job_whose_mate_is_nobody_s_holds_nothing_and_is_not_lost(run: Run, mira: Pbs) -> None:
    job = run("submit", "--parsable", "--mate", "eureka:4711", "job.sh").stdout.strip()
    wait_for(lambda: "MateUnknown" in run("queue").stdout, "MateUnknown", interval=0.2)
    assert mira.cluster.job(f"{job}.mira")["job_state"] == "Q"
    assert run("unlink", job).returncode == 0
    wait_for(lambda: mira.cluster.job(f"{job}.mira")["job_state"] == "R", "its start alone")


def test_doctor_and_check_have_nothing_to_say_against_the_manager(run: Run, mira: Pbs) -> None:
    configuration = str(mira.service.folder / "cosched.toml")
    examined = run("doctor", "--config", configuration)
    for subject in ("resources", "hook", "rights", "scheduling", "job history", "held nodes"):
        assert subject in examined.stdout
    assert "qmgr" not in examined.stdout  # no line that mends anything
    checked = run("serve", "--config", configuration, "--check")
    assert "pbs" in checked.stdout + checked.stderr
