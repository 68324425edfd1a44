"""Histories of live domains that meet, with groups: three domains, faults of the link, deaths at any point, recovery.

Beside what `test_group_histories` asks for: a slot is known to the core and to the scheduler alike; none is kept for
ever; members that have the same slot have it at the same instant, or as much later as answers take.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import pytest

from cosched.core.settings import Scheme
from tests.service.group_histories import (
    PATIENT,
    POWER_FAILURES,
    UNTIL,
    check_nothing_is_left,
    play_a_death_at_each_step,
    play_from_acquaintance,
    play_with_a_slow_link,
    play_with_patience,
    play_without_faults,
    worlds_of_groups,
)
from tests.service.outside import TIMEOUT
from tests.service.test_histories import MEET
from tests.service.test_meeting_histories import MeetingWorld
from tests.service.world import Faults
from tests.tiers import seeds, soaked

HOLD, YIELD = Scheme.HOLD, Scheme.YIELD
ALL = (MEET, MEET, MEET)
MIXTURES = [ALL, (MEET, MEET, HOLD), (YIELD, MEET, MEET), (MEET, HOLD, YIELD)]


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
        # An instant that has passed becomes the present.
        late = 2 * self.faults.delay + TIMEOUT * bool(self.faults.lose)
        assert all(max(instants) - min(instants) <= late for instants in named.values())


@pytest.fixture
def world(tmp_path):
    """Makes worlds."""
    with worlds_of_groups(tmp_path, SlotWorld) as make:
        yield make


def check_no_slot_is_left(made: SlotWorld) -> None:
    check_nothing_is_left(made)
    for node in made.nodes.values():
        assert all(job.slot is None for job in node.domain.core.jobs.values())


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1))
@pytest.mark.parametrize("seed", seeds(1, 25))
def test_without_faults_groups_start_at_the_same_instant(world, seed, schemes):
    made = world(seed, schemes, Faults())
    play_without_faults(made, check_no_slot_is_left)
    assert schemes == ALL or not made.slots


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 0))
@pytest.mark.parametrize("delay", [3, 20])
@pytest.mark.parametrize("seed", seeds(0, 25))
def test_a_slow_link_delays_a_start_by_no_more_than_a_call_takes(world, seed, delay, schemes):
    play_with_a_slow_link(world(seed, schemes, Faults(delay=delay), peer_patience=60), check_no_slot_is_left)


def test_groups_come_to_an_end_though_calls_take_longer_than_any_pause_of_a_look(world):
    """Each domain always has a job that asks, and keeps nodes for as long as that takes: members find none free."""
    made = world(770011001, (MEET, MEET, HOLD), Faults(delay=20), peer_patience=60)
    play_with_a_slow_link(made, check_no_slot_is_left)


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
    play_with_patience(world(seed, schemes, Faults(), **PATIENT), check_no_slot_is_left)


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 0))
@pytest.mark.parametrize("seed", seeds(1, 25))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, schemes):
    play_from_acquaintance(world(seed, schemes, Faults(), **PATIENT), POWER_FAILURES, check_no_slot_is_left)


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
    submit = partial(agree_on_a_slot, runs=runs)
    play_a_death_at_each_step(tmp_path, SlotWorld, dies, every, submit, check_no_slot_is_left)
