"""Sets of domains that have no pair or group with others: each can be replayed by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cosched_sim.workload.pairing import Pairing


def connected(pairing: Pairing, domains: int) -> list[list[int]]:
    """Return the sets of domains that pairs and groups connect, each in order, by their first ones."""
    root = list(range(domains))

    def first_of(domain: int) -> int:
        while root[domain] != domain:
            root[domain] = root[root[domain]]
            domain = root[domain]
        return domain

    pairs = np.unique(pairing.domain.reshape(-1, 2), axis=0).tolist()
    for together in [*pairs, *([domain for domain, _ in group.members] for group in pairing.groups)]:
        firsts = [first_of(domain) for domain in together]
        for first in firsts:
            root[first_of(first)] = min(firsts)
    sets: dict[int, list[int]] = {}
    for domain in range(domains):
        sets.setdefault(first_of(domain), []).append(domain)
    return list(sets.values())


def within(pairing: Pairing, domains: Sequence[int]) -> Pairing:
    """Return the pairs and groups of a connected set of domains, which are counted within it."""
    place = {domain: number for number, domain in enumerate(domains)}
    here = np.isin(pairing.domain[:, 0], domains) if len(pairing.row) else np.zeros(0, bool)
    groups = [group for group in pairing.groups if group.members[0][0] in place]
    return Pairing(
        pairing.row[here],
        np.searchsorted(domains, pairing.domain[here]),
        pairing.job[here],
        groups=tuple(
            group._replace(members=tuple((place[domain], row) for domain, row in group.members)) for group in groups
        ),
        terms={(place[domain], row): terms for (domain, row), terms in pairing.terms.items() if domain in place},
    )
