"""Groups of more than two jobs in replays (coscheduling.md): all members start together, whatever the schemes."""

import random
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from cosched.core.coscheduling.allocations import Allocations
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.engine import Engine
from cosched_sim.replaying import NO_PAIRS
from cosched_sim.results.wording import groups_line
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Group, Pairing
from tests.sim.exact import collected
from tests.sim.federated import casts, played, simulated
from tests.tiers import SEED, soaked

NODES = 10
WINDOWS = [(0, 0), (0, 100), (-60, 60), (30, 30), (500, 600), (-200, -100)]


def workload(jobs: list[tuple[int, int, int, int]]) -> Workload:
    """Jobs of (submit, run, requested, nodes)."""
    submit, run, requested, nodes = (np.array(column, np.int64) for column in zip(*jobs, strict=True))
    return Workload("made", np.arange(1, len(jobs) + 1), submit, run, nodes, requested)


def setup(name: str, jobs: list[tuple[int, int, int, int]], **settings: object) -> DomainSetup:
    cluster = ClusterSettings(NODES, parse_ordering("fcfs"), BACKFILLING[str(settings.pop("backfilling", "easy"))])
    quiet = {"release_jitter": Decimal(0), "max_held_fraction": Decimal(1)}
    return DomainSetup(name, workload(jobs), cluster, CoschedulingSettings(**{**quiet, **settings}))


def pairing(groups: list[Group]) -> Pairing:
    return Pairing(NO_PAIRS.row, NO_PAIRS.domain, NO_PAIRS.job, groups=tuple(groups))


def starts(setups: list[DomainSetup], groups: list[Group]) -> tuple[list[list[int]], bool]:
    """When each job started, by domain, and whether only releases were left that changed nothing."""
    engine = Engine(setups, pairing(groups))
    engine.run()
    return [engine.rows(domain)["start"].tolist() for domain in range(len(setups))], engine.stalled


def random_case(seed: int) -> tuple[list[DomainSetup], list[Group]]:
    """Three to five domains, with jobs in groups and without, that hold and yield, under any backfilling."""
    draw = random.Random(seed)
    domains = range(draw.choice([3, 3, 4, 5]))
    jobs: list[list[tuple[int, int, int, int]]] = [[] for _ in domains]
    marks: list[list[int]] = [[] for _ in domains]  # the group of each job; 0: none
    members = [draw.sample(domains, draw.randrange(3, len(domains) + 1)) for _ in range(draw.randrange(1, 8))]
    for domain in domains:
        wanted = [number for number, of in enumerate(members, 1) if domain in of] + [0] * draw.randrange(8)
        for submit, number in sorted((draw.randrange(300), number) for number in wanted or [0]):
            run = draw.randrange(20, 200)
            jobs[domain].append((submit, run, run + draw.choice([0, 0, 50]), draw.randrange(1, NODES + 1)))
            marks[domain].append(number)
    groups = [
        Group(number, tuple((domain, marks[domain].index(number)) for domain in sorted(of)))
        for number, of in enumerate(members, 1)
    ]
    return [_random_setup(f"domain{domain}", jobs[domain], draw) for domain in domains], groups


def _random_setup(name: str, jobs: list[tuple[int, int, int, int]], draw: random.Random) -> DomainSetup:
    return setup(
        name,
        jobs,
        backfilling=draw.choice(list(BACKFILLING)),
        scheme=draw.choice([Scheme.HOLD, Scheme.HOLD, Scheme.YIELD]),
        release_interval=draw.choice([100, 600]),
        release_jitter=Decimal("0.25"),
        max_held_fraction=Decimal(draw.choice(["0.5", "1", "1"])),
    )


def apart(seed: int) -> list[Group]:
    """The groups of a random case whose members did not all start together, and whether nothing went on."""
    setups, groups = random_case(seed)
    found, _ = starts(setups, groups)
    by_group = {group: {found[domain][job] for domain, job in group.members} for group in groups}
    return [group for group, instants in by_group.items() if len(instants) > 1 or min(instants) < 0]


