"""The example of two programs that find each other, on two real Slurm clusters."""

import os
import subprocess
from pathlib import Path

from deploy.lab.service import cosched
from deploy.slurm.lab import CoupledLab, Domain
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled import Coupled

EXAMPLES = Path(__file__).resolve().parents[2] / "deploy" / "examples" / "rendezvous"
PORTS = "34200-34299"


def submit(domain: Domain, program: str) -> str:
    """Submit a program of the example as a user does; its id."""
    environment = domain.service.environment
    environment["PATH"] = f"{Path(cosched()).parent}:{environment.get('PATH', os.defpath)}"
    argv = [cosched(), "submit", "--parsable", "--pair", "both", str(EXAMPLES / program)]
    done = subprocess.run(
        argv, env=environment, cwd=domain.cluster.jobs, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def output(domain: Domain, job: str) -> list[str]:
    path = domain.cluster.jobs / f"slurm-{job}.out"
    return path.read_text().splitlines() if path.exists() else []


def test_a_solver_and_a_viewer_on_two_clusters_find_each_other_and_exchange_data() -> None:
    check_for_compiler()
    with CoupledLab(schemes=("hold", "hold"), options={"nodes": 2}, job_ports=PORTS, max_held_fraction=1) as lab:
        here, there = lab
        submit(here, "solver.py")
        viewer = submit(there, "viewer.py")
        Coupled(lab).until(lambda: output(there, viewer)[3:], "the viewer to show all steps")
        assert output(there, viewer)[-1] == "intrepid: step 4: 1.4142135624"
