"""Whoever schedules: mates start together, a restart changes no schedule, nor does who plays a domain."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from random import Random
from types import SimpleNamespace

import pytest

from cosched.core.settings import Scheme
from cosched_sim.workload.allocations import AllocationEnd
from tests.papers.fluid.fluid_exact import made_fluid
from tests.papers.fluid.fluid_exact import setup as fluid_setup
from tests.papers.together import molded, setup, unlike
from tests.reference import RefDomain, RefJob
from tests.sim.exact import pairing_of, setup_of, some_pairs
from tests.sim.group_cases import Case, random_case
from tests.sim.schedulers.together import check_together, express, opened, played, restarted, schedule, watched
from tests.tiers import seeds

KINDS = ("batch", "fluid", "express", "molding", "heterogeneous")
WITHOUT_SLOTS = ("express", "molding")


def coupled(random: Random, kinds: tuple[str, str], *meet: str):
    """Two domains of these kinds, and their pairs; who gives no slots meets as it can."""
    schemes = [random.choice(["hold", "yield", *(meet if kind not in WITHOUT_SLOTS else ())]) for kind in kinds]
    setups = [setup(random, *each, scheme=chosen) for *each, chosen in zip("AB", kinds, schemes, strict=True)]
    domains = [
        SimpleNamespace(name=of.name, jobs=[SimpleNamespace(job_id=int(job)) for job in of.workload.job_id])
        for of in setups
    ]
    return setups, pairing_of(some_pairs(random, domains, most=9), setups)


@pytest.mark.parametrize("seed", seeds(1, 200))
@pytest.mark.parametrize("kinds", list(combinations_with_replacement(KINDS, 2)), ids="-".join)
def test_pairs_start_together(kinds, seed):
    """And what must always hold does after every event."""
    for number in range(8):
        players = watched(*coupled(Random(f"{seed} {number} {kinds}"), kinds, "meet", "meet"))
        assert all(player.checks for player in players)


@pytest.mark.parametrize("seed", seeds(1, 200))
@pytest.mark.parametrize("kind", KINDS)
def test_a_domain_that_does_not_coschedule_is_scheduled_as_if_alone(kind, seed):
    random = Random(f"off {seed} {kind}")
    for _ in range(4):
        setups, pairing = coupled(random, (kind, "batch"))
        off = [replace(setups[0], coscheduling=replace(setups[0].coscheduling, scheme=Scheme.OFF)), setups[1]]
        linked, alone = (result.domains["A"].jobs for result in (played(off, pairing), played(off[:1])))
        assert (linked.start.tolist(), linked.end.tolist()) == (alone.start.tolist(), alone.end.tolist())


@pytest.mark.parametrize("seed", seeds(3, 300))
def test_groups_start_together(seed):
    of_kinds(random_case(seed, ["hold", "yield"]), Random(f"kinds {seed}"), KINDS)


@pytest.mark.parametrize("windows", [(), ((0, 0), (0, 10), (-30, 30), (5, 20))], ids=["at once", "windows"])
@pytest.mark.parametrize("seed", seeds(3, 500))
def test_groups_meet(seed, windows):
    case = random_case(seed, ["meet"], windows)
    for domain in case.domains:
        domain.slots = True
    of_kinds(case, Random(f"meet {seed}"), ("batch", "fluid", "heterogeneous"))


def of_kinds(case: Case, random: Random, kinds: Sequence[str]) -> None:
    """Play the domains of a case with schedulers of these kinds."""
    setups = []
    for domain in case.domains:
        kind = random.choice(kinds)
        resizable = made_fluid(random, domain)
        resizable.slots = domain.slots
        made = fluid_setup(resizable) if kind == "fluid" else setup_of(domain)
        made = express(made, random.choice([5, 20])) if kind == "express" else made
        made = unlike(made, random) if kind == "heterogeneous" else made
        setups.append(molded(made, random) if kind == "molding" else made)
    check_together(played(setups, pairing_of(case.pairs, setups, case.groups, case.windows)))


@pytest.mark.parametrize("seed", seeds(1, 200))
@pytest.mark.parametrize("kind", KINDS)
def test_jobs_go_on_where_they_were_after_a_restart(kind, seed):
    random = Random(f"restarts {seed} {kind}")
    for _ in range(4):
        setups, pairing = coupled(random, (kind, "batch"))
        if kind == "fluid":  # a head of its queue is not tried again
            rules = replace(setups[0].cluster, max_harvests=None, protect_age=0, benefit=False)
            setups[0] = replace(setups[0], cluster=rules)
        again = [replace(setups[0], kind=restarted(opened(setups[0].kind))), setups[1]]
        assert schedule(played(again, pairing)) == schedule(played(setups, pairing))


@pytest.mark.parametrize("most", [12, 400])
@pytest.mark.parametrize("seed", seeds(1, 200))
@pytest.mark.parametrize("kind", ["batch", "fluid"])
def test_a_trace_is_played_alone_as_by_a_scheduler_that_is_open_to_the_future(kind, seed, most):
    """Also though its rows are assigned again."""
    of = setup(Random(f"alone {seed} {kind}"), "A", kind, most)
    one, other = played([of]), played([replace(of, kind=opened(of.kind))])
    assert schedule(one) == schedule(other)
    assert one.domains["A"].metrics == other.domains["A"].metrics
    assert in_order(one.events) == in_order(other.events)


def in_order(events):
    """What happens at one instant to several jobs is told in any order."""
    return sorted(events, key=lambda event: (event["time"], event["job"]))


def test_a_short_job_takes_the_nodes_of_a_longer_one_which_begins_anew():
    """The example."""
    jobs = [RefJob(1, 0, 1000, 1000, 8), RefJob(2, 10, 100, 100, 6), RefJob(3, 20, 50, 50, 2)]
    domain = played([express(setup_of(RefDomain("A", 8, jobs)), 100)]).domains["A"]
    rows = [(row, start, end, AllocationEnd(how)) for row, _, _, start, end, how, *_ in domain.allocations.rows()]
    assert rows == [
        (0, 0, 10, AllocationEnd.REQUEUED),
        (1, 10, 110, AllocationEnd.COMPLETED),
        (2, 20, 70, AllocationEnd.COMPLETED),
        (0, 110, 1110, AllocationEnd.COMPLETED),
    ]
    assert domain.counts == {"preempted": 1}


def test_the_cases_have_jobs_that_lose_their_nodes():
    found = Counter()
    for seed in range(20):
        found += played(*coupled(Random(seed), ("express", "batch"))).domains["A"].counts
    assert found["preempted"] > 5
