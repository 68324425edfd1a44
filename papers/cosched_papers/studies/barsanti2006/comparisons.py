"""Our numbers beside those of the paper: means, differences and ratios on the same jobs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from polars import col

from cosched_papers.studies.barsanti2006 import setup
from cosched_sim.results.estimate import Exact
from cosched_sim.studies import paper
from cosched_sim.studies.design import Found
from cosched_sim.studies.measured import Of, Place, less, ratio
from cosched_sim.studies.paper import Finder, Statement, read_statements

PAPERS_SEEDS = 4  # 5.4: "We ran all tests four times with different random seeds"


def place(name: str, scheduler: str) -> Place:
    """Return the place of a scheduler in an experiment at its point; "0.8": that share of the jobs is moldable."""
    if name in setup.POINTS:
        return name, setup.POINTS[name], scheduler
    return setup.SHARE, float(name), scheduler


def of(name: str, scheduler: str, measure: str) -> Of:
    """Return where a measure of a scheduler is."""
    return place(name, scheduler), measure


def scalability(ideal: float) -> float:
    """Return (S_max - S_opt) / (S_opt - 1) of the simple curve (4.6), whose efficiencies are in table 1."""
    most, speed = 0.4 * 2 * ideal, 0.65 * ideal
    return (most - speed) / (speed - 1)


@cache
def statements() -> list[Statement[Found]]:
    """Return every number of the paper, in its order."""

    def mean(found: Found, *where: str) -> paper.Found:
        return {"": found.mean(*of(*where))}

    def both(*where: str) -> tuple[Of, Of]:
        *places, measure = where
        return of(places[0], places[1], measure), of(places[2], places[3], measure)

    finders: dict[str, Finder] = {
        "mean": mean,
        "sigma": lambda _, nodes: {"": Exact(scalability(float(nodes)))},
        "ratio": lambda found, *where: {"": ratio(found, *both(*where))},
        "less": lambda found, *where: {"": less(found, *both(*where))},
    }
    return read_statements(__file__, finders)


def of_first(found: Found, count: int) -> Found:
    """Return the same of so many replications."""
    return replace(found, rows=found.rows.filter(col("replication") <= count))
