"""Groups of PBS with PBS, Slurm and local processes: they start together under any mixture of hold and yield."""

from __future__ import annotations

from statistics import median

import pytest

from deploy.lab.coupled import Domain
from tests.live.coupled import known
from tests.live.coupled_labs import Coupled
from tests.live.workloads import Outcome, Work, contended
from tests.pbs.laboratory import laboratory
from tests.tiers import SEED

pytestmark = pytest.mark.soak

KINDS = [("pbs", "pbs", "slurm"), ("pbs", "slurm", "local")]
MIXTURES = [
    ("hold", "hold", "yield"),
    ("hold", "hold", "hold"),
    ("yield", "hold", "yield"),
    ("yield", "yield", "yield"),
]
NODES = 6
SETTINGS = {"release_interval": 4, "max_held_fraction": 1, "backoff": 3, "try_patience": 1, "poll_interval": 1}
GROUPS, ALONE = 12, 6
G = Work("g", 2, 0.2)


running, coupled = laboratory(*KINDS, schemes=MIXTURES[0], nodes=NODES, **SETTINGS)


def check_started_together(found: Outcome, groups: int) -> None:
    assert found.states == {"completed": 3 * groups}
    assert set(found.runs.values()) == {1}
    assert found.alone() == {}
    skews = sorted(1000 * skew for skew in found.skews())
    print(f"{len(skews)} groups: starts {median(skews):.0f} ms apart (median), at most {skews[-1]:.0f} ms")


@pytest.mark.parametrize("schemes", MIXTURES, ids="-".join)
def test_three_jobs_start_together_and_wait_for_the_last(coupled: Coupled, schemes: tuple[str, ...]) -> None:
    coupled.lab.serve(schemes)
    for domains in (coupled.lab.domains, coupled.lab.domains[::-1]):
        ids: dict[str, list[str]] = {}
        for domain in domains[:2]:
            (job,) = ids[domain.name] = [coupled.submit(domain, G)]
            coupled.until(lambda domain=domain, job=job: waits_for_members(domain, job), f"{job} to wait")
        ids[domains[2].name] = [coupled.submit(domains[2], G)]
        check_started_together(coupled.outcome(*(ids[domain.name] for domain in coupled.lab)), 1)


def waits_for_members(domain: Domain, job_id: str) -> bool:
    job = known(domain).get(job_id)
    return job is not None and job.reason == "MateUnsubmitted"


@pytest.mark.parametrize("schemes", MIXTURES, ids="-".join)
def test_many_groups_among_other_jobs_start_together(coupled: Coupled, schemes: tuple[str, ...]) -> None:
    coupled.lab.serve(schemes)
    found = coupled.run(contended(SEED, GROUPS, ALONE, domains=3))
    assert len(found.runs) == 3 * (GROUPS + ALONE)
    check_started_together(found, GROUPS)