@pytest.mark.parametrize("seeds", soaked([range(25), range(SEED * 10_000, SEED * 10_000 + 5_000)], 1))
def test_all_groups_start_together(seeds):
    assert [seed for seed in seeds if apart(seed)] == []


def differing(seed: int) -> list[frozenset[str]]:
    """Which domains of a random case, some of which meet, core players play in another way than the compiled loop."""
    setups, groups = random_case(seed)
    draw = random.Random(seed)
    share = draw.choice([0.3, 0.9])
    setups = [meeting(setup) if draw.random() < share else setup for setup in setups]
    if draw.random() < 0.3:
        setups[0] = replace(setups[0], coscheduling=replace(setups[0].coscheduling, scheme=Scheme.OFF))
    found = simulated(setups, pairing(groups))
    some = list(casts(setups))
    return [cast for cast in draw.sample(some, 2) + some[-1:] if played(setups, pairing(groups), cast) != found]


def meeting(setup: DomainSetup) -> DomainSetup:
    cluster = replace(setup.cluster, mate_budget=Decimal("0.5"), slots=True)
    return replace(setup, cluster=cluster, coscheduling=replace(setup.coscheduling, slots=True, scheme=Scheme.YIELD))


@pytest.mark.parametrize("seeds", soaked([range(10), range(SEED * 10_000, SEED * 10_000 + 1_000)], 1))
def test_whoever_plays_a_domain_groups_start_at_the_same_instants(seeds):
    assert [seed for seed in seeds if differing(seed)] == []


def with_windows(seed: int) -> tuple[list[DomainSetup], Pairing]:
    """A random case of domains that meet; the members of its groups have windows, but for one."""
    setups, groups = random_case(seed)
    draw = random.Random(seed)
    sizes = [len(group.members) for group in groups]
    chosen = [draw.sample([(0, 0), *draw.choices(WINDOWS, k=size - 1)], size) for size in sizes]
    given = [group._replace(windows=tuple(windows)) for group, windows in zip(groups, chosen, strict=True)]
    return [meeting(setup) for setup in setups], pairing(given)


def differs_with_windows(seed: int) -> bool:
    setups, groups = with_windows(seed)
    found = simulated(setups, groups)
    some = list(casts(setups))
    return any(played(setups, groups, cast) != found for cast in random.Random(seed).sample(some, 2) + some[-1:])


@pytest.mark.parametrize("seeds", soaked([range(10), range(SEED * 10_000, SEED * 10_000 + 1_000)], 1))
def test_whoever_plays_a_domain_members_start_within_their_windows_at_the_same_instants(seeds):
    assert [seed for seed in seeds if differs_with_windows(seed)] == []


def test_a_group_has_started_together_if_each_job_has_started_within_its_window():
    jobs = [(0, 10, 10, 1)]
    setups = [meeting(setup(name, jobs)) for name in "ABC"]
    engine = Engine(setups, pairing([Group(1, ((0, 0), (1, 0), (2, 0)), ((0, 0), (60, 90), (-5, 0)))]))
    engine.run()
    result = collected(engine)
    assert [int(result.domains[name].jobs.start[0]) for name in "ABC"] == [0, 60, 0]
    counts = {"groups": 1, "members": 3, "with_windows": 1, "together": 1, "desynchronised": 0, "never": 0}
    assert counts.items() <= result.groups.items()
    assert groups_line(result.groups) == "groups: 1 of 1 (3 jobs) started together, or within their windows"
    result.domains["B"].jobs.start[0] = 100
    late = replace(result).groups
    assert (late["desynchronised"], late["gap_s"]["max"]) == (1, 10)


def test_a_group_with_windows_needs_slots_in_all_domains():
    setups = [meeting(setup("A", [(0, 10, 10, 1)])), setup("B", [(0, 10, 10, 1)])]
    message = "^row 1 of the pairs has windows or an instant, which need slots in B: slots=on$"
    with pytest.raises(ValueError, match=message):
        Engine(setups, pairing([Group(1, ((0, 0), (1, 0)), ((0, 0), (60, 60)))]))


