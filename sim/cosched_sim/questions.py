"""Questions that a simulation leaves out, since their answers are known and change nothing.

Where thousands of ready jobs yield, each asks its mates again at every change. The answer is no as long as one of them
is not submitted, or is larger than what is free. The job then yields, as it would after having asked; nobody else has
noticed anything. That holds if its domain always yields, so that nobody is wanted because of it, if its mates' domains
have batch schedulers, if nobody is interested in the story, and if no script changes domains or cuts links.

Each question is two calls of the rules, which nothing but leaving it out makes cheap, however the domains are played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cosched.core.scheduling.batch.kernels.answers import HAS_NODES, HOLDS, NO_ROOM
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.schedulers.batch import BATCH
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.workload.pairing import Pairing

Member = tuple[int, int]  # a domain, and the row of a job there


class Questions:
    """Which ready jobs need not ask."""

    def __init__(self, others: Mapping[int, Sequence[tuple[Any, int]]], chance: Callable[[Any, int], int]) -> None:
        """`others`: those with which jobs start that may do without, by row. `chance`: see `answers.chance`."""
        self.others, self._chance = others, chance
        self._asked: set[int] = set()  # those that have asked once

    def in_vain(self, row: int) -> bool:
        """Return whether it is plain that this ready job, which may do without, asks in vain, as it has done before.

        One of the others has no room, or is not submitted. None runs or has ended: its answer would be another. Neither
        does the mate of a pair hold.
        """
        if row not in self._asked:
            self._asked.add(row)
            return False
        others, in_vain = self.others[row], False
        for domain, other in others:
            chance = self._chance(domain, other)
            if chance == HAS_NODES or (chance == HOLDS and len(others) == 1):
                return False
            in_vain = in_vain or chance == NO_ROOM
        return in_vain


def skippable(setups: Sequence[DomainSetup], pairing: Pairing) -> Iterator[tuple[Member, Sequence[Member]]]:
    """Yield each job that may do without questions, and those with which it starts."""
    may_be_asked = [setup.kind is BATCH and _without_slots(setup.coscheduling) for setup in setups]
    always_yields = [_always_yields(setup.coscheduling) for setup in setups]
    for group in pairing.rows if any(always_yields) else ():
        for member in group.members:
            others = [other for other in group.members if other != member]
            if always_yields[member[0]] and all(may_be_asked[domain] for domain, _ in others):
                yield member, others


def _without_slots(settings: CoschedulingSettings) -> bool:
    return settings.enabled and not settings.slots


def _always_yields(settings: CoschedulingSettings) -> bool:
    fixed = not settings.max_yields and not settings.yield_boost and settings.mate_patience is None
    return _without_slots(settings) and settings.scheme is Scheme.YIELD and fixed
