"""A pair whose tasks run on other hosts than the services, as far as their gates can tell."""

import pytest

from deploy.slurm.lab import Domain
from deploy.slurm.lab.coupled import BY_FOLDER
from tests.live.workloads import Work
from tests.slurm.coupled import Coupled
from tests.slurm.laboratory import laboratory

LEAD = 6.0  # seconds: more than a job needs from its hook to its gate, so that nothing but the gate keeps it
SETTINGS = {"gate_lead": LEAD, "release_interval": 0, "max_held_fraction": 1}
running, coupled = laboratory(schemes=("hold", "hold"), gate=BY_FOLDER, strict=False, options={"nodes": 2}, **SETTINGS)


def agreed(domain: Domain, job: str) -> float | None:
    """When the job's tasks may begin, once there is the file that says so."""
    path = domain.hooks.gates / job
    return float(path.read_text().removeprefix("at=")) if path.exists() else None


@pytest.mark.soak
def test_tasks_begin_at_the_agreed_instant_by_the_file_in_the_folder_which_goes_afterwards(coupled: Coupled) -> None:
    jobs = [coupled.submit(domain, Work("p", nodes=2, seconds=0)) for domain in coupled.lab]
    instants = [
        coupled.until(lambda domain=domain, job=job: agreed(domain, job), f"a file for {domain.name}'s gate")
        for domain, job in zip(coupled.lab, jobs, strict=True)
    ]
    outcome = coupled.outcome(*([job] for job in jobs))
    assert not outcome.alone()
    assert [began >= instant for began, instant in zip(outcome.times["p"], instants, strict=True)] == [True, True]
    for domain in coupled.lab:
        coupled.until(lambda domain=domain: not list(domain.hooks.gates.iterdir()), f"{domain.name}'s gate to be empty")
        assert "gate_folder" not in domain.service.log.read_text()
