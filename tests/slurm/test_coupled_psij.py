"""The walk-through of psij-python: one program a cluster, and both jobs start together.

psij-python allows no `packaging` and `psutil` as new as those of requirements.lock: it has an environment of its own.
"""

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from deploy.slurm.lab import Domain
from tests.live.coupled import PATIENCE, known
from tests.slurm.coupled_checks import START, Served, whys
from tests.slurm.laboratory import laboratory

ROOT = Path(__file__).resolve().parents[2]
PROGRAM, PSIJ = ROOT / "docs" / "examples" / "psij_pair.py", ROOT / ".venv" / "psij"
INSTALLED = any(PSIJ.glob("lib/python*/site-packages/psij"))
pytestmark = [pytest.mark.soak, pytest.mark.skipif(not INSTALLED, reason="psij-python is missing: make psij")]
running, coupled = laboratory(Served, serve=("hold", "hold"), options={"nodes": 2}, services=False, **START)


def begun(domain: Domain, home: Path) -> subprocess.Popen[str]:
    """A user of the cluster with psij."""
    home.mkdir()
    environment = {**domain.cluster.environment, "HOME": str(home)}
    return subprocess.Popen(
        [PSIJ / "bin" / "python", PROGRAM, "run7", "/bin/true"],
        env=environment, cwd=home, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_pair_from_two_programs(coupled: Served, tmp_path: Path) -> None:
    first = begun(coupled.here, tmp_path / "here")
    assert first.stdout is not None
    job = first.stdout.readline().strip()
    coupled.until_state(coupled.here, job, "holding")
    second = begun(coupled.there, tmp_path / "there")
    for program in (first, second):
        said = program.communicate(timeout=PATIENCE)[0]
        assert said.split()[-1] == "COMPLETED", said
    assert len(whys(coupled.here, job)) == 1
    jobs = [job for domain in coupled.lab for job in known(domain).values()]
    assert [one.mates[0].pair for one in jobs] == ["run7", "run7"]
    assert all(abs(one.mates[0].gap or timedelta()) < timedelta(minutes=1) for one in jobs), "they started together"
