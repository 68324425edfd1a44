"""What core players cost beside the compiled world: `make bench players`.

Both replay the same coupled months. Domains of batch schedulers are played by the compiled world in a replay, and by
core players here, so that schedules are the same. The other kinds have core players in every coupled month; beside them
stands a month of two batch domains with the same jobs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import cosched_sim  # noqa: F401  (sets the kernels' cache folder)
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.federation.conductor import Conductor, uncollected
from cosched_sim.federation.cores import core_players
from cosched_sim.flags import replay_settings
from cosched_sim.link import Link
from cosched_sim.playing import Run, warm_up
from cosched_sim.replaying import Replay, setup_of
from cosched_sim.warm_up import run_all_kernels, run_meeting_kernels
from cosched_sim.workload.generate import generate
from cosched_sim.workload.pairing import Pairing, pairs_by_window
from tests.bench.bench import COMBINATIONS, EUREKA, INTREPID, medians, setup, simulate

ROUNDS = 3
MONTH = "generated:eureka/days=30"
KINDS = {
    "batch": "",
    "fluid": ",scheduler=fluid",
    "molding": ",scheduler=molding",
    "molding without prediction": ",scheduler=molding,prediction=off",
}


def by_cores(setups: Sequence[DomainSetup], pairing: Pairing) -> float:
    """CPU seconds of the run, each domain played by the core."""
    link = Link()
    names = [each.name for each in setups]
    conductor = Conductor(core_players(setups, pairing, names, link), order=names, link=link)
    began = time.process_time()
    with uncollected():
        conductor.run()
    return time.process_time() - began


def batch_domains() -> None:
    """Print a row for each combination of schemes."""
    works = generate("intrepid", jobs=9_200, seed=1), generate("eureka", jobs=2_300, seed=1)
    pairing = pairs_by_window(works, 120)
    print(f"Coupled month, 9,200 + 2,300 jobs, {len(pairing):,} pairs: the compiled world, core players")
    for name, schemes in COMBINATIONS.items():
        machines = zip(("intrepid", "eureka"), works, (INTREPID, EUREKA), schemes.split(), strict=True)
        setups = [setup(machine, work, nodes, "wfp", scheme) for machine, work, nodes, scheme in machines]
        world, cores = medians(ROUNDS, lambda s=setups: simulate(s, pairing)[0], lambda s=setups: by_cores(s, pairing))
        print(f"{name:5} {world:7.3f} s {cores:7.3f} s {cores / world:6.1f} times", flush=True)


def of_kind(keys: str) -> float:
    """CPU seconds of a month of such a domain, of whose jobs a tenth have mates in a batch domain."""
    domains = [f"a,trace={MONTH},scheme=yield{keys}", f"b,trace={MONTH}/seed=7,scheme=yield"]
    ready = Replay(replay_settings(domains, None, seed=1, pair_fraction="0.1"))
    setups = [setup_of(*each) for each in zip(ready.settings(), ready.workloads, ready.nodes, strict=True)]
    warm_up(setups, ready.pairing, lambda _: None)
    run = Run(setups, ready.pairing)
    began = time.process_time()
    run.run()
    return time.process_time() - began


def other_kinds() -> None:
    """Print a row for each kind."""
    print("\nMonth of two domains like Eureka, a tenth of the jobs of one paired")
    base, *others = medians(ROUNDS, *(lambda keys=keys: of_kind(keys) for keys in KINDS.values()))
    for name, seconds in zip(KINDS, (base, *others), strict=True):
        print(f"{name:27} {seconds:7.3f} s {seconds / base:6.1f} times")


def main() -> None:
    """Print both tables."""
    run_all_kernels()
    run_meeting_kernels()
    batch_domains()
    other_kinds()


if __name__ == "__main__":
    main()
