"""The example of two programs that find each other, on two real Slurm clusters."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.lab.service import cosched
from deploy.slurm.lab import CoupledLab, Domain
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled import Coupled

EXAMPLES = Path(__file__).resolve().parents[2] / "deploy" / "examples" / "rendezvous"
PORTS = "34200-34299"


def submit(domain: Domain, program: Path, pair: str) -> str:
    """Submit a program as a user does; its id."""
    environment = domain.service.environment
    environment["PATH"] = f"{Path(cosched()).parent}:{environment.get('PATH', os.defpath)}"
    argv = [cosched(), "submit", "--parsable", "--pair", pair, str(program)]
    done = subprocess.run(
        argv, env=environment, cwd=domain.cluster.jobs, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def output(domain: Domain, job: str) -> list[str]:
    path = domain.cluster.jobs / f"slurm-{job}.out"
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def lab() -> Iterator[CoupledLab]:
    check_for_compiler()
    with CoupledLab(schemes=("hold", "hold"), options={"nodes": 2}, job_ports=PORTS, max_held_fraction=1) as lab:
        yield lab


@pytest.mark.soak  # as in tests/live/test_group_submissions.py
def test_programs_on_two_clusters_find_each_other_and_exchange_data(lab: CoupledLab, tmp_path: Path) -> None:
    here, there = lab
    tells = tmp_path / "tells.sh"
    tells.write_text('#!/bin/bash\necho "$COSCHED_MATES"\necho "$COSCHED_PORTS"\n')
    first, second = submit(here, tells, "told"), submit(there, tells, "told")
    submit(here, EXAMPLES / "solver.py", "both")
    viewer = submit(there, EXAMPLES / "viewer.py", "both")
    coupled = Coupled(lab)
    coupled.until(lambda: output(there, viewer)[3:], "the viewer to show all steps")
    assert output(there, viewer)[-1] == "intrepid: step 4: 1.4142135624"
    for domain, job, mate in ((here, first, f"eureka:{second}"), (there, second, f"intrepid:{first}")):
        known, ports = coupled.until(lambda domain=domain, job=job: output(domain, job), "what the job was told")
        (told,) = json.loads(known)
        assert (f"{told['domain']}:{told['job_id']}", told["host"], ports) == (mate, None, PORTS)
