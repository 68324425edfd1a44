"""Fluid domains with mates agree with the slow model (tests/reference/cofluid.py), job for job and size for size."""

import math
from random import Random

import pytest

from cosched_sim.configuration import Domain
from tests.papers.fluid.fluid_exact import federated, made_fluid, sizes, some_domain
from tests.reference import RefDomain
from tests.reference.cofluid import FluidState, RefFluid
from tests.reference.world import World
from tests.sim.exact import outcome_of, some_pairs
from tests.sim.group_cases import NEVER, random_case
from tests.tiers import seeds


def played(domains: list[RefDomain], pairs, groups=None):
    run = federated(domains, pairs, groups)
    run.run()
    result = run.result([Domain(name=d.name, trace=".", nodes=d.nodes) for d in domains], {})
    found = {}
    for name, domain in result.domains.items():
        found |= {(name, int(id)): outcome_of(domain.jobs, row) for row, id in enumerate(domain.workload.job_id)}
    return found, sizes(result.events)


def modelled(domains: list[RefDomain], pairs, groups=None):
    world = World(domains, pairs, large=groups)
    world.run(NEVER)
    assert world.next_time() == math.inf, "it has not ended"
    had = {}
    for state in world.domains:
        if isinstance(state, FluidState):
            for entry in state.entries:
                had[state.config.name, entry.job.job_id] = state.machine.jobs[entry.index].sizes
    return world.outcomes(), {name: own for name, own in had.items() if own}


@pytest.mark.parametrize("seed", seeds(20, 2000))
@pytest.mark.parametrize("kinds", [("fluid", "fluid"), ("fluid", "batch"), ("batch", "fluid")], ids="-".join)
def test_pairs_agree_with_the_slow_model(seed, kinds):
    random = Random(f"{seed} {kinds}")
    domains = [some_domain(random, name, kind, 12) for name, kind in zip("AB", kinds, strict=True)]
    pairs = some_pairs(random, domains, most=9)
    assert any(isinstance(domain, RefFluid) for domain in domains)
    assert played(domains, pairs) == modelled(domains, pairs)


@pytest.mark.parametrize("seed", seeds(20, 2000))
def test_groups_agree_with_the_slow_model(seed):
    """Three to five domains, most of them fluid."""
    random = Random(f"groups {seed}")
    case = random_case(seed, ["hold", "hold", "yield", "yield", "off"])
    domains = [made_fluid(random, domain) if random.random() < 0.7 else domain for domain in case.domains]
    assert played(domains, case.pairs, case.groups) == modelled(domains, case.pairs, case.groups)
