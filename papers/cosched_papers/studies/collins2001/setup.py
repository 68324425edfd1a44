"""What varies in the four case studies (section 5), and on the tables of Braun et al."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from cosched_papers.heterogeneous.settings import Algorithm
from cosched_papers.studies.collins2001.measuring import NEXT, PER_CENT, PRIORITIES
from cosched_papers.studies.collins2001.site import TABLES
from cosched_sim.studies.design import Experiment, Settings
from cosched_sim.studies.measured import Place
from cosched_sim.studies.study import Said

SJS, PJS = Algorithm.SJS.value, Algorithm.PJS.value
OF_SJS, OF_PJS, ON_TABLES = "1 SJS", "1 PJS", "tables"
NONE, *DISTRIBUTIONS = PER_CENT  # of priorities
FEW, HALF, MANY = DISTRIBUTIONS
SIZES = (5, 20, 40, 60, 80, 100)  # jobs and machines of figure 3
PJS_SIZES, SHARES = (5, 20, 50, 100, 200, 500, 1000), (0, 10, 50, 75, 90, 100)  # jobs, and % with a parallel version
LOADS = (2, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100)  # jobs of study 2
TOTALS = tuple(range(20, 501, 40))  # jobs of study 3
RATES, JOBS = (1, 2, 4, 8, 16, 32), 500  # of study 4
JOB_RANGES, MACHINE_RANGES = (100, 3000), (10, 1000)  # of low and of high heterogeneity
KINDS = ("consistent", "semi-consistent", "inconsistent")
DRAWN = tuple(product(KINDS, JOB_RANGES, MACHINE_RANGES))
TABLE_JOBS, TABLE_MACHINES, TABLE_REPLICATIONS = 512, 16, 5
QUICK_JOBS = 64
ALGORITHMS = tuple(algorithm.value for algorithm in Algorithm)


def named(number: int, table: str, priorities: str) -> str:
    """Return the name of the experiment of a study at the site."""
    return f"{number} {table} {priorities}"


def experiments(said: Said, _: Path) -> list[Experiment]:
    """Return all."""
    return [*_overheads(said), *_at_site(said), _on_tables(said)]


def _overheads(said: Said) -> Iterator[Experiment]:
    def of_sjs(jobs: float, schemes: str, replication: int) -> Settings:
        size = {"machines": int(schemes.split()[0]), "clusters": 0, "parallel": 0}
        return {"what": "overhead", "seed": said["seed"] + replication - 1, "jobs": int(jobs), **size}

    def of_pjs(jobs: float, schemes: str, replication: int) -> Settings:
        size = {"machines": 40, "clusters": 5, "parallel": int(schemes.split()[0])}
        return {"what": "overhead", "seed": said["seed"] + replication - 1, "jobs": int(jobs), **size}

    for name, title, points, schemes, settings in (
        (OF_SJS, "Study 1: calls of SJS", SIZES, map(machines_of, SIZES), of_sjs),
        (OF_PJS, "Study 1: calls of PJS, 40 machines", PJS_SIZES, map(share_of, SHARES), of_pjs),
    ):
        places, again = tuple(map(float, points)), said["replications"]
        yield Experiment(name, title, "jobs", places, tuple(schemes), settings, replications=again)


def machines_of(count: int) -> str:
    """Return what such tables are called."""
    return f"{count} machines"


def share_of(per_cent: int) -> str:
    """Return what such tables are called."""
    return f"{per_cent} %"


def _at_site(said: Said) -> Iterator[Experiment]:
    for table in TABLES:
        title = f"{table} times"
        yield _of_site(said, 2, table, NONE, f"Study 2, {title}", LOADS, (SJS, PJS, NEXT))
        for priorities in PER_CENT:
            yield _of_site(said, 3, table, priorities, f"Study 3, {title}, {priorities}", TOTALS, (SJS, PJS))
        for priorities in PER_CENT:
            yield _of_site(said, 4, table, priorities, f"Study 4, {title}, {priorities}", RATES, (PJS,))


def _of_site(
    said: Said, number: int, table: str, priorities: str, title: str, points: tuple[int, ...], schemes: tuple[str, ...]
) -> Experiment:
    def settings(point: float, algorithm: str, replication: int) -> Settings:
        jobs, rate = (JOBS, int(point)) if number == 4 else (int(point), 0)
        return {
            "what": "site", "seed": said["seed"] + replication - 1, "table": table, "priorities": priorities,
            "algorithm": algorithm, "jobs": jobs, "rate": rate
        }  # fmt: skip

    name, axis = named(number, table, priorities), "jobs a quantum" if number == 4 else "jobs"
    places = tuple(map(float, points))
    return Experiment(name, title, axis, places, schemes, settings, replications=said["replications"])


def _on_tables(said: Said) -> Experiment:
    count = min(said["replications"], TABLE_REPLICATIONS)

    def settings(point: float, algorithm: str, replication: int) -> Settings:
        kind, jobs, machines = DRAWN[int(point)]
        return {
            "what": "table", "kind": kind, "job range": jobs, "machine range": machines, "algorithm": algorithm,
            "jobs": QUICK_JOBS if said["quick"] else TABLE_JOBS, "machines": TABLE_MACHINES,
            "seed": said["seed"] + replication - 1
        }  # fmt: skip

    words = dict(zip((*JOB_RANGES, *MACHINE_RANGES), ("low", "high") * 2, strict=True))
    labels = tuple(f"{kind}, jobs {words[jobs]}, machines {words[machines]}" for kind, jobs, machines in DRAWN)
    points = tuple(map(float, range(len(DRAWN))))
    title = "Nine algorithms on tables"
    return Experiment(ON_TABLES, title, "table", points, ALGORITHMS, settings, labels, replications=count)


def count_of(total: int, priorities: str, priority: str) -> int:
    """Return how many of so many jobs at once have a priority."""
    return round(total * PER_CENT[priorities][PRIORITIES.index(priority)] / 100)


def at(number: int, table: str, priorities: str, point: float, algorithm: str) -> Place:
    """Return a place of studies 2 to 4."""
    return named(number, table, priorities), float(point), algorithm
