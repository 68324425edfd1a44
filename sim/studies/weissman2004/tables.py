"""The study's tables beyond the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polars import DataFrame

from cosched.sim.results.estimate import Estimate, shown
from cosched.sim.studies.means import MeansTable, cell
from cosched.sim.studies.tang2011.cases import LABELS
from cosched.sim.studies.weissman2004.measuring import EVENTS, TOTAL, WAIT
from cosched.sim.studies.weissman2004.paper.comparisons import reading
from cosched.sim.studies.weissman2004.readings import HIGH, READ
from cosched.sim.studies.weissman2004.results import Results, at_load
from cosched.sim.studies.weissman2004.setup import (
    BACKFILL,
    BEST,
    EASY,
    EVEN_FQ,
    IDEAL_ONLY,
    LOAD,
    MOLDABLE,
    NO_LIMIT,
    OTHER_LOADS,
    POLICIES,
    SDSC,
    SHARES,
    Plan,
    column,
    percent,
)
from cosched.sim.sweeps.averages import INTERVAL
from cosched.sim.sweeps.case import CASE, ERROR

OTHERS = (IDEAL_ONLY, BACKFILL, EASY, MOLDABLE)
FIT_WORDS = {"hour": "hours", "gap": "gaps", "size": "sizes", "run": "run times"}


def fits_table(fits: Sequence[Mapping[str, Any]]) -> MeansTable:
    """Return the parameters of the models of logs, and their distances from these."""
    head = ["Log", "jobs", "shape", "scale (s)", "mean size", "load as fitted", "load of the log"]
    rows = [
        [
            fit["name"],
            f"{fit['jobs']:,}",
            f"{fit['shape']:.3f}",
            f"{fit['scale']:,.0f}",
            *(shown(float(fit[name])) for name in ("mean size", "load", "load of the log")),
            *(f"{fit['distances'][what]:.3f}" for what in FIT_WORDS),
        ]
        for fit in fits
    ]
    return MeansTable("Goodness of fit", [*head, *FIT_WORDS.values()], rows)


def loads_table(results: Results, plan: Plan, fits: Sequence[Mapping[str, Any]]) -> MeansTable:
    """Return figure 14 at several loads, and for the logs."""
    sources = [(SDSC, load, f"load {load:g}") for load in (LOAD, *OTHER_LOADS)]
    sources += [(f"log {n}", LOAD, f"{fits[n - 1]['name']}, load {LOAD:g}") for n in range(1, len(plan.logs) + 1)]
    rows = []
    for source, load, label in sources:
        best = cell(results.average(at_load(source, load, BEST, WAIT)))
        for name in OTHERS:
            factors = [results.factor(source, load, name, measure) for measure in (WAIT, TOTAL)]
            ends = results.spread(at_load(source, load, name, WAIT), at_load(source, load, BEST, WAIT))
            single = "–" if ends is None else f"{shown(ends[0])} to {shown(ends[1])}"
            rows.append([label, best, name, cell(factors[0]), single, cell(factors[1])])
    head = ["Workload", "wait of Low-Imp-FR (min)", "Beside", "wait / Low-Imp-FR", "by trace", "total / Low-Imp-FR"]
    return MeansTable("Figure 14 by load", head, rows)


def readings_table(results: Results) -> MeansTable:
    """Return what other readings of the paper change."""
    policies = [MOLDABLE, *(column(p, HIGH) for p in POLICIES), column(EVEN_FQ, NO_LIMIT), BEST]
    rows = []
    for kind in READ:
        for name in policies:
            found = {
                measure: [reading(results, kind, name, share, measure) for share in (SHARES[0], SHARES[-1])]
                for measure in (WAIT, TOTAL, EVENTS)
            }
            rows.append([kind, name, *(cell(value) for values in found.values() for value in values)])
    ends = [percent(share) for share in (SHARES[0], SHARES[-1])]
    head = [f"{measure}, {end}" for measure in ("wait (min)", "total (min)", EVENTS) for end in ends]
    return MeansTable("Other readings", ["Reading", "Policy", *head], rows)


def averages_table(results: Results) -> DataFrame:
    """Return all means with their own intervals: a row for each place and measure."""
    rows = list(_averages(results))
    heads = ["experiment", "point", "place", "measure", "traces", "mean", "mean" + INTERVAL]
    return DataFrame(rows, schema=heads, orient="row", infer_schema_length=None)


def _averages(results: Results) -> Iterator[tuple[Any, ...]]:
    measures = [name for name in results.rows.columns if name not in (*LABELS, CASE, ERROR)]
    places = results.rows.select(LABELS[:3]).unique(maintain_order=True)
    for experiment, point, place in places.rows():
        for measure in measures:
            found: Estimate | None = results.mean((experiment, point, place), measure)
            if found is not None:
                yield (
                    experiment,
                    point,
                    place,
                    measure,
                    results.count((experiment, point, place)),
                    found.mean,
                    found.half,
                )
