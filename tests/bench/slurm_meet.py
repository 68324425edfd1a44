"""What pairs and other jobs wait on two real Slurm clusters under hold, yield and meet: one trace, all schemes at once.

`python -m tests.bench.slurm_meet [SEED ...]` prints a table for each seed; ten minutes each. Every scheme has two
clusters of its own, and all clusters share this host. The wait of a pair is from its later submission until both jobs
run. Held: jobs with mates have nodes and do not run. A pair starts apart if cosched has not started both together.
"""

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Pairing
from cosched_sim.workload.traces import offered_load
from deploy.slurm.lab.laboratory import NAMES
from deploy.slurm.trace.cut import LIMIT_STEP, Cut
from deploy.slurm.trace.playing import Play, Played, laboratory, play
from tests.slurm.coupled_checks import reservations_of

SEEDS = (1, 7)
SCHEMES = ("hold", "yield", "meet")
NODES, PAIRS, ALONE = 8, 30, (12, 6)  # nodes of a cluster; pairs; jobs without mates on each
SPAN, APART = 420, 40  # seconds in which all is submitted, and at most between two mates
SIZES, WEIGHTS = (1, 2, 3, 4, 6, 8), (60, 23, 7, 5, 3, 2)  # nodes of a job, and how often
LONGEST, RUNS = 3, (0.1, 0.6)  # minutes that a job asks for; the share of them for which it runs
HORIZON = 640  # seconds from the first submission, after which pairs count as not started in time
SETTINGS = {"release_interval": 20, "max_held_fraction": 1, "backoff": 8, "try_patience": 2.2}
_HEADS = (
    "scheme", "pair wait: mean, median, max", f"not started after {HORIZON} s", "sync", "wait of others",
    "held: node-seconds, share", "yields", "pairs apart", "reservations left"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """What became of a trace under one scheme; times are in seconds, those of a cluster in their order."""

    waits: list[float]  # of pairs
    late: int  # pairs that start after HORIZON
    syncs: list[float]
    others: list[float]
    held: float  # node-seconds
    share: float  # of all node-time until the last end
    yields: int
    apart: int  # pairs
    left_over: list[str]  # reservations


def trace(seed: int) -> Cut:
    """Two clusters' jobs; equal seeds, equal jobs. The pairs come first on both, in the same order."""
    chance = random.Random(seed)
    first = [chance.randrange(SPAN - APART) for _ in range(PAIRS)]
    mates = [(at, at + chance.randint(0, APART))[:: chance.choice((1, -1))] for at in first]
    works, rows = [], []
    for number, alone in enumerate(ALONE):
        submits = [*(both[number] for both in mates), *(chance.randrange(SPAN) for _ in range(alone))]
        order = sorted(range(len(submits)), key=submits.__getitem__)
        works.append(_workload(chance, [submits[job] for job in order]))
        rows.append([order.index(pair) for pair in range(PAIRS)])
    return Cut(NAMES, (NODES,) * len(NAMES), works, _pairing(rows), speed=1)


def _workload(chance: random.Random, submits: Sequence[int]) -> Workload:
    limits = [chance.randint(1, LONGEST) * LIMIT_STEP for _ in submits]
    runs = [max(1, round(limit * chance.uniform(*RUNS))) for limit in limits]
    sizes = chance.choices(SIZES, WEIGHTS, k=len(submits))
    submit, run, nodes, requested = (np.array(column, np.int64) for column in (submits, runs, sizes, limits))
    return Workload("drawn", np.arange(1, len(submit) + 1), submit, run, nodes, requested)


def _pairing(rows: Sequence[Sequence[int]]) -> Pairing:
    job = np.array(rows, np.int64).T
    return Pairing(np.arange(1, PAIRS + 1), np.tile(np.arange(len(rows)), (PAIRS, 1)), job)


def measure(cut: Cut, scheme: str) -> Row:
    """Play a trace under a scheme. LabError, also if not all jobs run to their ends."""
    with laboratory(cut, (scheme,) * len(NAMES), **SETTINGS) as lab:
        return _row(cut, play(lab, cut, scheme), [name for domain in lab for name in reservations_of(domain)])


def _row(cut: Cut, played: Play, left: list[str]) -> Row:
    sides = [side.jobs for side in played.sides]
    pairs = [(sides[0][one], sides[1][other]) for one, other in cut.pairing.job.tolist()]
    paired = [[jobs[row] for row in cut.pairs(number)] for number, jobs in enumerate(sides)]
    held = sum(_held(cut, number, jobs) for number, jobs in enumerate(sides))
    until = max(job.over for jobs in sides for job in jobs)
    return Row(
        [max(job.begun for job in both) - max(job.story.submitted for job in both) for both in pairs],
        sum(max(job.begun for job in both) > played.began + HORIZON for both in pairs),
        [fmean(job.begun - job.story.selected[0] for job in its) for its in paired],
        [fmean(job.begun - job.story.submitted for job in jobs if job.record is None) for jobs in sides],
        held,
        held / (sum(cut.nodes) * (until - played.began)),
        sum(job.record.holds.yields for its in paired for job in its if job.record),
        sum(not all(job.together for job in both) for both in pairs),
        left,
    )


def _held(cut: Cut, number: int, jobs: Sequence[Played]) -> float:
    nodes = cut.workloads[number].nodes
    return sum(jobs[row].story.allocated(jobs[row].begun) * int(nodes[row]) for row in cut.pairs(number))


def measured(cut: Cut, schemes: Sequence[str]) -> Mapping[str, Row]:
    """Return the rows of all schemes, which are played at the same time."""
    with ThreadPoolExecutor(len(schemes)) as pool:
        return dict(zip(schemes, pool.map(lambda scheme: measure(cut, scheme), schemes), strict=True))


def table(cut: Cut, rows: Mapping[str, Row]) -> Iterator[str]:
    """Yield the lines of a trace's table, in Markdown."""
    loads = ", ".join(f"{offered_load(work, NODES):.2f}" for work in cut.workloads)
    yield f"{PAIRS} pairs, {' and '.join(map(str, ALONE))} jobs without mates; load {loads}; in seconds\n"
    yield f"| {' | '.join(_HEADS)} |\n|{'---|' * len(_HEADS)}"
    for scheme, row in rows.items():
        waits = f"{fmean(row.waits):.1f}, {median(row.waits):.1f}, {max(row.waits):.1f}"
        syncs, others = (" / ".join(f"{mean:.1f}" for mean in means) for means in (row.syncs, row.others))
        held = f"{row.held:.0f}, {row.share:.1%}"
        cells = (scheme, waits, row.late, syncs, others, held, row.yields, row.apart, len(row.left_over))
        yield f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Measure and print."""
    for seed in map(int, sys.argv[1:] or SEEDS):
        cut = trace(seed)
        print(f"\nSeed {seed}:", *table(cut, measured(cut, SCHEMES)), sep="\n", flush=True)


if __name__ == "__main__":
    main()
