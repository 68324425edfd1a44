"""Histories of two live domains of which one or both meet: faults of the link, deaths at any point, recovery.

Beside what `test_histories` asks for: a slot is known to the core and to the scheduler alike; none is kept for ever.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from cosched.core.coscheduling.mates import WAITING
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from tests.service.outside import TIMEOUT, Killed
from tests.service.test_histories import MEET, check_every_job_ran_once, pairs_of, started_alone, worlds
from tests.service.world import Faults, Node, World
from tests.tiers import seeds, soaked

OTHERS = [MEET, Scheme.HOLD, Scheme.YIELD, Scheme.OFF]


class MeetingWorld(World):
    """Looks at all slots after everything that happens."""

    def __init__(self, *arguments) -> None:
        self.slots: Counter[str] = Counter()
        super().__init__(*arguments)

    def at(self, instant, act) -> None:
        def act_and_look() -> None:
            act()
            for node in self.nodes.values():
                if node.domain is not None:
                    self._look(node)

        super().at(instant, act_and_look)

    def _look(self, node) -> None:
        domain = node.domain
        for job in domain.jobs:
            paired = domain.core.jobs[job]
            if job in domain.scheduler:
                assert domain.scheduler.job(job).kept.get("slot") == paired.slot, (node.name, job)
            if paired.slot is not None:
                self.slots[f"{node.name}{job}"] += 1
                assert paired.state in WAITING
                # It is claimed for as long as patience lasts, and the mate's domain is asked for as long again; both
                # from the next start on, if the domain was down (a power failure may take back that the slot ended).
                patience = 2 * (node.settings.peer_patience + self.faults.delay + TIMEOUT)
                assert self.now <= max(paired.slot, node.began) + patience, (node.name, job)


@pytest.fixture
def world(tmp_path):
    """Makes worlds."""
    with worlds(tmp_path, MeetingWorld) as make:
        yield make


def start_apart(made: World) -> list[str]:
    """The pairs whose jobs have not started at one instant."""
    started = {
        name: {made.nodes[node].started_at[job] for node, job in pair.items()} for name, pair in pairs_of(made).items()
    }
    return [name for name, instants in started.items() if len(instants) > 1]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("seed", seeds(1, 25))
def test_without_faults_mates_start_at_the_same_instant(world, seed, other):
    made = world(seed, (MEET, other), Faults())
    made.run()
    check_every_job_ran_once(made)
    assert not start_apart(made) or other is Scheme.OFF
    assert other == MEET or not made.slots


@pytest.mark.parametrize("delay", [3, 20])
@pytest.mark.parametrize("seed", seeds(1, 25))
def test_a_slow_link_delays_the_second_start_by_no_more_than_an_answer_takes(world, seed, delay):
    made = world(seed, (MEET, MEET), Faults(delay=delay), peer_patience=60)
    made.run()
    check_every_job_ran_once(made)
    for pair in pairs_of(made).values():
        first, second = (made.nodes[name].started_at[job] for name, job in pair.items())
        assert abs(first - second) <= delay


def check_every_start_was_counted(made: World) -> None:
    """Once, in memory and on disk, whatever has failed; if the domain has a budget."""
    for node in made.nodes.values():
        kept = [starts for _, _, starts in node.store.starts()]
        assert sum(starts.started for starts in kept) == len(node.expected) * node.settings.slots
        assert kept == [*node.domain.scheduler.starts.by_owner(made.now).values()]  # all in one hour, of one owner


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("seed", seeds(1, 50))
def test_domains_are_killed_at_any_point_and_messages_are_lost_and_doubled(world, seed, other):
    """coscheduling.md, What must always hold, 1 and 5: no job starts twice, none is lost."""
    faults = Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03)
    made = world(seed, (MEET, other), faults, peer_patience=20)
    made.run()
    check_every_job_ran_once(made)
    check_every_start_was_counted(made)


@pytest.mark.parametrize("other", OTHERS[:3])
@pytest.mark.parametrize("seed", seeds(1, 50))
def test_with_patience_enough_no_fault_lets_a_job_start_alone(world, seed, other):
    """2: where mates do not start together, a fault was in force; here no job gives up on its mate for one."""
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30)
    patient = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_patience": 10**5}  # so long a slot outlives a lost drop
    made = world(seed, (MEET, other), faults, **patient)
    made.run()
    check_every_job_ran_once(made)
    assert started_alone(made) == []


@pytest.mark.parametrize("seed", seeds(1, 25))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed):
    """Jobs run once though turns are lost: what was launched, answered and promised had been brought to disk."""
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.03, power=0.7, sync=3)
    made = world(seed, (MEET, MEET), faults, peer_patience=20)
    made.run()
    check_every_job_ran_once(made)
    check_every_start_was_counted(made)


def die_at(node: Node, step: int) -> Callable[[], int]:
    """Have a domain die at this step, a thing that it does outside or writes; returns how many there were so far."""
    steps = itertools.count(1)
    done = [0]

    def may_die() -> None:
        done[0] = next(steps)
        if done[0] == step:
            raise Killed

    node.may_die = may_die
    return lambda: done[0]


def agree_on_a_slot(made: World, runs: int) -> None:
    """Job 1 of a is ready first, and alone; that of b can start with it when a's job 2 is to end, at 1106."""
    a, b = made.nodes.values()
    for at, node, job, nodes, run, pair in (
        (1000, a, 1, 6, 50, "p"),
        (1001, a, 2, 8, 100, None),
        (1002, a, 3, 9, 30, None),
        (1010, b, 1, 6, 50, "p"),
        (1011, b, 2, 8, 150, None),
    ):
        made.at(at, partial(node.submit, job, nodes, run, pair))
        node.expected.add(str(job))
    made.at(1001, lambda: a.run_times.update({"2": runs}))


@pytest.mark.parametrize("every", soaked([7, 1], 1))
@pytest.mark.parametrize("runs", [105, 112], ids=["in time", "past its request"])
@pytest.mark.parametrize("dies", ["a", "b"])
def test_a_domain_dies_at_each_step_of_a_negotiation_and_of_the_start(tmp_path, dies, runs, every):
    settings = {"scheme": Scheme.YIELD, "slots": True, "on_peer_unreachable": OnUnreachable.YIELD}
    for step in itertools.count(1, every):
        (folder := tmp_path / str(step)).mkdir()
        chosen = dict.fromkeys("ab", CoschedulingSettings(**settings))
        made = MeetingWorld(folder, step, chosen, Faults(outage=7))
        done = die_at(made.nodes[dies], step)
        agree_on_a_slot(made, runs)
        made.run(until=3000)
        check_every_job_ran_once(made)
        assert started_alone(made) == [], step
        one, other = (node.started_at["1"] for node in made.nodes.values())
        assert abs(one - other) <= made.faults.outage, step
        made.close()
        if done() < step:
            assert made.slots  # nobody died
            return
