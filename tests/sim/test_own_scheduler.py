"""A scheduler of a package of its own (docs/examples) does in a replay whatever ours do, with mates or without."""

import importlib.util
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from cosched import sim
from cosched.core.job import JobState
from cosched.sim.playing import Run
from cosched.sim.replaying import NO_PAIRS
from cosched.sim.results.result import ReplayResult
from cosched.sim.story import StoryLog
from cosched.sim.world import DomainSetup
from cosched.workload.allocations import AllocationEnd, Allocations
from cosched.workload.pairing import Pairing
from tests.sim import fluid_exact
from tests.sim.exact import pairing_of, ref_domain, setup_of, some_jobs, some_pairs
from tests.sim.group_cases import random_case
from tests.sim.test_groups import setup
from tests.tiers import seeds

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "example_scheduler.py"


def loaded(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = loaded(EXAMPLE)


class Restarted(example.Express):
    """Begins anew from what is kept of its jobs, as a service does that was killed, before every third instant."""

    instants = 0

    def enter(self, now: int) -> None:
        if now != self._now:
            self.instants += 1
            if self.instants % 3 == 0:
                jobs = [self.job(job) for job in self.jobs]
                super().__init__(example.ExpressSettings(self.nodes, self._express))
                for job in jobs:
                    self.submit(job)
        super().enter(now)


class RestartedKind(example.ExpressKind):
    """See Restarted."""

    def open(self, settings):
        return Restarted(settings)


def express(of: DomainSetup, seconds: int, kind: object = example.EXPRESS) -> DomainSetup:
    """The same domain with another scheduler."""
    return replace(of, cluster=example.ExpressSettings(of.cluster.nodes, seconds), kind=kind)


def played(setups: Sequence[DomainSetup], pairing: Pairing = NO_PAIRS) -> ReplayResult:
    run = Run(setups, pairing, story=StoryLog())
    run.run()
    return run.result([sim.Domain(name=each.name, trace=".", nodes=each.cluster.nodes) for each in setups], {})


def check_together(result: ReplayResult) -> None:
    """All jobs end, mates start at the same instant, and no node has two jobs."""
    assert not result.stalled
    for found in (result.pairs, result.groups):
        assert found["desynchronised"] == found["never"] == 0
    for domain in result.domains.values():
        assert (domain.jobs.state == JobState.COMPLETED).all()
        if domain.allocations is not None:
            assert busiest(domain.allocations) <= domain.nodes


def busiest(had: Allocations) -> int:
    """The most nodes that jobs had at once."""
    instants = np.concatenate([had.end, had.start])
    order = np.lexsort((np.repeat([0, 1], len(had.end)), instants))  # what ends comes first
    return int(np.cumsum(np.concatenate([-had.nodes, had.nodes])[order]).max())


def test_a_short_job_takes_the_nodes_of_a_longer_one_which_begins_anew():
    of = setup("a", [(0, 1000, 1000, 10), (10, 100, 100, 8), (20, 50, 50, 2)])
    domain = played([express(of, 100)]).domains["a"]
    rows = [(row, start, end, AllocationEnd(how)) for row, _, _, start, end, how in domain.allocations.rows()]
    assert rows == [
        (0, 0, 10, AllocationEnd.REQUEUED),
        (1, 10, 110, AllocationEnd.COMPLETED),
        (2, 20, 70, AllocationEnd.COMPLETED),
        (0, 110, 1110, AllocationEnd.COMPLETED),
    ]
    assert domain.counts == {"preempted": 1}


def some_setups(random: Random, kinds: Sequence[str]) -> tuple[list[DomainSetup], Pairing]:
    """Two domains of these kinds, with pairs."""
    schemes = [random.choice(["hold", "yield"]) for _ in kinds]
    domains = [
        fluid_exact.fluid_domain(random, name, fluid_exact.fluid_jobs(random, 12), scheme=scheme)
        if kind == "fluid"
        else ref_domain(random, name, some_jobs(random, 12), scheme=scheme)
        for name, kind, scheme in zip("AB", kinds, schemes, strict=True)
    ]
    setups = [fluid_exact.setup(domain) for domain in domains]
    pairing = pairing_of(some_pairs(random, domains, most=9), setups)
    return [
        express(each, random.choice([5, 20, 50])) if kind == "express" else each
        for each, kind in zip(setups, kinds, strict=True)
    ], pairing


@pytest.mark.parametrize("seed", seeds(5, 300))
@pytest.mark.parametrize("kinds", [("express", "express"), ("express", "batch"), ("fluid", "express")], ids="-".join)
def test_pairs_start_together_whoever_schedules(seed, kinds):
    for number in range(4):
        check_together(played(*some_setups(Random(f"{seed} {number} {kinds}"), kinds)))


@pytest.mark.parametrize("seed", seeds(5, 300))
def test_groups_start_together_whoever_schedules(seed):
    case, random = random_case(seed, ["hold", "yield"]), Random(f"kinds {seed}")
    setups = [
        express(of, random.choice([5, 20])) if random.random() < 0.6 else of for of in map(setup_of, case.domains)
    ]
    check_together(played(setups, pairing_of(case.pairs, setups, case.groups)))


@pytest.mark.parametrize("seed", seeds(5, 300))
def test_it_goes_on_where_it_was_after_a_restart(seed):
    random = Random(f"restarts {seed}")
    setups, pairing = some_setups(random, ("express", "batch"))
    restarted = [replace(setups[0], kind=RestartedKind()), setups[1]]
    one, other = played(setups, pairing), played(restarted, pairing)
    for name in ("start", "end"):
        assert np.array_equal(getattr(one.domains["A"].jobs, name), getattr(other.domains["A"].jobs, name))


def test_the_cases_have_jobs_that_lose_their_nodes():
    found = Counter()
    for seed in range(20):
        found += played(*some_setups(Random(seed), ("express", "batch"))).domains["A"].counts
    assert found["preempted"] > 5
