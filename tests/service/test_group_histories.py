"""Histories of live domains with groups: three domains, faults of the link, deaths at any point, recovery.

groups.md, What must hold: no member starts by a proposal that another one has not booked, unless a fault was in force
and the record says so; nothing is held for ever.
"""

from __future__ import annotations

import random

import pytest

from cosched.core.settings import OnUnreachable, Scheme
from tests.service.test_histories import check_every_job_ran_once, chosen, first_acquaintance
from tests.service.world import Faults, World
from tests.tiers import seeds, soaked

HOLD, YIELD = Scheme.HOLD, Scheme.YIELD
SCHEMES = [
    (HOLD, HOLD, YIELD), (HOLD, YIELD, YIELD), (HOLD, HOLD, HOLD), (YIELD, YIELD, YIELD), (YIELD, HOLD, HOLD),
    (YIELD, YIELD, HOLD),
]  # fmt: skip
GROUPS, ALONE = 6, 5
UNTIL = 60_000  # seconds; more than any history needs
TOGETHER = ("all members of its group are booked", "asked by ", "at its slot")


@pytest.fixture
def world(tmp_path):
    """Makes worlds, and closes them."""
    made: list[World] = []

    def make(*arguments, **settings) -> World:
        made.append(new_world(tmp_path, *arguments, **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


def new_world(folder, seed: int, schemes, faults: Faults, *, kind: type[World] = World, **settings) -> World:
    """Three machines of 10 nodes, groups and other jobs, submitted over five minutes; all drawn from the seed."""
    made = kind(folder, seed, chosen("abc", schemes, **settings), faults)
    draw = random.Random(seed)
    for node in made.nodes.values():
        jobs = [f"g{n}" for n in range(GROUPS)] + [None] * ALONE
        draw.shuffle(jobs)
        for number, group in enumerate(jobs, 1):
            at = 1000 + draw.randint(0, 300)
            submission = number, draw.randint(1, 8), draw.randint(1, 90), None, group
            made.at(at, lambda node=node, submission=submission: node.submit(*submission))
            node.expected.add(str(number))
    return made


def groups_of(made: World) -> dict[str, dict[str, str]]:
    """By name: the job of each domain."""
    groups: dict[str, dict[str, str]] = {}
    for name, node in made.nodes.items():
        for job in node.expected:
            record = node.store.job(int(job))
            if record is not None and record.group_name is not None:
                groups.setdefault(record.group_name, {})[name] = job
    return groups


def check_nothing_is_left(made: World) -> None:
    """Every job ran once, no node is held, no job is booked, and nobody has to be told of a decision."""
    check_every_job_ran_once(made)
    for node in made.nodes.values():
        assert node.domain.core.ledger.held_nodes == 0
        assert node.domain.scheduler.free == 10
        assert all(job.group is None or job.group.booking is None for job in node.domain.core.jobs.values())


def apart(made: World) -> list[str]:
    """The members of groups that did not start with their group."""
    return [
        f"{name}{job}: {made.nodes[name].why.get(job)}"
        for group in groups_of(made).values()
        for name, job in group.items()
        if not str(made.nodes[name].why.get(job, "asked by ")).startswith(TOGETHER)
    ]


def started_by(made: World) -> dict[str, set[str]]:
    """The proposals by which the members of each group have started."""
    return {
        name: {
            made.nodes[domain].store.job(int(job)).memory["group"].get("started_by", "")
            for domain, job in group.items()
        }
        for name, group in groups_of(made).items()
    }


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 2))
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_without_faults_groups_start_at_the_same_instant(world, seed, schemes):
    made = world(seed, schemes, Faults())
    made.run(until=UNTIL)
    check_nothing_is_left(made)
    assert apart(made) == []
    for group in groups_of(made).values():
        assert len({made.nodes[name].started_at[job] for name, job in group.items()}) == 1


def test_members_that_yield_do_not_ask_each_other_again_and_again_at_one_instant(world):
    made = world(2, (YIELD, YIELD, YIELD), Faults())
    made.run(until=UNTIL)


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 1))
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_a_slow_link_delays_a_start_by_no_more_than_a_call_takes(world, seed, schemes):
    made = world(seed, schemes, Faults(delay=3))
    made.run(until=UNTIL)
    check_nothing_is_left(made)
    for group in groups_of(made).values():
        started = [made.nodes[name].started_at[job] for name, job in group.items()]
        assert max(started) - min(started) <= 3


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 2))
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_domains_are_killed_at_any_point_and_messages_are_lost_and_doubled(world, seed, schemes):
    """No job starts twice, none is lost, none waits for ever."""
    faults = Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03)
    made = world(seed, schemes, faults, peer_patience=20)
    made.run(until=UNTIL)
    check_nothing_is_left(made)


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 1))
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_with_patience_enough_no_fault_parts_a_group(world, seed, schemes):
    """All members start by one proposal, whatever is lost, and whoever dies."""
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30)
    patient = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_grace": 10**6}
    made = world(seed, schemes, Faults(), **patient)
    first_acquaintance(made)
    made.faults = faults
    made.run(until=UNTIL)
    check_nothing_is_left(made)
    assert apart(made) == []
    assert all(len(proposals) == 1 and proposals != {""} for proposals in started_by(made).values())


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 0))
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, schemes):
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.03, outage=30, power=0.7, sync=3)
    patient = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_grace": 10**6}
    made = world(seed, schemes, Faults(), **patient)
    first_acquaintance(made)
    made.faults = faults
    made.run(until=UNTIL)
    check_nothing_is_left(made)
    assert apart(made) == []
