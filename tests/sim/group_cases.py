"""Random workloads with groups and pairs, and what came of them in the slow reference."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from tests.reference import RefDomain, RefOutcome, World
from tests.sim.exact import Groups, Instants, Pairs, Windows, ref_domain, some_jobs

NEVER = 5_000  # by then every replay of such a workload has ended


class Case(NamedTuple):
    """What both simulators are given."""

    domains: list[RefDomain]
    pairs: Pairs
    groups: Groups
    windows: Windows = MappingProxyType({})
    instants: Instants = MappingProxyType({})


def random_case(seed: int, schemes: Sequence[str], windows: Sequence[tuple[int, int]] = (), instants: range = range(0)):
    """Three to five domains with some of these schemes, which share groups of three to five jobs, and pairs.

    "slots" stands for a scheme that would hold, with slots. `windows`: most groups, also of two jobs, have some of
    these windows. `instants`: half of the groups, also of two jobs, have one of these.
    """
    rng = Random(seed)
    names = "ABCDE"[: rng.choice([3, 3, 4, 5])]
    budget = rng.choice(["0", "0", "0", "0.5"])
    domains = [_domain(rng, name, rng.choice(schemes), mate_budget=budget) for name in names]
    share_of_pairs = rng.choice([0, 0.3])
    free = {domain.name: [job.job_id for job in domain.jobs] for domain in domains}
    pairs, groups, given, at = [], {}, {}, {}
    for number in range(100, 100 + rng.randint(1, 8)):
        size = 2 if rng.random() < share_of_pairs else rng.randint(3, len(names))
        of = [name for name in rng.sample(names, size) if free[name]]
        members = sorted((name, free[name].pop(rng.randrange(len(free[name])))) for name in of)
        with_windows = bool(windows) and rng.random() < 0.7
        of_group = {member: rng.choice(windows) for member in members} if with_windows else {}
        if instants and len(members) > 1 and rng.random() < 0.5:
            at[str(number)] = rng.choice(instants)
        if len(members) > 1 and (str(number) in at or any(window != (0, 0) for window in of_group.values())):
            given |= of_group
            groups[str(number)] = members
        elif len(members) == 2:
            pairs.append((members[0], members[1]))
        elif len(members) > 2:
            groups[str(number)] = members
    return Case(domains, pairs, groups, given, at)


def _domain(rng: Random, name: str, scheme: str, **settings: object) -> RefDomain:
    settings |= {"scheme": "hold", "slots": True} if scheme == "slots" else {"scheme": scheme}
    return ref_domain(rng, name, some_jobs(rng, 8), **settings)


def with_other_timers(case: Case, seed: int) -> Case:
    """Give some domains holds without end, and some the paper's order after a release."""
    rng = Random(seed)
    choices = [{"release_interval": 0}, {"release_order": "last"}, {"release_order": "last"}, {}]
    return case._replace(domains=[replace(domain, **rng.choice(choices)) for domain in case.domains])


def reference(case: Case, until: float = NEVER) -> tuple[dict[tuple[str, int], RefOutcome], Counter[str]]:
    """What came of every job, and how often what happened to groups."""
    world = World(case.domains, case.pairs, large=case.groups, windows=case.windows, instants=case.instants)
    world.run(until)
    assert world.next_time() == math.inf, "it has not ended"
    seen = Counter(groups=len(case.groups), pairs=len(case.pairs))
    for group in {entry.group for entry in world.entries.values() if entry.group is not None}:
        seen += group.seen
        seen["started"] += all(member.start is not None for member in group.members)
    return world.outcomes(), seen
