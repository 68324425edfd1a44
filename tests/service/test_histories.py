"""Histories of two live domains with their databases: faults of the link, deaths at any point, recovery."""

from __future__ import annotations

import itertools
import random
from contextlib import ExitStack, contextmanager
from decimal import Decimal

import pytest

from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from tests.service.world import Faults, World
from tests.tiers import seeds, soaked

SCHEMES = list(itertools.product((Scheme.HOLD, Scheme.YIELD), repeat=2))
MEET = "meet"
PAIRS, ALONE = 8, 6
TOGETHER = ("asked by ", "its holding mate started", "its mate could start", "at its slot")


@contextmanager
def worlds(folder, kind: type[World]):
    """Makes worlds of this kind, and closes them."""
    with ExitStack() as made:

        def make(*arguments, **settings) -> World:
            new = new_world(folder, *arguments, kind=kind, **settings)
            made.callback(new.close)
            return new

        yield make


@pytest.fixture
def world(tmp_path):
    """Makes worlds."""
    with worlds(tmp_path, World) as make:
        yield make


def new_world(folder, seed: int, schemes, faults: Faults, *, kind: type[World], **settings) -> World:
    """Two machines of 10 nodes, pairs and other jobs, submitted over five minutes; all drawn from the seed.

    `schemes`: of each domain, or MEET.
    """
    made = kind(folder, seed, chosen("ab", schemes, **settings), faults)
    draw = random.Random(seed)
    for node in made.nodes.values():
        jobs = [f"p{n}" for n in range(PAIRS)] + [None] * ALONE
        draw.shuffle(jobs)
        for number, pair in enumerate(jobs, 1):
            at = 1000 + draw.randint(0, 300)
            submission = number, draw.randint(1, 8), draw.randint(1, 90), pair
            made.at(at, lambda node=node, submission=submission: node.submit(*submission))
            node.expected.add(str(number))
    return made


def chosen(domains: str, schemes, **settings) -> dict[str, CoschedulingSettings]:
    """What each domain has configured; its scheme may be MEET."""
    common = {"release_interval": 60, "max_held_fraction": Decimal("0.8"), "retry_interval": 1, **settings}
    meets = {"scheme": Scheme.YIELD, "slots": True}
    return {
        name: CoschedulingSettings(**(meets if scheme == MEET else {"scheme": scheme}), **common)
        for name, scheme in zip(domains, schemes, strict=True)
    }


def pairs_of(made: World) -> dict[str, dict[str, str]]:
    """By pair name: the job of each domain."""
    pairs: dict[str, dict[str, str]] = {}
    for name, node in made.nodes.items():
        for job in node.expected:
            record = node.store.job(int(job))
            if record is not None and record.pair is not None:
                pairs.setdefault(record.pair, {})[name] = job
    return pairs


def check_every_job_ran_once(made: World) -> None:
    assert made.is_over(), f"not over at {made.now}"
    for node in made.nodes.values():
        assert node.starts == dict.fromkeys(node.expected, 1)


def started_alone(made: World) -> list[str]:
    return [
        f"{name}{job}: {made.nodes[name].why.get(job)}"
        for pair in pairs_of(made).values()
        for name, job in pair.items()
        if not str(made.nodes[name].why.get(job, "its mate could start")).startswith(TOGETHER)
    ]


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(1, 26))
def test_without_faults_mates_start_at_the_same_instant(world, seed, schemes):
    made = world(seed, schemes, Faults())
    made.run()
    check_every_job_ran_once(made)
    for pair in pairs_of(made).values():
        assert len({made.nodes[name].started_at[job] for name, job in pair.items()}) == 1


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(1, 26))
def test_a_slow_link_delays_the_second_start_by_no_more_than_an_answer_takes(world, seed, schemes):
    made = world(seed, schemes, Faults(delay=3))
    made.run()
    check_every_job_ran_once(made)
    for pair in pairs_of(made).values():
        first, second = (made.nodes[name].started_at[job] for name, job in pair.items())
        assert abs(first - second) <= 3


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(1, 52))
def test_domains_are_killed_at_any_point_and_messages_are_lost_and_doubled(world, seed, schemes):
    """coscheduling.md, What must always hold, 1 and 5: no job starts twice, none is lost."""
    faults = Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03)
    made = world(seed, schemes, faults, peer_patience=20)
    made.run()
    check_every_job_ran_once(made)


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(1, 52))
def test_with_patience_enough_no_fault_lets_a_job_start_alone(world, seed, schemes):
    """2: where mates do not start together, a fault was in force; here no job gives up on its mate for one."""
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30)
    patient = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_patience": 10**6}
    made = world(seed, schemes, faults, **patient)
    made.run()
    check_every_job_ran_once(made)
    assert started_alone(made) == []


def first_acquaintance(made: World) -> None:
    """Both have been there once before the first fault."""
    for name, node in made.nodes.items():
        for other in made.others(name):
            node.domain.presence.answers(other, True)


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", soaked(range(15), 1))
def test_no_pair_comes_apart_if_every_outage_is_within_the_grace(world, seed, schemes):
    """Issue 10: "No pair comes apart because a service restarts or is busy." Here jobs start if a peer is away.

    An outage lasts at most 30 s; but a domain may be down whenever the other one is up, a few times in a row.
    """
    made = world(seed, schemes, Faults(), peer_grace=random.Random(seed).choice([120, 300, 600]))
    first_acquaintance(made)
    made.faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30, goodbye=0.5, busy=0.05)
    made.run()
    check_every_job_ran_once(made)
    assert started_alone(made) == []


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", soaked(range(5), 1))
def test_when_a_peer_stays_away_its_mates_start_alone_after_the_grace(world, seed, schemes):
    made = world(seed, schemes, Faults(), peer_grace=120)
    first_acquaintance(made)
    made.at(1100, made.nodes["b"].end_for_good)
    made.run(until=5000)
    alone = [job for job, why in made.nodes["a"].why.items() if why == "PeerUnreachable"]
    assert alone
    assert min(made.nodes["a"].started_at[job] for job in alone) >= 1100 + 120
    assert made.nodes["a"].is_over()


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", soaked(range(5), 1))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, schemes):
    """Jobs run once though turns are lost: what was launched, answered and promised had been brought to disk."""
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.03, power=0.7, sync=3)
    made = world(seed, schemes, faults, peer_patience=20)
    made.run()
    check_every_job_ran_once(made)


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", soaked(range(4), 1))
def test_with_patience_enough_no_power_failure_lets_a_job_start_alone(world, seed, schemes):
    """A call that was taken back may have started the mate: the job starts when its domain is there again, late."""
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30, power=0.7, sync=3)
    patient = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_patience": 10**6}
    made = world(seed, schemes, faults, **patient)
    made.run()
    check_every_job_ran_once(made)
    assert [alone for alone in started_alone(made) if "its mate started before it" not in alone] == []
