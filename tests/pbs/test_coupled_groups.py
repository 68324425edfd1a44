"""Groups of PBS with PBS, Slurm and local processes: they start together under any mixture of hold and yield."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from deploy.pbs.lab import CoupledLab, Domain
from deploy.pbs.lab.coupled import Pbs
from tests.live.coupled import known
from tests.live.workloads import Outcome, Work, contended
from tests.pbs.coupled import Coupled
from tests.slurm.cosched_hooks import check_for_compiler
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


@pytest.fixture(scope="module", params=KINDS, ids="-".join)
def running(request: pytest.FixtureRequest) -> Iterator[Coupled]:
    check_for_compiler()
    with (
        tempfile.TemporaryDirectory(prefix="pbs-") as folder,
        CoupledLab(Path(folder), request.param, MIXTURES[0], nodes=NODES, **SETTINGS) as lab,
    ):
        yield Coupled(lab)


@pytest.fixture
def coupled(running: Coupled) -> Iterator[Coupled]:
    yield running
    running.check_nothing_is_left()


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


def test_a_member_keeps_its_nodes_for_no_longer_than_its_group_is_proposed(coupled: Coupled) -> None:
    """One cluster is full: members that yield are asked in vain, and their nodes are others'."""
    coupled.lab.serve(("yield", "yield", "hold"))
    here, there, third = coupled.lab
    busy = third.submit("exec sleep 600", NODES)
    coupled.until(lambda: busy in third.queued() or busy in known(third), "the job that fills a cluster")
    ids = [[coupled.submit(domain, G)] for domain in coupled.lab]
    for domain, (job,) in zip((here, there), ids[:2], strict=True):
        coupled.until(
            lambda domain=domain, job=job: (found := known(domain).get(job)) is not None and found.holds.yields > 1,
            f"{job} to yield",
        )
    alone = coupled.submit(here, Work(None, NODES, 0.1))
    coupled.until(lambda: alone not in here.queued(), "the end of the job that needs all nodes")
    cancel(third, busy)
    check_started_together(coupled.outcome(*ids), 1)


def cancel(domain: Domain, job: str) -> None:
    if isinstance(domain, Pbs):
        domain.cluster.run("qdel", job)
    elif domain.kind == "slurm":
        domain.lab.cluster.scancel(job)  # type: ignore[attr-defined]
    else:
        domain.service.run("cancel", job)
