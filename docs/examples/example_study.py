"""A study: does a boost after each yield bring mates together sooner? `python example_study.py` prints a table.

Each case is replayed with several seeds, which draw other jobs: a single month says little.
"""

from statistics import mean

from cosched import sim

SEEDS = range(3)
BOOSTS = (0, 1)


def sync_minutes(boost: int, seed: int) -> float:
    """The mean synchronisation time of paired jobs, both machines together."""
    domains = [
        sim.Domain(name="intrepid", trace="generated:intrepid/days=3", scheme="yield", yield_boost=boost),
        sim.Domain(name="eureka", trace="generated:eureka/days=3", scheme="yield", yield_boost=boost),
    ]
    found = sim.replay(domains, pair_window="2m", seed=seed)
    return mean(domain.metrics["paired"]["sync_s"]["mean"] for domain in found.domains.values()) / 60


print("boost  sync time (min), mean of the seeds")
for boost in BOOSTS:
    print(f"{boost:5}  {mean(sync_minutes(boost, seed) for seed in SEEDS):.1f}")
