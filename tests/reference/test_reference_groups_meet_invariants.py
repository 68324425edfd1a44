"""Random workloads: what must always hold where groups meet, with windows and without."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from tests.tiers import soaked

from . import simulate
from .test_reference_invariants import random_domain
from .test_reference_meet_invariants import SCHEMES, random_meet_case, run_checked

MEETING = [{"scheme": "meet"}, {"scheme": "yield", "slots": True}, {"scheme": "hold", "slots": True}]
WINDOWS = [(0, 0), (0, 100), (-300, 300), (10, 10), (1000, 1000), (-100, 0), (-1000, -900)]


def random_case(seed, mixed):
    """Three to five domains that share groups and pairs; groups have windows, or domains may be of any kind."""
    rng = random.Random(seed)
    names = "ABCDE"[: rng.choice([3, 3, 4, 5])]
    jobs = rng.randint(3, 8)
    kinds = rng.choice([SCHEMES, MEETING]) if mixed else MEETING
    schemes = [rng.choice(kinds) for _ in names]
    domains = [replace(random_domain(rng, name, jobs), **scheme) for name, scheme in zip(names, schemes, strict=True)]
    free = {name: list(range(1, jobs + 1)) for name in names}
    pairs, groups, windows = [], {}, {}
    for number in range(rng.randint(1, jobs)):
        of = [name for name in rng.sample(names, rng.choice([2, 3, 3, len(names)])) if free[name]]
        members = [(name, free[name].pop(rng.randrange(len(free[name])))) for name in of]
        if len(members) == 2 and (mixed or rng.random() < 0.5):
            pairs.append(tuple(members))
        elif len(members) > 1:
            groups[str(number)] = members
            windows |= {member: (0, 0) if mixed else rng.choice(WINDOWS) for member in members}
    return domains, pairs, groups, windows


@pytest.mark.parametrize("mixed", soaked([False, True], 1), ids=["windows", "mixed"])
def test_groups_start_within_their_windows_and_every_job_starts(mixed):
    seen = Counter()
    for seed in range(150):
        domains, pairs, large, windows = random_case(seed, mixed)
        world = run_checked(domains, pairs, large=large, windows=windows)
        assert all(entry.status == "ended" for entry in world.entries.values()), seed
        for group in {entry.group for entry in world.entries.values() if entry.group}:
            seen += group.seen
    assert seen["slots"] > 50, seen
    assert seen["moves"] > 10, seen


@pytest.mark.parametrize("seed", range(60))
def test_a_group_of_two_with_slots_is_a_pair(seed):
    """Without a `mate_budget`: a pair's job is wanted as soon as its mate is ready, even before it is submitted."""
    domains, pairs = random_meet_case(seed, "ABC")
    domains = [replace(domain, scheme="yield", slots=True, mate_budget="0") for domain in domains]
    groups = {str(number): pair for number, pair in enumerate(pairs)}
    assert simulate(domains, [], groups=groups) == simulate(domains, pairs)
