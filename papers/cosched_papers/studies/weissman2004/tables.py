"""The study's tables beyond the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from polars import DataFrame

from cosched_papers.studies.weissman2004 import setup
from cosched_papers.studies.weissman2004.comparisons import reading
from cosched_papers.studies.weissman2004.measuring import EVENTS, TOTAL, WAIT
from cosched_papers.studies.weissman2004.readings import HIGH, READ
from cosched_papers.studies.weissman2004.results import Results, at_load
from cosched_papers.studies.weissman2004.setup import BEST, column
from cosched_sim.reports.page import Table
from cosched_sim.results.estimate import shown
from cosched_sim.studies.cases import LABELS
from cosched_sim.studies.measured import average
from cosched_sim.studies.tables import cell
from cosched_sim.sweeps.averages import INTERVAL
from cosched_sim.sweeps.case import CASE, ERROR

OTHERS = (setup.IDEAL_ONLY, setup.BACKFILL, setup.EASY, setup.MOLDABLE)
FIT_WORDS = {"hour": "hours", "gap": "gaps", "size": "sizes", "run": "run times"}


def fits_table(fits: Sequence[Mapping[str, Any]]) -> Table:
    """Return the parameters of the models of logs, and their distances from these."""
    head = ["Log", "jobs", "shape", "scale (s)", "mean size", "load as fitted", "load of the log"]
    rows = [
        [fit["name"], f"{fit['jobs']:,}", f"{fit['shape']:.3f}", f"{fit['scale']:,.0f}",
         *(shown(float(fit[name])) for name in ("mean size", "load", "load of the log")),
         *(f"{fit['distances'][what]:.3f}" for what in FIT_WORDS)]
        for fit in fits
    ]  # fmt: skip
    return Table("Goodness of fit", "", [*head, *FIT_WORDS.values()], rows)


def loads_table(results: Results, fits: Sequence[Mapping[str, Any]]) -> Table:
    """Return figure 14 at several loads, and for the logs."""
    sources = [(setup.SDSC, load, f"load {load:g}") for load in (setup.LOAD, *setup.OTHER_LOADS)]
    sources += [(f"log {n}", setup.LOAD, f"{fit['name']}, load {setup.LOAD:g}") for n, fit in enumerate(fits, 1)]
    rows = []
    for source, load, label in sources:
        best = cell(average(results, at_load(source, load, BEST, WAIT)))
        for name in OTHERS:
            factors = [results.factor(source, load, name, measure) for measure in (WAIT, TOTAL)]
            ends = results.spread(at_load(source, load, name, WAIT), at_load(source, load, BEST, WAIT))
            single = "–" if ends is None else f"{shown(ends[0])} to {shown(ends[1])}"
            rows.append([label, best, name, cell(factors[0]), single, cell(factors[1])])
    head = ["Workload", "wait of Low-Imp-FR (min)", "Beside", "wait / Low-Imp-FR", "by trace", "total / Low-Imp-FR"]
    return Table("Figure 14 by load", "", head, rows)


def readings_table(results: Results) -> Table:
    """Return what other readings of the paper change."""
    policies = [setup.MOLDABLE, *(column(p, HIGH) for p in setup.POLICIES), column(setup.EVEN_FQ, setup.NO_LIMIT), BEST]
    ends = (setup.SHARES[0], setup.SHARES[-1])
    rows = [
        [kind, name, *(cell(reading(results, kind, name, end, of)) for of in (WAIT, TOTAL, EVENTS) for end in ends)]
        for kind, name in product(READ, policies)
    ]
    head = [f"{measure}, {setup.percent(end)}" for measure in ("wait (min)", "total (min)", EVENTS) for end in ends]
    return Table("Other readings", "", ["Reading", "Policy", *head], rows)


def averages_table(results: Results) -> DataFrame:
    """Return all means with their own intervals: a row for each place and measure."""
    measures = [name for name in results.rows.columns if name not in (*LABELS, CASE, ERROR)]
    rows = [
        (*place, measure, results.count(place), found.mean, found.half)
        for place in results.rows.select(LABELS[:3]).unique(maintain_order=True).rows()
        for measure in measures
        if (found := results.mean(place, measure)) is not None
    ]
    heads = ["experiment", "point", "place", "measure", "traces", "mean", "mean" + INTERVAL]
    return DataFrame(rows, schema=heads, orient="row", infer_schema_length=None)
