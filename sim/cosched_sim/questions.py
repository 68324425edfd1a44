"""Questions that a simulation leaves out, since their answers are known and change nothing.

Where thousands of ready jobs yield, each asks its mates again at every change. The answer is no as long as one of them
is not submitted, or is larger than what is free. The job then yields, as it would after having asked; nobody else has
noticed anything. That holds if its domain always yields, so that nobody is wanted because of it, if its mates' domains
have batch schedulers, if nobody is interested in the story, and if no script changes domains or cuts links.

Each question is two calls of the rules, which nothing but leaving it out makes cheap, however the domains are played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cosched.core.protocol import Domain
from cosched.core.scheduling.batch.kernels.answers import HAS_NODES, HOLDS, NO_ROOM
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.schedulers.batch import BATCH
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.workload.pairing import Pairing

Member = tuple[Domain, int]  # a job, by its row in the domain's workload


class Questions:
    """Which ready jobs need not ask."""

    def __init__(self, others: Mapping[Member, Sequence[Member]], chance: Callable[[Domain, int], int]) -> None:
        """`others`: of jobs that may do without (`skippable`). `chance`: see `link.Callee`."""
        self._others, self._chance = others, chance
        self._asked: set[Member] = set()  # those that have asked once

    def __bool__(self) -> bool:
        return bool(self._others)

    def in_vain(self, job: Member) -> bool:
        """Return whether it is plain that this ready job asks in vain, as it has done before.

        One of the others has no room, or is not submitted. None runs or has ended: its answer would be another. Neither
        does the mate of a pair hold.
        """
        if (others := self._others.get(job)) is None:
            return False
        if job not in self._asked:
            self._asked.add(job)
            return False
        chances = [self._chance(*other) for other in others]
        if HAS_NODES in chances or (HOLDS in chances and len(others) == 1):
            return False
        return NO_ROOM in chances


def skippable(setups: Sequence[DomainSetup], pairing: Pairing) -> dict[Member, Sequence[Member]]:
    """Return the jobs that may do without questions, with those with which they start."""
    may_be_asked = {setup.name for setup in setups if setup.kind is BATCH and _without_slots(setup.coscheduling)}
    always_yield = {setup.name for setup in setups if _always_yields(setup.coscheduling)}
    found: dict[Member, Sequence[Member]] = {}
    for group in pairing.rows if always_yield else ():
        members = [(setups[domain].name, job) for domain, job in group.members]
        for member in members:
            others = [other for other in members if other != member]
            if member[0] in always_yield and may_be_asked.issuperset(name for name, _ in others):
                found[member] = others
    return found


def _without_slots(settings: CoschedulingSettings) -> bool:
    return settings.enabled and not settings.slots


def _always_yields(settings: CoschedulingSettings) -> bool:
    fixed = not settings.max_yields and not settings.yield_boost and settings.mate_patience is None
    return _without_slots(settings) and settings.scheme is Scheme.YIELD and fixed
