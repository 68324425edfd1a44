"""Our numbers beside those of the paper: overheads, savings, sums of job times, and shares of jobs on clusters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product

from cosched_papers.studies.collins2001 import setup
from cosched_papers.studies.collins2001.measuring import PJS_CPU, SHARE, SJS_CPU, SUM, TIME, of_priority
from cosched_papers.studies.collins2001.setup import DISTRIBUTIONS, FEW, LOADS, NONE, PJS, RATES, SJS, at, share_of
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies import paper
from cosched_sim.studies.design import Found
from cosched_sim.studies.measured import Of, average, less, ratio, rise
from cosched_sim.studies.paper import Finder, Statement, read_statements


def overhead(found: Found, share: int) -> Estimate | None:
    """Return the mean time of PJS over that of SJS, over all numbers of jobs (figure 4)."""
    places = [(setup.OF_PJS, float(jobs), share_of(share)) for jobs in setup.PJS_SIZES]
    return ratio(found, [(of, PJS_CPU) for of in places], [(of, SJS_CPU) for of in places])


def saving(found: Found, table: str, jobs: int, algorithm: str = PJS) -> Estimate | None:
    """Return by how many per cent job times are less than under SJS (figure 5a)."""
    return less(found, (at(2, table, NONE, jobs, algorithm), TIME), (at(2, table, NONE, jobs, SJS), TIME))


def sums(table: str, priorities: str, algorithm: str, priority: str = "") -> list[Of]:
    """Return where the sums of job times of study 3 are, for all numbers of jobs."""
    return [(at(3, table, priorities, total, algorithm), of_priority(priority, SUM)) for total in setup.TOTALS]


def mean_sum(found: Found, table: str, priorities: str, algorithm: str) -> Estimate | None:
    """Return the mean over all numbers of jobs of the sum of job times (figure 7)."""
    return average(found, sums(table, priorities, algorithm))


def arriving(table: str, priorities: str, rate: int, priority: str = "", measure: str = TIME) -> Of:
    """Return where a measure of study 4 is."""
    return at(4, table, priorities, rate, PJS), of_priority(priority, measure)


def on_arrival(found: Found, table: str, priorities: str, rate: int, priority: str = "") -> Estimate | None:
    """Return the mean job time of study 4."""
    return found.mean(*arriving(table, priorities, rate, priority))


@cache
def statements() -> list[Statement[Found]]:
    """Return every number of the paper, in its order."""

    def degradation(found: Found, table: str) -> paper.Found:
        """Return by how many per cent sums of job times are greater than without priorities."""
        return {
            f"{algorithm}, {of}": rise(found, sums(table, of, algorithm), sums(table, NONE, algorithm))
            for algorithm, of in product((SJS, PJS), DISTRIBUTIONS)
        }

    def greatest_saving(found: Found, table: str) -> paper.Found:
        savings = {f"{jobs} jobs": saving(found, table, jobs) for jobs in LOADS}
        best = max(savings, key=lambda name: _mean(savings[name]))
        return {best: savings[best]}

    finders: Mapping[str, Finder] = {
        "overheads": lambda found, shares: {share_of(of): overhead(found, of) for of in map(int, shares.split())},
        "saving": greatest_saving,
        "degradation": degradation,
        "longest": lambda found, table: {
            "": max((on_arrival(found, table, FEW, rate, "high") for rate in RATES), key=_mean)
        },
        "times": lambda found, table: {
            "": ratio(found, *(arriving(table, priorities, RATES[-1], "high") for priorities in (setup.MANY, FEW)))
        },
        "share": lambda found, table, priorities, rate, priority="": {
            "": found.mean(*arriving(table, priorities, int(rate), priority, SHARE))
        },
    }
    return read_statements(__file__, finders)


def _mean(value: Estimate | None) -> float:
    return -1.0 if value is None else value.mean
