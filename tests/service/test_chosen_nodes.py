"""Histories of live domains whose nodes are chosen: no two jobs have the same one, whatever is lost or whoever dies."""

import random
from collections import defaultdict
from itertools import product

import pytest

from cosched.core.scheduling.places import Places
from tests.conformance.schedulers.histories import ANYTHING, FAULTS, HOLD, MEET, POWER_FAILURES, YIELD, new_world
from tests.service.meeting_world import MeetingWorld
from tests.service.world import Node

NAMES = [f"n{number}" for number in range(10)]


class ChosenNode(Node):
    """Any of the free nodes may be chosen; of jobs that were launched it is known which they have."""

    def __init__(self, *arguments) -> None:
        self.choices: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        self.has: dict[str, tuple[str, ...]] = {}
        self.draw = random.Random(1)
        super().__init__(*arguments)

    @property
    def places(self) -> Places:
        return Places(NAMES, self.choose)

    def choose(self, job: str, free: list[str], nodes: int) -> list[str]:
        chosen = self.draw.sample(free, nodes)
        self.choices[job].append(tuple(chosen))
        return chosen

    def launch(self, job: str) -> None:
        before = job in self.running or job in self.done
        super().launch(job)
        if job in self.running and not before:
            self.has[job] = where = self.domain.jobs[job].allocation.where
            assert where in self.choices[job]
            others = {node for other in self.running if other != job for node in self.has[other]}
            assert others.isdisjoint(where), f"{self.name}{job}"

    def check_over(self) -> None:
        super().check_over()
        assert self.domain.policy.free_places() == NAMES
        assert self.has.keys() == self.expected


class ChosenWorld(MeetingWorld):
    node_kind = ChosenNode


CASES = [
    pytest.param(schemes, faults, seed, marks=[pytest.mark.soak] * (number > 0))
    for number, (seed, faults, schemes) in enumerate(
        product(range(1, 11), (POWER_FAILURES, FAULTS, ANYTHING), ((HOLD, YIELD), (MEET, HOLD), (HOLD, YIELD, HOLD)))
    )
]


@pytest.mark.parametrize(("schemes", "faults", "seed"), CASES)
def test_no_two_jobs_have_the_same_node(tmp_path, schemes, faults, seed):
    world = new_world(tmp_path, seed, schemes, faults, ChosenWorld)
    world.run(60_000)
    assert world.is_over()
    for node in world.nodes.values():
        node.check_over()
    held = [job for node in world.nodes.values() for job, choices in node.choices.items() if len(choices) > 1]
    assert held  # some were chosen anew
