"""Questions that a simulation leaves out change nothing, whoever plays its domains."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from cosched.core.settings import CoschedulingSettings, Scheme
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.questions import Questions
from cosched_sim.workload.generate import generate
from cosched_sim.workload.pairing import Pairing, groups_at_random
from tests.sim.federated import played
from tests.sim.noting import noting
from tests.sim.test_groups import setup


def federation(schemes: list[Scheme]) -> tuple[list[DomainSetup], Pairing]:
    """Three busy machines, and half of all jobs in groups of two or three."""
    works = [generate("eureka", jobs=60, utilisation=0.95, seed=seed) for seed in (1, 2, 3)]
    cluster = setup("A", [(0, 1, 1, 1)]).cluster
    domains = [
        DomainSetup(name, work, replace(cluster, nodes=100), CoschedulingSettings(scheme))
        for name, work, scheme in zip("ABC", works, schemes, strict=True)
    ]
    return domains, groups_at_random(works, "0.5", range(2, 4), 1)


@pytest.mark.parametrize("cores", ["", "A", "BC", "ABC"])
@pytest.mark.parametrize("schemes", [[Scheme.YIELD] * 3, [Scheme.YIELD, Scheme.HOLD, Scheme.YIELD]])
def test_leaving_them_out_changes_nothing(monkeypatch, schemes, cores: Collection[str]):
    case = federation(schemes)
    left_out = noting(monkeypatch)
    found = played(*case, cores)
    assert sum(left_out) > 20
    monkeypatch.setattr(Questions, "in_vain", lambda *_: False)
    assert played(*case, cores) == found
