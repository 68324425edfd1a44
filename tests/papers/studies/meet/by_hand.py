"""Results made by hand: rows as cases give them, in which a test sets what matters to it."""

from collections.abc import Callable, Iterator
from itertools import product

import polars

from cosched_papers.studies.meet.design import compared
from cosched_papers.studies.meet.experiments import BY_LOAD, by_load
from cosched_papers.studies.meet.measuring import HELD, LONGEST, NEVER, PAIR_LONGEST, PAIR_WAIT, PAIRS, TOGETHER, WAIT
from cosched_papers.studies.meet.schemes import MOST
from cosched_papers.studies.tang2011.setup import LOADS, MACHINES, GeneratedMonths, Plan
from cosched_sim.studies.design import Found
from tests.papers.studies.by_hand import Row, rows_at

MEETS = {0.25: 13.0, 0.5: 20.0, 0.75: 50.0}  # minutes that a pair waits


def rows(replications: int) -> Iterator[Row]:
    """Pairs wait 60 minutes, or less with meet; jobs without mates wait 30; months differ by up to some minutes."""
    for row in rows_at(product([BY_LOAD], LOADS, MOST), replications):
        number = row["replication"]
        wait = MEETS[row["point"]] + 1.1 * number if row["schemes"] == "MM" else 60.0 + number
        row |= {PAIR_WAIT: wait, PAIR_LONGEST: 5 * wait, PAIRS: 10, TOGETHER: 10}
        for machine in MACHINES:
            row |= {f"{machine} {WAIT}": 30.0 + number, f"{machine} {LONGEST}": 90.0}
            row |= {f"{machine} {HELD}": 0.0, f"{machine} {NEVER}": 0}
        yield row


def results(change: Callable[[Row], None] = lambda _: None, replications: int = 5) -> Found:
    """The results of these rows, every one changed."""
    made = list(rows(replications))
    for row in made:
        change(row)
    plan = Plan(replications, 1, False, 30, GeneratedMonths())
    return Found(polars.DataFrame(made, infer_schema_length=None), {}, [by_load(plan)], compared)
