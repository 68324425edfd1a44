"""`make bench`: speed as ratios on one machine in one run, medians of interleaved runs; with the argument `pairs` only
that of coupled domains, with `command` only the whole command.

Reading, writing and compiling are not in these figures, but for the whole command at the end.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np

import cosched_sim  # noqa: F401  (sets the kernels' cache folder)
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.engine import Engine
from cosched_sim.replaying import NO_PAIRS
from cosched_sim.warm_up import run_all_kernels, run_meeting_kernels
from cosched_sim.workload.generate import generate
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Pairing, pairs_by_fraction, pairs_by_window
from cosched_sim.workload.traces import clean, machine_nodes, read_trace, write_swf
from deploy.slurm.lab.programs import missing_programs
from tests.bench import cpu_of_commands
from tests.bench.machine_code import CLoop

ROUNDS = 7
INTREPID, EUREKA = 40_960, 100
PARTS = ("federations", "sweeps", "reports", "service", "restart", "durability", "attacks", "skew", "planning", "page")
WITH_SLURM = ("slurm_hooks", "slurm_skew", "slurm_throughput", "slurm_cost")
TRACES = Path(__file__).resolve().parents[2].parent / "shared" / "traces"
COMBINATIONS = {
    "none": "off off", "HH": "hold hold", "HY": "hold yield", "YH": "yield hold", "YY": "yield yield", "MM": "meet meet"
}  # fmt: skip


def setup(name: str, work: Workload, nodes: int, policy: str, scheme: str = "off") -> DomainSetup:
    """One domain with EASY backfilling on a flat machine."""
    meets = scheme == "meet"
    budget = Decimal("0.5") if meets else Decimal(0)
    cluster = ClusterSettings(nodes, parse_ordering(policy), BACKFILLING["easy"], mate_budget=budget, slots=meets)
    chosen = Scheme.YIELD if meets else Scheme(scheme)
    return DomainSetup(name, work, cluster, CoschedulingSettings(scheme=chosen, slots=meets))


def simulate(domains: Sequence[DomainSetup], pairing: Pairing = NO_PAIRS) -> tuple[float, Engine]:
    """CPU seconds of the run (tables filled, nothing written), and the engine."""
    engine = Engine(domains, pairing)
    began = time.process_time()
    engine.run()
    return time.process_time() - began, engine


def medians(rounds: int, *candidates: Callable[[], float]) -> list[float]:
    """Median of each candidate's seconds over interleaved rounds."""
    times = [[candidate() for candidate in candidates] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def against_c(loop: CLoop, name: str, work: Workload, nodes: int) -> tuple[float, float]:
    """One row, FCFS and WFP with EASY, in C and by us; returns microseconds a job of C's FCFS and of ours."""
    candidates: list[Callable[[], float]] = []
    for policy in ("fcfs", "wfp"):
        _, engine = simulate([setup("a", work, nodes, policy)])
        assert np.array_equal(engine.tables.jobs["start"], loop.run(work, nodes, policy)[1]), "the schedules differ"
        candidates.append(lambda policy=policy: loop.run(work, nodes, policy)[0])
        candidates.append(lambda policy=policy: simulate([setup("a", work, nodes, policy)])[0])
    fcfs_in_c, fcfs, wfp_in_c, wfp = medians(ROUNDS, *candidates)
    jobs = len(work)
    print(
        f"{name:28} {jobs:>9,} {jobs / fcfs_in_c / 1e6:8.2f} {jobs / fcfs / 1e6:8.2f} {fcfs / fcfs_in_c:6.2f}x"
        f" {jobs / wfp_in_c / 1e6:8.2f} {jobs / wfp / 1e6:8.2f} {wfp / wfp_in_c:6.2f}x"
    )
    return fcfs_in_c / jobs, fcfs / jobs


def compare_with_c() -> None:
    """Jobs per CPU second, and times the C loop's time under the same policy."""
    loop = CLoop()
    print("Million jobs per CPU second      jobs   C: FCFS     ours              C: WFP     ours")
    for machine, nodes in (("intrepid", INTREPID), ("eureka", EUREKA)):
        against_c(loop, f"{machine}-like, load 0.8", generate(machine, jobs=100_000, utilisation=0.8, seed=1), nodes)
    if TRACES.is_dir():
        shallow, deep = (against_c(loop, name, *lublin(name)) for name in ("lublin_256_new2", "lublin_256"))
        ratio = (deep[1] / shallow[1]) / (deep[0] / shallow[0])
        print(f"deep queue (load 1.06 against 0.62): our slow-down is {ratio:.2f} times the C loop's")


def lublin(name: str) -> tuple[Workload, int]:
    """A model trace of shared/traces and its machine."""
    log = read_trace(TRACES / f"{name}.swf.gz")
    nodes = machine_nodes(log)
    assert nodes is not None
    return clean(log, nodes), nodes


def coupled_month() -> None:
    """CPU seconds of a coupled month under every scheme combination."""
    works = generate("intrepid", jobs=9_200, seed=1), generate("eureka", jobs=2_300, seed=1)
    for window in (60, 120):
        pairing = pairs_by_window(works, window)
        print(f"\nCoupled month, 9,200 + 2,300 jobs, {len(pairing) / 9_200:.1%} paired: CPU seconds")

        def run(schemes: str, pairing: Pairing = pairing) -> float:
            of = zip(("intrepid", "eureka"), works, (INTREPID, EUREKA), schemes.split(), strict=True)
            return simulate([setup(*each, "wfp", scheme) for *each, scheme in of], pairing)[0]

        times = medians(5, *(lambda s=schemes: run(s) for schemes in COMBINATIONS.values()))
        print("   ".join(f"{name} {seconds:.3f}" for name, seconds in zip(COMBINATIONS, times, strict=True)))


def growth_of_pairs() -> None:
    """Microseconds a job of coupled domains that yield, and that meet, from 10,000 to 1,000,000 jobs on the larger."""
    print("\nGrowth of coupled domains, WFP+EASY, 10% of the larger's jobs paired: CPU seconds, and us a job")
    for jobs in (10_000, 100_000, 1_000_000):
        works = generate("intrepid", jobs=jobs, seed=1), generate("eureka", jobs=jobs // 4, seed=1)
        pairing = pairs_by_fraction(works, "0.1", 1)
        print(f"{jobs:>9,} jobs", end="")
        for scheme in ("yield", "meet"):
            machines = zip(("intrepid", "eureka"), works, (INTREPID, EUREKA), strict=True)
            seconds, _ = simulate([setup(*machine, "wfp", scheme) for machine in machines], pairing)
            print(f"   {scheme} {seconds:7.2f} s {seconds / jobs * 1e6:6.1f} us", end="")
        print(flush=True)


def growth() -> None:
    """Microseconds and bytes a job from 10,000 to 1,000,000 jobs at constant load."""
    print("\nGrowth at constant load 0.8, WFP+EASY: CPU to simulate; peak memory of the whole command")
    base = None
    for jobs in (10_000, 100_000, 1_000_000):
        seconds = float(in_process("simulate", str(jobs)))
        with tempfile.TemporaryDirectory() as folder:
            in_process("write", str(jobs), f"{folder}/trace.swf")
            peak = int(in_process("peak", f"{folder}/trace.swf", f"{folder}/out"))
        beyond = "base" if base is None else f"{(peak - base[1]) / (jobs - base[0]):.0f} bytes a job beyond"
        base = base or (jobs, peak)
        print(f"{jobs:>9,} jobs {seconds / jobs * 1e6:6.3f} us/job   {peak / 1e6:6.1f} MB  {beyond}")


def in_process(*arguments: str) -> str:
    """Standard output of this file run with `arguments`, so that peaks do not mix."""
    command = [sys.executable, "-m", "tests.bench.bench", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def simulate_alone(jobs: int) -> float:
    """Median CPU seconds to simulate so many jobs."""
    work = generate("intrepid", jobs=jobs, utilisation=0.8, seed=1)
    run_all_kernels()
    return medians(3, lambda: simulate([setup("a", work, INTREPID, "wfp")])[0])[0]


def peak_of_command(trace: str, out: str) -> int:
    """Peak resident bytes of `cosched replay`, from reading to the files."""
    subprocess.run(replay_command(trace, out), check=True, capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def replay_command(trace: str, out: str) -> list[str]:
    """The installed command on one trace."""
    cosched = str(Path(sys.executable).with_name("cosched"))
    return [cosched, "replay", "--domain", f"intrepid,trace={trace},nodes={INTREPID}", "--out", out, "--no-report"]


def whole_command() -> None:
    """Seconds of the whole command on 10,000 jobs, caches warm."""
    with tempfile.TemporaryDirectory() as folder:
        write_swf(generate("intrepid", jobs=10_000, utilisation=0.8, seed=1), f"{folder}/trace.swf")

        def run() -> tuple[float, float]:
            began, used = time.perf_counter(), cpu_of_commands()
            subprocess.run(replay_command(f"{folder}/trace.swf", f"{folder}/out"), check=True, capture_output=True)
            return time.perf_counter() - began, cpu_of_commands() - used

        run()
        seconds, cpu = map(statistics.median, zip(*(run() for _ in range(5)), strict=True))
        print(f"\nWhole command on a 10,000-job trace, caches warm: {seconds:.2f} s, {cpu:.2f} s of CPU")


def other_parts() -> None:
    """The figures of federations, sweeps, reports, services and Slurm, each part from a process of its own."""
    with_slurm = () if missing_programs() else WITH_SLURM
    if not with_slurm:
        print("\nWithout Slurm (Debian: slurm-wlm) nothing is measured with it")
    sys.stdout.flush()
    for part in (*PARTS, *with_slurm):
        subprocess.run([sys.executable, "-m", f"tests.bench.{part}"], check=True)


def everything() -> None:
    """All measurements; kernels are compiled by a process of its own, whose memory is not ours."""
    in_process("warm")
    run_all_kernels()
    run_meeting_kernels()
    compare_with_c()
    coupled_month()
    growth_of_pairs()
    growth()
    whole_command()
    other_parts()


def main() -> None:
    """All measurements, or a part in a process of its own."""
    match sys.argv[1:]:
        case ["warm"]:
            run_all_kernels()
            run_meeting_kernels()
        case ["simulate", jobs]:
            print(simulate_alone(int(jobs)))
        case ["peak", trace, out]:
            print(peak_of_command(trace, out))
        case ["command"]:
            whole_command()
        case ["pairs"]:
            run_all_kernels()
            run_meeting_kernels()
            coupled_month()
            growth_of_pairs()
        case ["write", jobs, path]:
            write_swf(generate("intrepid", jobs=int(jobs), utilisation=0.8, seed=1), path)
        case _:
            everything()


if __name__ == "__main__":
    main()
