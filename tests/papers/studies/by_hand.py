"""Results made by hand: rows as cases give them, in which a test sets what matters to it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars

from cosched_papers.studies.tang2011.cases import BY_LOAD, BY_SHARE
from cosched_papers.studies.tang2011.results import Results
from cosched_papers.studies.tang2011.setup import BASE, LOADS, MACHINES, SCHEMES, SHARES
from cosched_sim.studies.cases import labels
from cosched_sim.studies.measured import Place

Row = dict[str, Any]
Change = Callable[[Row], None]

MINUTE = 60.0
NODES = {"intrepid": 40_960, "eureka": 100}


def rows_at(places: Iterable[Place], replications: int) -> Iterator[Row]:
    """Rows of the replications of places, without measures."""
    for place in places:
        for number in range(1, replications + 1):
            yield {**labels(*place, number), "error": None}


def row(experiment: str, point: float, schemes: str, replication: int = 1) -> Row:
    """A case in which nothing happens: an hour's wait, no holds, 10 pairs together."""
    made: Row = {**labels(experiment, point, schemes, replication), "error": None, "stalled": False}
    made |= {"case": f"{experiment} {point:g} {schemes} {replication}", "pairs.pairs": 10, "pairs.together": 10}
    for machine in MACHINES:
        made |= {
            f"{machine}.{name}": value
            for name, value in {
                "nodes": NODES[machine], "jobs": 100, "offered_load": 0.5, "held_node_seconds": 0, "never_started": 0,
                "queue_length.max": 7, "all.wait_s.mean": 60 * MINUTE, "all.slowdown.mean": 6.0,
                "unpaired.wait_s.mean": 60 * MINUTE, "unpaired.slowdown.mean": 6.0, "paired.sync_s.mean": 0.0,
            }.items()
        }  # fmt: skip
    return made


def grid(replications: int = 2) -> Iterator[Row]:
    """The rows of V-D and V-E."""
    for experiment, points in ((BY_LOAD, LOADS), (BY_SHARE, SHARES)):
        for point in points:
            for schemes in (BASE, *SCHEMES):
                for replication in range(1, replications + 1):
                    yield row(experiment, point, schemes, replication)


def results(change: Change = lambda _: None, extra: list[Row] | None = None) -> Results:
    """Results of the grid, every row changed, and of other rows."""
    rows = [*grid(), *(extra or [])]
    for made in rows:
        change(made)
    return Results.of(polars.DataFrame(rows, infer_schema_length=None), 30, [], {"replications": 2})
