"""Three real Slurm clusters and groups of three jobs: they start together, under any mixture of hold and yield."""

import subprocess
from pathlib import Path

import pytest

from deploy.lab.service import cosched
from tests.live.coupled import known
from tests.live.test_groups import MIXTURES
from tests.live.workloads import Work, contended
from tests.slurm.coupled import Coupled
from tests.slurm.coupled_checks import fill
from tests.slurm.laboratory import laboratory
from tests.tiers import SEED, soaked

NAMES = ("intrepid", "eureka", "mira")
NODES = 6
PATIENCE = 300  # seconds, of hooks: more than a service needs to start on a busy machine
SETTINGS = {"release_interval": 4, "max_held_fraction": 1, "backoff": 2, "try_patience": 2, "poll_interval": 1}
GROUPS, ALONE = 12, 6
G = Work("g", 1, 0.1)
running, coupled = laboratory(
    names=NAMES, schemes=MIXTURES[0], services=False, options={"nodes": NODES}, patience=PATIENCE, **SETTINGS
)


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1), ids="-".join)
def test_three_jobs_of_a_group_start_together_and_wait_for_the_last(coupled: Coupled, schemes: tuple[str, ...]) -> None:
    coupled.lab.restart(schemes)
    first, second, third = coupled.lab
    ids = [[coupled.submit(domain, G)] for domain in (first, second)]
    for domain, (job,) in zip((first, second), ids, strict=True):
        coupled.until_job(domain, job, lambda job: job.reason == "MateUnsubmitted", "to wait for the third")
    ids.append([coupled.submit(third, G)])
    coupled.check_started_together(*ids)


@pytest.mark.soak
@pytest.mark.parametrize("schemes", MIXTURES, ids="-".join)
def test_many_groups_among_other_jobs_start_together(coupled: Coupled, schemes: tuple[str, ...]) -> None:
    coupled.lab.restart(schemes)
    found = coupled.run(contended(SEED, GROUPS, ALONE, domains=3))
    assert found.states == {"completed": len(NAMES) * GROUPS}
    assert set(found.runs.values()) == {1}
    assert len(found.runs) == len(NAMES) * (GROUPS + ALONE)
    assert found.alone() == {}


@pytest.mark.soak
def test_jobs_that_cannot_yield_are_in_groups_too(coupled: Coupled) -> None:
    """They hold after a proposal in vain: Slurm would cancel them."""
    coupled.lab.restart(("yield", "yield", "yield"))
    first, second, third = coupled.lab
    busy = fill(third, NODES)
    ids = [
        [coupled.submit(first, G)],
        [coupled.submit(second, G, "--no-requeue", "--hold")],
        [coupled.submit(third, G)],
    ]
    coupled.until(lambda: known(second).get(ids[1][0]), "the second member to be known")
    second.cluster.scontrol("release", ids[1][0])
    coupled.until_state(second, ids[1][0], "holding")
    coupled.until_job(first, ids[0][0], lambda job: job.holds.yields > 1, "to yield")
    assert known(second)[ids[1][0]].state == "holding"
    third.cluster.scancel(busy)
    coupled.check_started_together(*ids)


@pytest.mark.soak
def test_one_command_submits_the_jobs_of_all_clusters_or_none(coupled: Coupled, tmp_path: Path) -> None:
    coupled.lab.restart(MIXTURES[0])
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#SBATCH --output=/dev/null\nsleep 0.1\n")
    to = [f"--to={name}:job.sh" for name in NAMES]

    def run(*arguments: str, **configs: Path) -> subprocess.CompletedProcess[str]:
        tables = [
            f'{domain.name} = {{ server = "{domain.service.server}", '
            f'batch_config = "{configs.get(domain.name, domain.cluster.conf)}" }}\n'
            for domain in coupled.lab
        ]
        (tmp_path / "cosched").mkdir(exist_ok=True)
        (tmp_path / "cosched" / "client.toml").write_text("[domains]\n" + "".join(tables))
        environment = coupled.here.service.environment | {"XDG_CONFIG_HOME": str(tmp_path)}
        argv = [cosched(), *arguments]
        return subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    done = run("submit", "--group=all", *to)
    assert done.returncode == 0, done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines()] == list(NAMES)
    waited = run("wait", "all")
    assert [line.split()[1] for line in waited.stdout.splitlines()] == ["completed"] * 3, waited.stderr

    wrong = run("submit", "--group=none", *to, mira=coupled.here.cluster.conf)
    assert wrong.returncode == 1
    assert "but not to the cluster of mira" in wrong.stderr
    assert wrong.stderr.count("was cancelled") == 2
    for domain in (coupled.here, coupled.there):
        (job,) = [job for job in known(domain).values() if job.group is not None and job.group.name == "none"]
        assert job.state == "cancelled"

    refused = run("submit", "--group=late", *to, "--window=mira:60..120")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--window and --at need them" in refused.stderr
