"""Groups of more than two jobs start as in the slow reference, job for job."""

import math
from collections import Counter
from decimal import Decimal

import pytest

from cosched_sim.workload.pairing import pairs_by_fraction
from tests.reference import World, simulate
from tests.reference.group_meet_cases import CASES as BY_HAND
from tests.sim.exact import jobs_of, ref_domain_of, run_production
from tests.sim.group_cases import NEVER, Case, random_case, reference, with_other_timers
from tests.tiers import SEED, soaked

CASES = [range(8), range(SEED * 10_000, SEED * 10_000 + 2_000)]  # of each mixture: in the short tier, and in soak
MIXTURES = [("hold",), ("yield",), ("hold", "yield"), ("hold", "off"), ("yield", "off"), ("hold", "yield", "off")]
MIXTURES += [("meet",), ("meet", "off"), ("meet", "meet", "meet", "hold", "yield", "off"), ("meet", "slots", "slots")]
SETTINGS_WITH_SLOTS = [("meet",), ("slots",), ("meet", "slots")]
INSTANTS = range(20, 1_000)
WINDOWS_OF_MEMBERS = [(0, 0), (0, 0), (0, 10), (-30, 30), (10, 10), (100, 100), (-10, 0), (-100, -90), (5, 20)]
# How often it happens in two thousand cases, at least.
EXERCISED = {"groups": 3_000, "pairs": 800, "started": 3_000, "refused": 3_000}
HOLDS = {"holds": 3_000, "released": 1_000, "gave way": 100}
SLOTS = {"slots": 2_000, "moves": 2_000}

LOGS = ["KTH-SP2-1996-2", "SDSC-SP2-1998.first5000", "CTC-SP2-1996-3.1-cln.nowait"]
NUMBER = 250  # of jobs of each
SCHEMES = [("hold", "yield", "hold"), ("hold",) * 3, ("yield",) * 3, ("meet",) * 3]


def check(seeds: range, exercised: dict[str, int], schemes: tuple[str, ...], *more: object) -> None:
    """Random cases are scheduled as in the reference, and what is to happen in two thousand of them does."""
    seen = Counter()
    for seed in seeds:
        case = random_case(seed, schemes, *more)
        expected, happened = reference(case)
        seen += happened
        assert run_production(*case) == expected, seed
    for what, least in exercised.items():
        assert seen[what] >= least * len(seeds) // 2_000, seen


@pytest.mark.parametrize("schemes", MIXTURES, ids="-".join)
@pytest.mark.parametrize("seeds", soaked(CASES, 1), ids=["short", "soak"])
def test_random_workloads(schemes, seeds):
    planned = {"meet", "slots"}
    holds = HOLDS if "hold" in schemes and not planned & {*schemes} else {}
    check(seeds, EXERCISED | holds | (SLOTS if planned >= {*schemes} else {}), schemes)


@pytest.mark.parametrize("schemes", SETTINGS_WITH_SLOTS, ids="-".join)
@pytest.mark.parametrize("seeds", soaked(CASES, 1), ids=["short", "soak"])
def test_random_workloads_with_windows(schemes, seeds):
    exercised = {"groups": 5_000, "started": 5_000, "slots": 4_000, "moves": 1_000}
    check(seeds, exercised, schemes, WINDOWS_OF_MEMBERS)


@pytest.mark.parametrize("schemes", SETTINGS_WITH_SLOTS, ids="-".join)
@pytest.mark.parametrize("seeds", soaked(CASES, 1), ids=["short", "soak"])
def test_random_workloads_with_given_instants(schemes, seeds):
    """coscheduling.md: "A fixed instant (a beam time, a shot) is a member without a cluster: --at TIME, T is given"."""
    exercised = {"groups": 5_000, "started": 2_000, "slots": 2_000, "passed": 2_000}
    check(seeds, exercised, schemes, WINDOWS_OF_MEMBERS[:6], INSTANTS)


@pytest.mark.parametrize("seeds", soaked(CASES, 1), ids=["short", "soak"])
def test_holds_without_end_and_released_jobs_last(seeds):
    """Workloads that end: with either, groups can wait on each other for ever."""
    ended = 0
    for seed in seeds:
        case = with_other_timers(random_case(seed, ("hold", "yield")), seed)
        world = World(case.domains, case.pairs, large=case.groups)
        world.run(NEVER)
        if world.next_time() == math.inf:
            ended += 1
            assert run_production(*case) == world.outcomes(), seed
    assert ended > 0.8 * len(seeds)


@pytest.mark.parametrize("name", BY_HAND)
def test_the_cases_worked_out_by_hand(name):
    case = BY_HAND[name]
    given = case.groups(), case.windows(), case.instants()
    groups, windows, instants = given
    expected = simulate(case.domains(), case.mates(), groups=groups, windows=windows, instants=instants)
    assert run_production(case.domains(), case.mates(), *given) == expected


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 0), ids="-".join)
def test_real_logs(traces, schemes):
    works, nodes = zip(*(jobs_of(traces / f"{log}.swf.gz", NUMBER) for log in LOGS), strict=True)
    pairing = pairs_by_fraction(works, Decimal("0.1"), 1)
    domains = [
        ref_domain_of(*of, policy=policy, scheme=scheme)
        for *of, policy, scheme in zip("ABC", works, nodes, ("wfp", "fcfs", "fcfs"), schemes, strict=True)
    ]
    large = {
        str(group.row): [("ABC"[domain], int(works[domain].job_id[row])) for domain, row in group.members]
        for group in pairing.groups
    }
    case = Case(domains, [], large)
    expected, seen = reference(case, float("inf"))
    assert seen["groups"] == seen["started"] == NUMBER // 10
    assert seen["refused"] > 0
    assert run_production(*case) == expected
