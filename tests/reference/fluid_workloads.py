"""Random workloads of jobs that grow and shrink."""

import math
from random import Random

from tests.reference.fluid import BASELINES, HARVESTING, Job, Rules


def random_case(seed: int, policy: str) -> tuple[int, list[Job], Rules]:
    """A machine, jobs, and rules with this harvesting, or with this baseline."""
    random = Random(f"{seed} {policy}")
    nodes = random.choice([1, 4, 8, 16, 64])
    return nodes, random_jobs(random, nodes, exact_ideal="ideal" in policy), random_rules(random, policy)


def tell(random: Random, jobs: list[Job], *, while_running: bool) -> None:
    """Some jobs tell their times and costs: before they start, or (some of them again) while they run."""
    for job in jobs:
        if random.random() < 0.6:
            job.times, job.costs = random_table(random, job.least, job.ideal)
        if while_running:
            later = [job.submit + random.randint(1, 60) for _ in range(random.randint(0, 3))]
            job.tells = {at: random_table(random, job.least, job.ideal) for at in later}


def random_table(random: Random, least: int, ideal: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Times with a knee, without, or of no order at all; costs of 0, or different ones."""
    sizes, kind = range(least, ideal + 1), random.choice(["knee", "flat", "any"])
    unit, share = random.choice([10, 10**9]), random.random()
    parallel = {"knee": lambda procs: unit / procs + unit * share * procs / ideal, "flat": lambda _: unit}
    of = parallel.get(kind, lambda _: random.randint(1, unit))
    most = random.choice([0, 0, 9])
    return tuple(math.ceil(of(procs)) for procs in sizes), tuple(random.randint(0, most) for _ in sizes)


def random_rules(random: Random, policy: str) -> Rules:
    if policy in BASELINES:
        return Rules(baseline=policy)
    assert policy in HARVESTING
    rules = Rules(policy, random.random() < 0.5, random.choice([0, 1, 2, 3, 6, math.inf, math.inf]))
    if random.random() < 0.4:
        rules.max_harvests = random.choice([0, 1, 2, math.inf])
        rules.protect_age = random.choice([0, 1, 10, 50])
        rules.benefit = random.random() < 0.7
    return rules


def random_jobs(random: Random, nodes: int, *, exact_ideal: bool) -> list[Job]:
    parabolic, costs = random.choice([0, 0.5, 1]), random.choice([0, 0, 0.5, 1])
    gap, longest = random.choice([1, 5, 30]), random.choice([3, 60, 400])
    share = random.choice([0.1, 0.3, 0.5, 1])
    most = nodes if exact_ideal else random.choice([nodes, 2 * nodes])
    submit, jobs = 0, []
    for _ in range(random.randint(1, 30)):
        submit += random.randint(0, gap)
        ideal = random.randint(1, max(1, most >> random.randint(0, 3)))
        least = min(nodes, random.choice([max(1, int(ideal * share)), random.randint(1, ideal)]))
        job = Job(submit, least, ideal, random.randint(1, longest), random.random() < parabolic)
        if random.random() < costs:
            job.fixed, job.data = random.randint(0, 9), random.choice([0, 1000, 10**6])
        jobs.append(job)
    return jobs
