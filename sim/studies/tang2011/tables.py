"""The report's tables beside the figures: deadlocks, the paper's release order, sensitivity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars
from polars import DataFrame, col

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.tang2011.cases import BY_SHARE, LAST, LONG, LONG_NO_TIMER, SHARE_NO_TIMER
from cosched.sim.studies.tang2011.paper.claims import never_started
from cosched.sim.studies.tang2011.results import EXTRA, LOSS_SHARE, NEVER, SYNC, TOGETHER, WAIT, Results
from cosched.sim.studies.tang2011.sensitivity import Sensitivity
from cosched.sim.studies.tang2011.setup import HOLDING, MACHINES, SCHEMES, SHARES

Row = tuple[str | int | float | None, ...]

DEADLOCKS = (
    "workload",
    "runs",
    "deadlocked without the timer",
    "jobs that never start on Intrepid",
    "jobs that never start on Eureka",
    "deadlocked with the timer",
)
ORDERS = (
    "paired",
    "schemes",
    "runs",
    "never end with released jobs last",
    "never end with ours",
    "extra wait of Intrepid in the others (min)",
    "extra wait of Eureka in the others (min)",
)


def deadlocks_table(results: Results) -> DataFrame:
    """Return hold-hold with and without the release timer: how many runs deadlock, and how many jobs never start."""
    rows: list[Row] = []
    for name, without, with_timer in ((LONG, LONG_NO_TIMER, LONG), ("share", SHARE_NO_TIMER, BY_SHARE)):
        for point in results.of_experiment(without)["point"].unique(maintain_order=True).to_list():
            label = f"V-D, {point:g} days" if name == LONG else f"V-E, {100 * point:g} % paired"
            runs, dead = _runs(results, without, point), never_started(_runs(results, without, point))
            left = [dead.select(col(f"{machine} {NEVER}").mean()).item() for machine in MACHINES]
            saved = never_started(_runs(results, with_timer, point))
            rows.append((label, len(runs), len(dead), *left, len(saved)))
    return _frame(rows, DEADLOCKS)


def release_order_table(results: Results) -> DataFrame:
    """Compare the paper's release order with ours: runs in which holds change places for ever, costs of the others."""
    rows: list[Row] = []
    for share in SHARES:
        for schemes in HOLDING:
            last, ours = (_runs(results, name, share, schemes) for name in (LAST, BY_SHARE))
            if len(last):
                rows.append(
                    (f"{100 * share:g} %", schemes, len(last), _stalled(last), _stalled(ours), *_costs(last, ours))
                )
    return _frame(rows, ORDERS)


def sensitivity_table(results: Results, sensitivity: Sensitivity) -> DataFrame:
    """Return means and intervals at each value, under each combination."""
    measures = [f"{machine} {name}" for name in (WAIT, WAIT + EXTRA, SYNC, LOSS_SHARE) for machine in MACHINES]
    measures += [TOGETHER] if sensitivity.splits_pairs else []
    rows: list[Row] = []
    for point in sensitivity.points:
        for schemes in sensitivity.schemes:
            found = [results.mean(sensitivity.name, point, schemes, measure) for measure in measures]
            numbers = [number for value in found for number in _mean_and_half(value)]
            rows.append((sensitivity.label(point), schemes, *numbers))
    heads = [name for measure in measures for name in (measure, f"{measure} ci95")]
    return _frame(rows, (sensitivity.axis, "schemes", *heads))


def properties_table(results: Results) -> DataFrame:
    """Return Intrepid's waits and sync times in V-E at each value of each property of Eureka's month."""
    rows: list[Row] = []
    for sensitivity in results.sensitivities:
        for point in sensitivity.points if sensitivity.share is not None else ():
            waits = [results.mean(sensitivity.name, point, schemes, f"intrepid {WAIT}") for schemes in SCHEMES]
            syncs = [results.mean(sensitivity.name, point, schemes, f"intrepid {SYNC}") for schemes in SCHEMES]
            usual = " (usual)" if point == sensitivity.default else ""
            numbers = [number for value in [*waits, *syncs] for number in _mean_and_half(value)]
            rows.append((sensitivity.title, f"{sensitivity.axis} {sensitivity.label(point)}{usual}", *numbers))
    heads = [f"{measure}, {schemes}" for measure in ("wait", "sync time") for schemes in SCHEMES]
    return _frame(rows, ("property", "value", *(name for head in heads for name in (head, f"{head} ci95"))))


def in_words(table: DataFrame) -> Iterator[list[str]]:
    """Yield the rows of a table as text, with a mean and its interval in one cell."""
    heads = [name for name in table.columns if not name.endswith(" ci95")]
    for row in table.iter_rows(named=True):
        yield [_cell(row[name], row.get(f"{name} ci95")) for name in heads]


def heads_in_words(table: DataFrame) -> list[str]:
    """Return the columns of `in_words`."""
    return [name[0].upper() + name[1:] for name in table.columns if not name.endswith(" ci95")]


def _cell(value: str | int | float | None, half: float | None) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else str(Estimate(value, half))


def _runs(results: Results, experiment: str, point: float, schemes: str = "HH") -> DataFrame:
    return results.of_experiment(experiment).filter(col("point") == point, col("schemes") == schemes)


def _stalled(rows: DataFrame) -> int:
    return int(rows["stalled"].cast(polars.Int64).sum())


def _costs(last: DataFrame, ours: DataFrame) -> Iterator[float | None]:
    """Yield per machine how much longer jobs wait with released jobs last, in the runs that end."""
    joined = last.filter(~col("stalled").cast(polars.Boolean)).join(ours, on="replication", suffix=" ours")
    for machine in MACHINES:
        name = f"{machine} {WAIT}"
        yield joined.select((col(name) - col(f"{name} ours")).mean()).item()


def _mean_and_half(value: Estimate | None) -> tuple[float | None, float | None]:
    return (None, None) if value is None else (value.mean, value.half)


def _frame(rows: Sequence[Row], columns: Sequence[str]) -> DataFrame:
    return DataFrame(rows, schema=list(columns), orient="row", infer_schema_length=None)
