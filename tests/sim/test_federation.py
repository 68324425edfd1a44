"""Players that are led by the conductor give the schedule of the compiled loop, whoever plays which domain.

That live services do so, too, is shown in tests/sim/live.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched_sim.combinations import combinations
from cosched_sim.configuration import Domain, ReplayConfig
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.federation.core_player import CorePlayer
from cosched_sim.federation.cores import core_players
from cosched_sim.link import Link
from cosched_sim.replaying import NO_PAIRS, Replay
from cosched_sim.workload.pairing import Pairing, groups_at_random
from cosched_sim.world import World
from tests.reference import RefDomain
from tests.reference.meet_cases import CASES as BY_HAND
from tests.sim.exact import pairing_of, ref_domain, setup_of, some_jobs, some_pairs
from tests.sim.federated import casts, played, simulated
from tests.tiers import SEED, seeds

MONTH = (("intrepid", "partitioned:intrepid"), ("eureka", "flat"))
RARE = (
    13,  # has a case in which a dry run of one domain meets a job whose mate's domain does not coschedule
    101,  # has one in which a job's patience ends at the instant of its mate's submission
)
SCHEMES = [{"scheme": name} for name in ("hold", "hold", "yield", "yield", "off")]
MEETING = [
    {"scheme": "meet"}, {"scheme": "meet"}, {"scheme": "hold", "mate_budget": "0.5"},
    {"scheme": "yield", "slots": True}, *SCHEMES[1:4],
]  # fmt: skip


def some_case(rng: Random, schemes: Sequence[Mapping[str, object]] = SCHEMES):
    """Two or three domains with settings of all kinds, and their pairs."""
    names = "ABC"[: rng.choice([2, 2, 3])]
    domains = [_some_domain(rng, name, schemes) for name in names]
    setups = [_with_patience(rng, setup_of(domain)) for domain in domains]
    return setups, pairing_of(some_pairs(rng, domains, most=9), setups)


def _some_domain(rng: Random, name: str, schemes: Sequence[Mapping[str, object]]) -> RefDomain:
    chosen = {
        **rng.choice(schemes),
        "release_interval": rng.choice([0, 7, 7, 20, 60]),
        "release_order": rng.choice(["wanted", "wanted", "last"]),
    }
    return ref_domain(rng, name, some_jobs(rng, 12), **chosen)


def _with_patience(rng: Random, setup: DomainSetup) -> DomainSetup:
    patience = rng.choice([None, None, 0, 5, 30])
    return replace(setup, coscheduling=replace(setup.coscheduling, mate_patience=patience))


def check_all_casts(setups, pairing, what):
    """Whoever plays which domain, the schedule is that of the compiled loop; which is returned."""
    looped = simulated(setups, pairing)
    for stride in (1, 10):  # how far a run has come is told between two strides
        assert simulated(setups, pairing, stride) == looped, (what, stride)
    for cores in casts(setups):
        assert played(setups, pairing, cores) == looped, (what, cores)
    return looped


@pytest.mark.parametrize("seed", [*RARE, *seeds(0, 40)])
def test_who_plays_a_domain_makes_no_difference(seed):
    rng, actions = Random(seed), Counter()
    for number in range(50):
        setups, pairing = some_case(rng)
        looped = check_all_casts(setups, pairing, f"case {number}")
        for setup in setups:
            jobs, releases = looped[setup.name]
            actions.update(holds=sum(jobs["holds"]), yields=sum(jobs["yields"]), releases=releases)
    assert all(actions.values()), actions


@pytest.mark.parametrize("name", BY_HAND)
def test_who_plays_a_domain_makes_no_difference_in_the_cases_worked_out_by_hand(name):
    setups = [setup_of(domain) for domain in BY_HAND[name].domains()]
    check_all_casts(setups, pairing_of(BY_HAND[name].mates(), setups), name)


@pytest.mark.parametrize("seed", seeds(1, 40))
def test_who_plays_a_domain_that_meets_makes_no_difference(seed):
    rng = Random(f"meet {seed}")
    for number in range(50):
        check_all_casts(*some_case(rng, MEETING), f"case {number}")


@pytest.mark.soak
@pytest.mark.parametrize("schemes", combinations(2).values(), ids="-".join)
def test_who_plays_a_domain_makes_no_difference_in_a_generated_month(schemes):
    domains = tuple(Domain(name=name, trace=f"generated:{name}", node_pool=pool) for name, pool in MONTH)
    month = Replay(ReplayConfig(domains=domains, pair_window=600, seed=SEED))
    setups = [
        DomainSetup(domain.name, workload, domain.machine_settings(nodes), domain.coscheduling_settings())
        for domain, workload, nodes in zip(month.settings(schemes), month.workloads, month.nodes, strict=True)
    ]
    check_all_casts(setups, month.pairing, SEED)


def a_month():
    """Two domains with pairs."""
    rng = Random(SEED)
    domains = [ref_domain(rng, name, some_jobs(rng, 200), scheme="hold") for name in "AB"]
    setups = [setup_of(domain) for domain in domains]
    return setups, pairing_of(some_pairs(rng, domains, most=9), setups)


def counted(monkeypatch, owner: type, *names: str) -> Counter[str]:
    """How often these methods are called from now on."""
    calls: Counter[str] = Counter()
    for name in names:
        monkeypatch.setattr(owner, name, _counting(calls, name, getattr(owner, name)))
    return calls


def _counting(calls: Counter[str], name: str, method):
    def count(*arguments, **more):
        calls[name] += 1
        return method(*arguments, **more)

    return count


def test_players_are_asked_for_their_next_instants_only_after_something_has_happened_to_them(monkeypatch):
    setups, pairing = a_month()
    calls = counted(monkeypatch, CorePlayer, "_next", "_enter")
    played(setups, pairing, {"A", "B"})
    assert 0 < calls["_next"] <= calls["_enter"] + len(setups)


def test_the_rules_of_coscheduling_hear_of_no_job_without_a_mate(monkeypatch):
    setups, _ = a_month()
    calls = counted(monkeypatch, Coscheduler, "handle")
    assert played(setups, NO_PAIRS, {"A", "B"}) == simulated(setups, NO_PAIRS)
    assert not calls


def by_cores(setups, pairing):
    core_players(setups, pairing, {setup.name for setup in setups}, Link())


@pytest.mark.parametrize("begin", [World, by_cores])
def test_mates_are_named_in_one_pass_however_many_domains_there_are(monkeypatch, begin):
    setups, _ = a_month()
    many = [replace(setups[0], name=f"site{number}") for number in range(20)]
    pairing = groups_at_random([setup.workload for setup in many], "0.1", range(2, 6), 1)
    passes = counted(monkeypatch, Pairing, "named_by_domain")
    begin(many, pairing)
    assert passes.total() == 1