def test_members_start_when_the_last_of_them_can():
    """A holds from 0; B yields, and can start any time; C's nodes are free at 100."""
    a = setup("A", [(0, 50, 50, 4)], scheme=Scheme.HOLD)
    b = setup("B", [(10, 50, 50, 4)], scheme=Scheme.YIELD)
    c = setup("C", [(0, 100, 100, 10), (20, 50, 50, 4)], scheme=Scheme.HOLD)
    assert starts([a, b, c], [Group(1, ((0, 0), (1, 0), (2, 1)))]) == ([[100], [100], [0, 100]], False)


def test_nobody_starts_while_one_cannot():
    """Not half a group: B's member could start at 20, and C's not before 100."""
    a = setup("A", [(20, 50, 50, 4)], scheme=Scheme.YIELD)
    b = setup("B", [(10, 50, 50, 4), (30, 500, 500, 8)], scheme=Scheme.YIELD)
    c = setup("C", [(0, 100, 100, 10), (20, 50, 50, 4)], scheme=Scheme.YIELD)
    found, _ = starts([a, b, c], [Group(1, ((0, 0), (1, 0), (2, 1)))])
    assert found == [[530], [530, 30], [0, 530]]


def test_members_with_slots_start_together_early():
    """All are queuing and ready at 20: A's nodes are free at 100 at the latest, B's at 150; in fact at 60 and 70."""
    a = meeting(setup("A", [(0, 60, 100, 10), (10, 50, 50, 4)]))
    b = meeting(setup("B", [(0, 70, 150, 10), (10, 50, 50, 4)]))
    c = meeting(setup("C", [(20, 50, 50, 4)]))
    d = meeting(setup("D", [(20, 50, 50, 4)], scheme=Scheme.YIELD))
    found, _ = starts([a, b, c, d], [Group(1, ((0, 1), (1, 1), (2, 0), (3, 0)))])
    assert found == [[0, 70], [0, 70], [70], [70]]


def test_a_domain_without_coscheduling_is_no_member():
    a = setup("A", [(0, 50, 50, 4)], scheme=Scheme.HOLD)
    b = setup("B", [(10, 50, 50, 4)], scheme=Scheme.HOLD)
    c = setup("C", [(0, 100, 100, 10), (20, 50, 50, 4)], scheme=Scheme.OFF)
    assert starts([a, b, c], [Group(1, ((0, 0), (1, 0), (2, 1)))])[0] == [[10], [10], [0, 100]]


@pytest.mark.parametrize("seed", soaked([13, 20, 50], 1))  # three of the 32 such cases among seeds 0 to 399
def test_groups_that_do_not_give_way_wait_for_each_other_for_ever(monkeypatch, seed):
    """Three groups share three domains that hold; each has nodes that another one needs. Timers do not help."""
    assert not stand_still(seed)
    monkeypatch.setattr(Allocations, "_gives_way", lambda self, group, now: False)  # noqa: ARG005
    assert stand_still(seed)


def stand_still(seed: int) -> bool:
    """Whether some of three groups never starts, all of whose domains hold."""
    draw = random.Random(seed)
    jobs = [[(draw.randrange(300), 50, 50, draw.randrange(4, 10)) for _ in range(3)] for _ in range(3)]
    orders = [draw.sample(range(3), 3) for _ in range(3)]
    groups = [Group(number + 1, tuple((d, orders[d][number]) for d in range(3))) for number in range(3)]
    intervals = [draw.choice([100, 600]) for _ in range(3)]
    setups = [setup("ABC"[d], sorted(jobs[d]), scheme=Scheme.HOLD, release_interval=intervals[d]) for d in range(3)]
    found, stalled = starts(setups, groups)
    return stalled or any(-1 in of for of in found)
