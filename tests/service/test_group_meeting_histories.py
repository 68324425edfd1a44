"""Histories of live domains that meet, with groups: three domains, faults of the link, deaths at any point, recovery.

Beside what `test_group_histories` asks for: a slot is known to the core and to the scheduler alike; none is kept for
ever; members that have the same slot have it at the same instant, or as much later as answers take.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from functools import partial

import pytest

from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from tests.service.outside import TIMEOUT
from tests.service.test_group_histories import (
    UNTIL,
    apart,
    check_nothing_is_left,
    groups_of,
    new_world,
    started_by,
)
from tests.service.test_histories import MEET, first_acquaintance
from tests.service.test_meeting_histories import MeetingWorld, die_at
from tests.service.world import Faults
from tests.tiers import seeds, soaked

HOLD, YIELD = Scheme.HOLD, Scheme.YIELD
ALL = (MEET, MEET, MEET)
MIXTURES = [ALL, (MEET, MEET, HOLD), (YIELD, MEET, MEET), (MEET, HOLD, YIELD)]
PATIENT = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_grace": 10**6}


class SlotWorld(MeetingWorld):
    """Looks at the slots of groups, too."""

    def _look(self, node) -> None:
        super()._look(node)
        named: dict[str, set[int]] = defaultdict(set)
        for other in self.nodes.values():
            for job in other.domain.core.jobs.values() if other.domain is not None else ():
                if job.slot is not None and job.group is not None:
                    assert job.group.slot, (other.name, job.id)
                    named[job.group.slot].add(job.slot)
        late = 2 * self.faults.delay + TIMEOUT * bool(
            self.faults.lose
        )  # an instant that has passed becomes the present
        assert all(max(instants) - min(instants) <= late for instants in named.values())


@pytest.fixture
def world(tmp_path):
    """Makes worlds, and closes them."""
    made: list[SlotWorld] = []

    def make(*arguments, **settings) -> SlotWorld:
        made.append(new_world(tmp_path, *arguments, kind=SlotWorld, **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


def check_no_slot_is_left(made: SlotWorld) -> None:
    check_nothing_is_left(made)
    for node in made.nodes.values():
        assert all(job.slot is None for job in node.domain.core.jobs.values())


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1))
@pytest.mark.parametrize("seed", seeds(1, 25))
def test_without_faults_groups_start_at_the_same_instant(world, seed, schemes):
    made = world(seed, schemes, Faults())
    made.run(until=UNTIL)
    check_no_slot_is_left(made)
    assert apart(made) == []
    assert schemes == ALL or not made.slots
    for group in groups_of(made).values():
        assert len({made.nodes[name].started_at[job] for name, job in group.items()}) == 1


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 0))
@pytest.mark.parametrize("delay", [3, 20])
@pytest.mark.parametrize("seed", seeds(0, 25))
def test_a_slow_link_delays_a_start_by_no_more_than_a_call_takes(world, seed, delay, schemes):
    made = world(seed, schemes, Faults(delay=delay), peer_patience=60)
    made.run(until=UNTIL)
    check_no_slot_is_left(made)
    for group in groups_of(made).values():
        started = [made.nodes[name].started_at[job] for name, job in group.items()]
        assert max(started) - min(started) <= delay


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1))
@pytest.mark.parametrize("seed", seeds(1, 75))
def test_domains_are_killed_at_any_point_and_messages_are_lost_and_doubled(world, seed, schemes):
    """No job starts twice, none is lost, none waits for ever."""
    made = world(seed, schemes, Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03), peer_patience=20)
    made.run(until=UNTIL)
    check_no_slot_is_left(made)


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1))
@pytest.mark.parametrize("seed", seeds(1, 75))
def test_with_patience_enough_no_fault_parts_a_group(world, seed, schemes):
    """All members start by one proposal, whatever is lost, and whoever dies."""
    made = world(seed, schemes, Faults(), **PATIENT)
    first_acquaintance(made)
    made.faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30)
    made.run(until=UNTIL)
    check_no_slot_is_left(made)
    assert apart(made) == []
    assert all(len(proposals) == 1 and proposals != {""} for proposals in started_by(made).values())


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 0))
@pytest.mark.parametrize("seed", seeds(1, 25))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, schemes):
    made = world(seed, schemes, Faults(), **PATIENT)
    first_acquaintance(made)
    made.faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.03, outage=30, power=0.7, sync=3)
    made.run(until=UNTIL)
    check_no_slot_is_left(made)
    assert apart(made) == []


# A domain dies at each step


def agree_on_a_slot(made: SlotWorld, runs: int) -> None:
    """Job 1 of each is the group. That of c is ready last, and all can start when a's job 2 is to end, at 1106."""
    a, b, c = made.nodes.values()
    for at, node, job, nodes, run, group in (
        (1000, a, 1, 6, 50, "g"),
        (1001, a, 2, 8, 100, None),
        (1002, a, 3, 9, 30, None),
        (1005, b, 1, 6, 50, "g"),
        (1006, b, 2, 8, 90, None),
        (1010, c, 1, 6, 50, "g"),
        (1011, c, 2, 8, 60, None),
    ):
        made.at(at, partial(node.submit, job, nodes, run, None, group))
        node.expected.add(str(job))
    made.at(1001, lambda: a.run_times.update({"2": runs}))


@pytest.mark.parametrize("every", soaked([11, 1], 1))
@pytest.mark.parametrize("runs", soaked([105, 112], 1), ids=["in time", "past its request"])
@pytest.mark.parametrize("dies", ["a", "b", "c"])
def test_a_domain_dies_at_each_step_of_an_agreement_and_of_the_start(tmp_path, dies, runs, every):
    settings = {"scheme": YIELD, "slots": True, "on_peer_unreachable": OnUnreachable.YIELD}
    for step in itertools.count(1, every):
        (folder := tmp_path / str(step)).mkdir()
        made = SlotWorld(folder, step, dict.fromkeys("abc", CoschedulingSettings(**settings)), Faults(outage=7))
        done = die_at(made.nodes[dies], step)
        agree_on_a_slot(made, runs)
        made.run(until=3000)
        check_no_slot_is_left(made)
        assert apart(made) == [], step
        assert len(set.union(*started_by(made).values())) == 1, step
        started = [node.started_at["1"] for node in made.nodes.values()]
        assert max(started) - min(started) <= made.faults.outage, step
        made.close()
        if done() < step:
            assert made.slots  # nobody died
            return
