"""Growth of a federation of 100 domains with pairs and groups among them: `python -m tests.bench.federations`.

Domains are like Eureka. A third each hold, yield, and hold at most half of their nodes. A tenth of all jobs is in
groups of two to five, drawn at random. Each size has a process of its own, so that peaks of memory do not mix. Jobs are
drawn and results collected, but nothing is read or written.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import cosched_sim as sim
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.playing import Run
from cosched_sim.results.result import ReplayResult
from cosched_sim.warm_up import run_all_kernels
from cosched_sim.workload.generate import generate
from cosched_sim.workload.pairing import groups_at_random
from tests.bench.bench import EUREKA, setup

DOMAINS = 100
SIZES = (10_000, 100_000, 1_000_000)
SHARE, MEMBERS = "0.1", range(2, 6)


def federation(jobs: int) -> list[DomainSetup]:
    """The domains, with so many jobs in all."""
    works = [generate("eureka", jobs=jobs // DOMAINS, utilisation=0.5, seed=domain + 1) for domain in range(DOMAINS)]
    domains = []
    for number, work in enumerate(works):
        scheme, most = (("hold", "1"), ("yield", "1"), ("hold", "0.5"))[number % 3]
        domain = setup(f"site{number}", work, EUREKA, "wfp", scheme)
        coscheduling = replace(domain.coscheduling, max_held_fraction=Decimal(most))
        domains.append(replace(domain, coscheduling=coscheduling))
    return domains


def measure(jobs: int) -> None:
    """Print the CPU seconds of each step, the peak of memory in bytes, and what came of the groups."""
    run_all_kernels()
    domains = federation(jobs)
    times = [time.process_time()]
    pairing = groups_at_random([domain.workload for domain in domains], SHARE, MEMBERS, 1)
    times.append(time.process_time())
    run = Run(domains, pairing)
    run.run()
    times.append(time.process_time())
    result = collected(run, domains)
    times.append(time.process_time())
    seconds = [after - before for before, after in pairwise(times)]
    together = result.pairs["together"] + result.groups["together"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(*seconds, peak, len(pairing), together)


def collected(run: Run, domains: Sequence[DomainSetup]) -> ReplayResult:
    """What a replay makes of it, without files."""
    settings = [sim.Domain(name=domain.name, trace="generated:eureka") for domain in domains]
    result = run.result(settings, {})
    result.summary()
    return result


def in_process(jobs: int) -> str:
    """What `measure` prints in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.federations", str(jobs)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """All sizes, or one in this process."""
    if sys.argv[1:]:
        measure(int(sys.argv[1]))
        return
    print(f"{DOMAINS} domains, WFP+EASY, {SHARE} of all jobs in groups of 2 to 5: CPU us a job, and peak memory")
    base = None
    for jobs in SIZES:
        pair, simulate, collect, peak, groups, together = map(float, in_process(jobs).split())
        told = "base" if base is None else f"{(peak - base[1]) / (jobs - base[0]):.0f} bytes a job beyond"
        base = base or (jobs, peak)
        print(
            f"{jobs:>9,} jobs   group {pair / jobs * 1e6:5.1f} us   simulate {simulate / jobs * 1e6:6.1f} us"
            f"   collect {collect / jobs * 1e6:5.1f} us   {peak / 1e6:7.1f} MB  {told}"
            f"   {together:,.0f} of {groups:,.0f} together",
            flush=True,
        )


if __name__ == "__main__":
    main()
