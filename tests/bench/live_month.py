"""A generated month by real services in lock-step, all four combinations of schemes: equal to the simulation, how fast.

python -m tests.bench.live_month [DAYS]
"""

import resource
import sys
import time

from cosched.core.settings import Scheme
from cosched.sim.configuration import Domain, ReplayConfig
from cosched.sim.live.replaying import LiveReplay
from cosched.sim.replaying import Replay
from cosched.workload.generate import generate

DAYS = 30
JOBS = {"intrepid": (40_960, 9_200), "eureka": (100, 2_300)}  # nodes, jobs in 30 days
SCHEMES = [(a, b) for a in (Scheme.HOLD, Scheme.YIELD) for b in (Scheme.HOLD, Scheme.YIELD)]


def main() -> None:
    """Print a line for each combination; exit code 1 if an outcome differs."""
    days = int(sys.argv[1]) if len(sys.argv) > 1 else DAYS
    domains = tuple(
        Domain(name=name, trace=generate(name, jobs=jobs * days // DAYS, seed=1), nodes=nodes)
        for name, (nodes, jobs) in JOBS.items()
    )
    config = ReplayConfig(domains=domains, pair_window=120)
    simulated, live = Replay(config), LiveReplay(config)
    print(f"{sum(len(work) for work in live.workloads)} jobs in {days} days, {len(live.pairing)} pairs")
    print("schemes       holds  yields  simulated CPU s   live s  live CPU s  same jobs.csv")
    same = [run(simulated, live, schemes) for schemes in SCHEMES]
    if not all(same):
        sys.exit(1)


def run(simulated: Replay, live: LiveReplay, schemes: tuple[Scheme, Scheme]) -> bool:
    """One combination; whether the outcomes are equal to the byte."""
    wanted = simulated.run(schemes)
    began, cpu = time.perf_counter(), children_cpu()
    found = live.run(schemes)
    seconds, cpu = time.perf_counter() - began, children_cpu() - cpu
    same = found.jobs.write_csv() == wanted.jobs.write_csv()
    holds, yields = (sum(d.metrics[key] for d in wanted.domains.values()) for key in ("holds", "yields"))
    print(
        f"{'-'.join(schemes):<12} {holds:>6} {yields:>7} {wanted.timing['simulate_cpu_s']:>16.2f} {seconds:>8.1f}"
        f" {cpu:>11.1f}  {'yes' if same else 'NO'}",
        flush=True,
    )
    return same


def children_cpu() -> float:
    """CPU seconds of processes that have ended: the services."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
