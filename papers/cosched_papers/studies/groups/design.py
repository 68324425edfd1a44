"""The study: what varies, what it compares, and its tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from polars import DataFrame

from cosched_papers.studies.groups import measuring
from cosched_papers.studies.groups.setup import BY_LOAD, BY_SHARE, BY_SIZE, CLASSES, IN_PAIRS, SCHEMES, settings, under
from cosched_papers.studies.groups.verdict import REFERENCE, everywhere, values, verdict
from cosched_papers.studies.tang2011.setup import BASE
from cosched_sim.reports.page import Section, Table
from cosched_sim.studies.design import COLUMNS, Asked, Design, Experiment, Found, Settings, averages_of, means_tables
from cosched_sim.studies.measured import Comparison
from cosched_sim.studies.study import Said, words_of
from cosched_sim.studies.tables import comparisons_table, counts_table


def _of_classes(*names: str) -> list[str]:
    """Return the columns of measures of the classes of machines."""
    return [f"{machines} {measure}" for measure in names for machines in CLASSES]


WAITS = (measuring.GROUP_WAIT, *_of_classes(measuring.WAIT))
SHOWN = (measuring.GROUP_WAIT, measuring.GROUP_P95, measuring.SYNC, *_of_classes(measuring.HELD, measuring.WAIT))
OF_GROUPS = (measuring.GROUP_WAIT, measuring.GROUP_P95, measuring.GROUP_LONGEST)
COUNTS = (measuring.GROUPS, measuring.TOGETHER, measuring.APART, measuring.NEVER)
MORE = _of_classes(measuring.HELD, measuring.WAIT, measuring.P99, measuring.LONGEST, measuring.OTHERS_NEVER)
ALL = (*COUNTS, measuring.GAP, *OF_GROUPS, measuring.SYNC, *MORE)
WITH_PAIRS = (BASE, *(place for schemes in SCHEMES for place in (schemes, schemes + IN_PAIRS)))
VARIED = (  # name, title, axis, points
    (BY_SIZE, "By the number of members", "members", (2.0, 3.0, 4.0, 5.0)),
    (BY_LOAD, "By the load of the small machines", "load", (0.25, 0.5, 0.75)),
    (BY_SHARE, "By the share of all jobs that are in groups", "share", (0.025, 0.05, 0.2)),
)


def experiments(said: Said, _: Path | None = None) -> list[Experiment]:
    """Return what varies; groups of two are not compared with pairs."""

    def of(name: str, point: float, schemes: str, number: int) -> Settings:
        return under(settings(name, point, said["seed"] + number - 1, said["days"]), schemes.removesuffix(IN_PAIRS))

    return [
        Experiment(
            name, title, axis, points, WITH_PAIRS, partial(of, name),
            tuple(f"{100 * point:g} %" for point in points) if name == BY_SHARE else (),
            replications=said["replications"], but={2.0: (BASE, *SCHEMES)} if name == BY_SIZE else {}
        )
        for name, title, axis, points in VARIED
    ]  # fmt: skip


def compared(experiment: Experiment) -> Asked:
    """Yield what is compared: with no coscheduling, with pairs, and with the scheme that holds nothing."""
    for point in experiment.points:
        for schemes in SCHEMES:
            beside = schemes, BASE, schemes + IN_PAIRS, REFERENCE
            place, base, pairs, reference = ((experiment.name, point, of) for of in beside)
            for measure in WAITS[1:]:
                yield place, base, measure
            if point not in experiment.but:
                for measure in (*WAITS, measuring.SYNC, *_of_classes(measuring.HELD)):
                    yield place, pairs, measure
            if schemes != REFERENCE:
                for measure in WAITS:
                    yield place, reference, measure


def sections(found: Found) -> Iterator[Section]:
    """Yield the tables: counts of groups, means, counts of comparisons."""
    rows = [[place, *(f"{found.total(of, everywhere(found, place)):,}" for of in COUNTS)] for place in WITH_PAIRS]
    title = "Together, apart, never"
    yield Section(title, tables=[Table(title, "", ["Schemes", "Groups", "together", "apart", "never"], rows)])
    yield Section("Means", tables=means_tables(found, SHOWN))
    compared = sorted(found.compared, key=lambda each: (_kind(each), each.place[2], each.measure))
    heads = ["Groups under", "Beside", "Measure"]
    table = counts_table(compared, heads, lambda each: (each.place[2], _kind(each), each.measure))
    yield Section(table.title, found.method, tables=[table])


def _kind(each: Comparison) -> str:
    """Say what is compared: groups beside pairs, beside no coscheduling, or schemes."""
    other = each.other[2]
    if other.endswith(IN_PAIRS):
        return "the same jobs in pairs"
    return "no coscheduling" if other == BASE else REFERENCE


def tables(found: Found) -> Iterator[tuple[str, DataFrame]]:
    """Yield all means and comparisons."""
    yield "averages", averages_of(found, ALL)
    yield "comparisons", comparisons_table(found.compared, COLUMNS)


WORK = Design(
    words=words_of(__file__), experiments=experiments, measure=measuring.measures, measures=SHOWN, compared=compared,
    values=values, verdict=verdict, sections=sections, tables=tables,
    more=lambda _, place, __: (place[2].endswith(IN_PAIRS),),
).work  # fmt: skip
