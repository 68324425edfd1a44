"""Users' commands for groups with two real PBS servers and local processes: submit, groups, wait, mates, refusals."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.lab.coupled import Pbs
from deploy.lab.service import cosched
from deploy.lab.waiting import LabError
from tests.live.coupled import known
from tests.live.coupled_labs import Coupled
from tests.pbs.laboratory import laboratory

pytestmark = pytest.mark.soak

NAMES = ("mira", "eureka", "polaris")
SETTINGS = {"backoff": 2, "try_patience": 1, "poll_interval": 1, "max_held_fraction": 1}
Run = Callable[..., subprocess.CompletedProcess[str]]
running, coupled = laboratory(("pbs", "pbs", "local"), schemes=("hold", "hold", "yield"), clear=True, **SETTINGS)


@pytest.fixture
def run(coupled: Coupled, tmp_path: Path) -> Run:
    """Run a command `cosched ...` as a user of mira does, on a host with commands of all clusters."""
    tmp_path.chmod(0o755)
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#PBS -l select=1:ncpus=1\nsleep 0.2\n")
    for command in ("qsub", "qstat"):  # those of the cluster whose configuration is named
        path = tmp_path / command
        path.write_text(f'#!/bin/sh\nexec "$(dirname "$PBS_CONF_FILE")/bin/{command}" "$@"\n')
        path.chmod(0o755)

    def run(*arguments: str, **configs: Path) -> subprocess.CompletedProcess[str]:
        tables = [f'{domain.name} = {{ server = "{domain.service.server}"{config_of(domain, configs)} }}\n'
                  for domain in coupled.lab]  # fmt: skip
        (tmp_path / "cosched").mkdir(exist_ok=True)
        (tmp_path / "cosched" / "client.toml").write_text("[domains]\n" + "".join(tables))
        environment = coupled.here.service.environment
        environment |= {"XDG_CONFIG_HOME": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}
        environment["PBS_CONF_FILE"] = str(conf(coupled.here))
        argv = [cosched(), *arguments]
        return subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def conf(domain: object) -> Path:
    assert isinstance(domain, Pbs)
    return domain.cluster.folder / "pbs.conf"


def config_of(domain: object, configs: dict[str, Path]) -> str:
    if not isinstance(domain, Pbs):
        return ""
    return f', batch_config = "{configs.get(domain.name, conf(domain))}"'


def test_one_command_submits_all_jobs_or_none(run: Run, coupled: Coupled) -> None:
    to = [f"--to={name}:job.sh" for name in NAMES]
    done = run("submit", "--group=all", *to)
    assert done.returncode == 0, done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines()] == list(NAMES)
    waited = run("wait", "all")
    assert [line.split()[1] for line in waited.stdout.splitlines()] == ["completed"] * 3, waited.stderr
    shown = run("show", "all").stdout
    assert all(f"{name}:" in shown for name in NAMES)

    wrong = run("submit", "--group=none", *to, eureka=conf(coupled.here))
    assert wrong.returncode == 1
    assert "eureka: qsub: cosched: group names the other members' domains, and mira is this one" in wrong.stderr
    (job,) = [job for job in known(coupled.here).values() if job.group is not None and job.group.name == "none"]
    assert job.state == "cancelled"


def test_jobs_of_a_group_find_each_other(run: Run, coupled: Coupled, tmp_path: Path) -> None:
    for domain in coupled.lab:
        tells = f'echo "$COSCHED_MATES" > {tmp_path}/{domain.name}.told\n'
        asks = f"{cosched()} mates --server {domain.service.server} --wait --json > {tmp_path}/{domain.name}.found\n"
        (tmp_path / f"{domain.name}.sh").write_text(f"#!/bin/bash\n#PBS -l walltime=600\n{tells}{asks}sleep 1\n")
    done = run("submit", "--group=meet7", *(f"--to={name}:{name}.sh" for name in NAMES))
    assert done.returncode == 0, done.stderr
    ids = {line.split()[-1]: line.split()[2] for line in done.stdout.splitlines()}
    assert run("wait", "meet7").returncode == 0
    for name in NAMES:
        others = {other: job for other, job in ids.items() if other != name}
        for kind in ("told", "found"):
            mates = json.loads((tmp_path / f"{name}.{kind}").read_text())
            assert {mate["domain"]: mate["job_id"] for mate in mates} == others
        assert all(mate["host"] for mate in mates)


def test_a_group_is_shown_while_it_waits(run: Run, coupled: Coupled) -> None:
    submitted = run("submit", "--group=late", "--with=eureka,polaris", "job.sh")
    assert submitted.returncode == 0, submitted.stderr
    assert "its group has no job on eureka and polaris yet" in submitted.stderr
    (job,) = coupled.here.queued()
    coupled.until_state(coupled.here, job, "holding")
    assert "late@eureka+polaris" in run("queue").stdout
    (listed,) = run("groups").stdout.splitlines()[1:]
    assert listed.split()[:2] == ["late", job]
    assert run("unlink", job).returncode == 0
    coupled.until_state(coupled.here, job, "running", "completed")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--with=eureka,nobody"], "mira is not coupled with 'nobody' (only with eureka, polaris)"),
        (["--with=eureka,mira"], "mira is not coupled with 'mira'"),
        (["--with=eureka,eureka"], "is named twice: a group has one job on each domain"),
        (["--with=" + ",".join(f"d{n}" for n in range(16))], "a group has at most 16 members"),
        (["--with=eureka,polaris", "--window=eureka:60..120"], "slots are off on mira: --window and --at need them"),
    ],
)
def test_a_group_that_cannot_be_is_refused(run: Run, coupled: Coupled, arguments: list[str], said: str) -> None:
    refused = run("submit", "--group=wrong", *arguments, "job.sh")
    assert refused.returncode != 0
    assert said in " ".join(refused.stderr.split())
    assert not coupled.here.queued()


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("g@eureka+nobody", r"no domain nobody is known here \(known: eureka, polaris\)"),
        ("g@eureka+mira", "group names the other members' domains, and mira is this one"),
        ("g@eureka+eureka", "group names eureka twice"),
        ("g", "group is NAME@DOMAIN"),
        ("7@eureka+polaris", "is taken for a job: add a letter"),
    ],
)
def test_qsub_says_so_too(coupled: Coupled, group: str, said: str) -> None:
    assert isinstance(coupled.here, Pbs)
    with pytest.raises(LabError, match=said):
        coupled.here.cluster.qsub("true", f"-lgroup={group}")
    with pytest.raises(LabError, match="a job array cannot have a mate"):
        coupled.here.cluster.qsub("true", "-lgroup=g@eureka+polaris", "-J1-3")
    assert not coupled.here.queued()


def test_members_that_name_other_domains_wait_and_hold_nothing(coupled: Coupled) -> None:
    here, there = coupled.here, coupled.there
    assert isinstance(here, Pbs)
    assert isinstance(there, Pbs)
    first = here.cluster.qsub("true", "-lgroup=apart@eureka+polaris").partition(".")[0]
    coupled.until_state(here, first, "holding")
    other = there.cluster.qsub("true", "-lgroup=apart@mira").partition(".")[0]
    coupled.until(
        lambda: (job := known(there).get(other)) and job.reason == "MateUnknown", "the other one to have no mate"
    )
    assert there.cluster.job(f"{other}.eureka")["job_state"] == "Q"
