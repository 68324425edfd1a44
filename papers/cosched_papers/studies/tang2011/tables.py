"""The report's tables beside the figures: deadlocks, the paper's release order, sensitivity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import polars
from polars import DataFrame, col

from cosched_papers.studies.tang2011 import cases
from cosched_papers.studies.tang2011.deadlocks import never_started
from cosched_papers.studies.tang2011.results import EXTRA, LOSS_SHARE, NEVER, PAIRED, SYNC, TOGETHER, WAIT, Results
from cosched_papers.studies.tang2011.sensitivity import Sensitivity
from cosched_papers.studies.tang2011.setup import HOLDING, LOADS, MACHINES, SCHEMES, SHARES
from cosched_sim.reports.page import Table
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies.study import words_of
from cosched_sim.studies.tables import headed

Row = tuple[str | int | float | None, ...]

WORDS = words_of(__file__)


def deadlocks_table(results: Results) -> DataFrame:
    """Return hold-hold with and without the release timer: how many runs deadlock, and how many jobs never start."""
    rows: list[Row] = []
    for without, with_timer in ((cases.LONG_NO_TIMER, cases.LONG), (cases.SHARE_NO_TIMER, cases.BY_SHARE)):
        for point in results.of_experiment(without)["point"].unique(maintain_order=True).to_list():
            label = f"V-D, {point:g} days" if with_timer == cases.LONG else f"V-E, {100 * point:g} % paired"
            runs, saved = (_runs(results, name, point) for name in (without, with_timer))
            dead = never_started(runs)
            left = [dead.select(col(f"{machine} {NEVER}").mean()).item() for machine in MACHINES]
            rows.append((label, len(runs), len(dead), *left, len(never_started(saved))))
    return _frame(rows, WORDS["deadlocks"])


def release_order_table(results: Results) -> DataFrame:
    """Compare the paper's release order with ours: runs in which holds change places for ever, costs of the others."""
    rows: list[Row] = []
    for share, schemes in product(SHARES, HOLDING):
        last, ours = (_runs(results, name, share, schemes) for name in (cases.LAST, cases.BY_SHARE))
        if len(last):
            stalled = (int(each["stalled"].cast(polars.Int64).sum()) for each in (last, ours))
            rows.append((f"{100 * share:g} %", schemes, len(last), *stalled, *_costs(last, ours)))
    return _frame(rows, WORDS["orders"])


def sensitivity_table(results: Results, sensitivity: Sensitivity) -> DataFrame:
    """Return means and intervals at each value, under each combination."""
    measures = [f"{machine} {name}" for name in (WAIT, WAIT + EXTRA, SYNC, LOSS_SHARE) for machine in MACHINES]
    measures += [TOGETHER] if sensitivity.splits_pairs else []
    rows: list[Row] = []
    for point, schemes in product(sensitivity.points, sensitivity.schemes):
        found = [results.mean((sensitivity.name, point, schemes), measure) for measure in measures]
        rows.append((sensitivity.label(point), schemes, *_with_halves(found)))
    return _frame(rows, (sensitivity.axis, "schemes"), measures)


def properties_table(results: Results) -> DataFrame:
    """Return Intrepid's waits and sync times in V-E at each value of each property of Eureka's month."""
    chosen = [each for each in results.sensitivities if each.share is not None]
    return _by_property(results, chosen, {"wait": f"intrepid {WAIT}", "sync time": f"intrepid {SYNC}"}, {})


def riddle_table(results: Results) -> DataFrame:
    """Return Eureka's extra waits and sync times in V-D at each value of each property of its month."""
    chosen = [each for each in results.sensitivities if each.riddle]
    measures = {"extra wait": f"eureka {WAIT}{EXTRA}", "sync time": f"eureka {SYNC}"}
    return _by_property(results, chosen, measures, {"Eureka's jobs with mates (%)": f"eureka {PAIRED}"})


def alike_table(results: Results) -> DataFrame:
    """Return Eureka's extra waits in V-D by load: the paper's, ours by two minutes, and with a share of both paired."""
    said = {0.25: ("below 5",) * 4, 0.5: ("below 5", "below 5", "below 5", "7"), 0.75: ("8",) + ("below 5",) * 3}
    rows: list[Row] = []
    for load in LOADS:
        rows.append((f"{load:g}", "the paper's number", *said[load]))
        for experiment, what in (
            (cases.BY_LOAD, "two minutes pair 5 to 10 % of Intrepid's jobs"),
            (cases.ALIKE, f"{100 * cases.ALIKE_SHARE:g} % of both machines' jobs are paired"),
        ):
            found = [results.mean((experiment, load, schemes), f"eureka {WAIT}{EXTRA}") for schemes in SCHEMES]
            rows.append((f"{load:g}", what, *("–" if value is None else str(value) for value in found)))
    return _frame(rows, ("Eureka's load", "reading", *SCHEMES))


def _by_property(
    results: Results, chosen: Sequence[Sensitivity], measures: Mapping[str, str], once: Mapping[str, str]
) -> DataFrame:
    """Return measures under each combination at each value of each property, and some `once`, whatever the schemes."""
    rows: list[Row] = []
    for sensitivity in chosen:
        for point in sensitivity.points:
            found = [results.mean((sensitivity.name, point, SCHEMES[0]), measure) for measure in once.values()]
            places = [(sensitivity.name, point, schemes) for schemes in SCHEMES]
            found += [results.mean(place, measure) for measure in measures.values() for place in places]
            usual = " (usual)" if point == sensitivity.usual else ""
            value = f"{sensitivity.axis} {sensitivity.label(point)}{usual}"
            rows.append((sensitivity.title, value, *_with_halves(found)))
    heads = [*once, *(f"{measure}, {schemes}" for measure in measures for schemes in SCHEMES)]
    return _frame(rows, ("property", "value"), heads)


def shown_table(title: str, caption: str, table: DataFrame) -> Table:
    """Return a table for the pages, with a mean and its interval in one cell."""
    heads = [name for name in table.columns if not name.endswith(" ci95")]
    rows = [[_cell(row[name], row.get(f"{name} ci95")) for name in heads] for row in table.iter_rows(named=True)]
    return Table(title, caption, headed(*heads), rows)


def _cell(value: str | int | float | None, half: float | None) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else str(Estimate(value, half))


def _runs(results: Results, experiment: str, point: float, schemes: str = "HH") -> DataFrame:
    return results.of_experiment(experiment).filter(col("point") == point, col("schemes") == schemes)


def _costs(last: DataFrame, ours: DataFrame) -> Iterator[float | None]:
    """Yield per machine how much longer jobs wait with released jobs last, in the runs that end."""
    joined = last.filter(~col("stalled").cast(polars.Boolean)).join(ours, on="replication", suffix=" ours")
    for machine in MACHINES:
        name = f"{machine} {WAIT}"
        yield joined.select((col(name) - col(f"{name} ours")).mean()).item()


def _with_halves(values: Iterable[Estimate | None]) -> Iterator[float | None]:
    for value in values:
        yield from (None, None) if value is None else (value.mean, value.half)


def _frame(rows: Sequence[Row], columns: Sequence[str], means: Sequence[str] = ()) -> DataFrame:
    heads = [*columns, *(name for mean in means for name in (mean, f"{mean} ci95"))]
    return DataFrame(rows, schema=heads, orient="row", infer_schema_length=None)
