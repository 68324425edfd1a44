"""Random workloads with groups and pairs, and what came of them in the slow reference."""

from collections import Counter
from random import Random

from tests.reference import RefDomain, RefOutcome, World
from tests.sim.exact import Groups, Pairs, ref_domain, some_jobs

NEVER = 10**6  # by then every replay of such a workload has ended


def random_case(seed: int, schemes: tuple[str, ...]) -> tuple[list[RefDomain], Pairs, Groups]:
    """Three to five domains with these schemes, which share groups of three to five jobs, and pairs; settings vary."""
    rng = Random(seed)
    names = "ABCDE"[: len(schemes)]
    budget = rng.choice(["0", "0", "0", "0.5"])
    domains = [
        ref_domain(rng, name, some_jobs(rng, 8), scheme=scheme, mate_budget=budget)
        for name, scheme in zip(names, schemes, strict=True)
    ]
    rows = range(1, rng.randint(2, 9))
    pair_share = rng.choice([0, 0.3])
    free = {domain.name: [job.job_id for job in domain.jobs] for domain in domains}
    pairs, groups = [], {}
    for row in rows:
        size = 2 if rng.random() < pair_share else rng.randint(3, len(names))
        of = [name for name in rng.sample(names, size) if free[name]]
        members = sorted((name, free[name].pop(rng.randrange(len(free[name])))) for name in of)
        if len(members) == 2:
            pairs.append((members[0], members[1]))
        elif len(members) > 2:
            groups[str(100 + row)] = members
    return domains, pairs, groups


def reference(domains: list[RefDomain], pairs: Pairs, groups: Groups) -> tuple[dict[tuple[str, int], RefOutcome], Counter]:
    """What came of every job, and how often what happened to groups."""
    world = World(domains, pairs, large=groups)
    world.run(NEVER)
    seen = Counter()
    for group in {entry.group for entry in world.entries.values() if entry.group}:
        seen += group.seen
    return world.outcomes(), seen
