"""Skew of start on real Slurm clusters: how far apart the first instructions of the jobs of a pair, or a group, are.

`python -m tests.bench.slurm_skew` prints a table: all four scheme combinations with the gate, one with the gate by
gate_folder alone, and one with the hook only, under contention; then groups of three clusters. `... groups` prints
these alone. Each job notes the time as its first act (first.c, the interpreter of its script). All clusters are on this
host, so their clocks agree, and share its CPUs. "Both run" is
from the instant at which Slurm gave the later of the two jobs its nodes for the last time, as slurmctld logs it, to the
first instruction of the later one.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.slurm.lab import CoupledLab, Domain
from deploy.slurm.lab.coupled import BY_FOLDER
from deploy.slurm.trace.controller_log import LOGGED, read_stories
from tests.bench.skew import quantile
from tests.live.test_groups import MIXTURES
from tests.live.workloads import SCHEMES, Outcome, contended
from tests.slurm.coupled import Coupled

ROUNDS, PAIRS, ALONE, NODES = 5, 20, 4, 8  # jobs of one node; those of groups have up to three
NAMES = ("intrepid", "eureka", "mira")
HOW = {True: "gate", BY_FOLDER: "folder", False: "hook only"}
SOURCE = Path(__file__).with_name("first.c")


def measure(schemes: Sequence[str], *, gate: bool | str, rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """Seconds, ascending: between the mates' starts, of each pair; and from the last one ready to both running.

    Three schemes: of groups. RuntimeError if a job did not run exactly once, or started without its mate.
    """
    settings = {"release_interval": 4, "max_held_fraction": 0.75, "backoff": 1, "try_patience": 1.2}
    skews: list[float] = []
    delays: list[float] = []
    options = {"nodes": NODES, "lines": LOGGED}
    with CoupledLab(names=NAMES[: len(schemes)], schemes=schemes, gate=gate, options=options, **settings) as lab:
        coupled = Coupled(lab, _noting(lab.directory / "first"))
        for seed in range(rounds):
            most_nodes = 1 if len(schemes) == 2 else 3
            outcome = coupled.run(contended(seed, PAIRS, ALONE, most_nodes, domains=len(schemes)))
            if set(outcome.runs.values()) != {1} or outcome.alone() or len(outcome.times) != PAIRS:
                raise RuntimeError(f"not all started together: {outcome.alone()}")
            skews += outcome.skews()
            delays += _delays(coupled, outcome)
    return sorted(skews), sorted(delays)


def _noting(program: Path) -> str:
    """The script of a job, with its program built."""
    subprocess.run(["cc", "-O2", "-o", program, SOURCE], check=True)
    return f"#!{program} {{name}} {{seconds}} {{notes}}\n"


def _delays(coupled: Coupled, outcome: Outcome) -> list[float]:
    ready = {domain.name: _ready(domain) for domain in coupled.lab}
    last: dict[str, float] = {}
    for (domain, pair), job in coupled.ids.items():
        last[pair] = max(ready[domain][job], last.get(pair, 0.0))
    return [max(times) - last[pair] for pair, times in outcome.times.items()]


def _ready(domain: Domain) -> dict[str, float]:
    """When Slurm chose each job for the last time, in seconds since 1970."""
    stories = read_stories(domain.cluster.controller_log.read_text())
    return {job: story.selected[-1] for job, story in stories.items() if story.selected}


def row(schemes: Sequence[str], *, gate: bool | str) -> str:
    """One row; milliseconds."""
    skews, delays = measure(schemes, gate=gate)
    shown = " ".join(f"{quantile(skews, share) * 1000:8.1f}" for share in (0.5, 0.95, 0.99, 1.0))
    how = HOW[gate]
    return f"{'-'.join(schemes):<17} {how:<9} {len(skews):>5} {shown} {quantile(delays, 0.5) * 1000:17.0f}"


def main() -> None:
    """Measure and print."""
    pairs = [*((schemes, True) for schemes in SCHEMES), (SCHEMES[0], BY_FOLDER), (SCHEMES[0], False)]
    groups = [*((schemes, True) for schemes in MIXTURES), (MIXTURES[0], False)]
    print("\nReal Slurm: milliseconds between the first instructions of two mates, or of a group of three")
    quantiles = f"{'median':>8} {'p95':>8} {'p99':>8} {'max':>8}"
    print(f"{'scheme':<17} {'start':<9} {'times':>5} {quantiles} {'all run, median':>17}")
    for schemes, gate in groups if sys.argv[1:] == ["groups"] else [*pairs, *groups]:
        print(row(schemes, gate=gate), flush=True)


if __name__ == "__main__":
    main()
