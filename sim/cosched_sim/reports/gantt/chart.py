"""The interactive Gantt chart: every job of a replay as rectangles of nodes and time."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import polars
from numpy.typing import NDArray

from cosched_sim.reports.figures.style import INK, TimeAxis
from cosched_sim.reports.gantt.layout import Layout, lay_out
from cosched_sim.reports.gantt.still import HELD, IDLE, PAIRED, STRIPE, UNPAIRED, still
from cosched_sim.reports.page import Widget, environment
from cosched_sim.reports.run import Run, RunDomain

HERE = Path(__file__).parent
SCRIPTS = ("data.js", "time.js", "paint.js", "view.js", "words.js", "chart.js")
TYPES = ("u1", "i2", "i4", "f8")  # of packed columns: the first type that holds all values is used
STATES = ("completed", "failed", "cancelled", "never_started", "unfinished")
NONE = -1
COLOURS = {"unpaired": UNPAIRED, "paired": PAIRED, "held": HELD, "stripe": STRIPE, "ink": INK}


def gantt_chart(run: Run) -> Widget:
    """Return the chart of a replay, with its still picture for print."""
    layouts = [lay_out(domain) for domain in run.domains]
    axis = TimeAxis(run.first, run.last)
    data = {
        "origin": axis.origin,
        "first": run.first,
        "last": run.last,
        "colours": COLOURS,
        "domains": [_domain(*both) for both in zip(run.domains, layouts, strict=True)],
        "pairs": _pairs(run),
    }
    recorded = any(domain.holds is not None for domain in run.domains)
    template = environment().get_template("gantt/chart.html.j2")
    html = template.render(run=run, recorded=recorded, idle=IDLE[run.has_outages], colours=COLOURS)
    return Widget(still(run, layouts), html, _script(), data)


def _domain(domain: RunDomain, layout: Layout) -> dict[str, Any]:
    jobs = domain.jobs
    states = jobs["state"].replace_strict(STATES, range(len(STATES)), default=0)
    runs, holds = layout.runs, layout.holds
    own_times = ("begin", "end") if domain.allocations is not None else ()  # else those of the jobs
    return {
        "name": domain.name,
        "nodes": domain.nodes,
        "ids": _ids(jobs["job_id"]),
        "jobs": {name: _pack(jobs[name].fill_null(NONE).to_numpy()) for name in ("nodes", "submit", "start", "end")},
        "state": _pack(states.to_numpy()),
        "runs": {name: _pack(getattr(runs, name)) for name in ("job", "first", "nodes", *own_times)},
        "holds": {name: _pack(getattr(holds, name)) for name in ("job", "first", "nodes", "begin", "end")},
    }


def _pairs(run: Run) -> dict[str, Any]:
    """Return for both members of each pair the domain, the row there, and when it was ready."""
    members = [
        domain.jobs.with_row_index("job")
        .filter(polars.col("mate_job_id").is_not_null())
        .select("pair", polars.col("job").cast(polars.Int64), polars.col("ready").fill_null(NONE))
        .with_columns(domain=polars.lit(index, polars.Int64))
        for index, domain in enumerate(run.domains)
    ]
    every = polars.concat(members).sort("pair", "domain", "job")
    one, other = (every.unique("pair", keep=keep, maintain_order=True) for keep in ("first", "last"))
    both = one.join(other, on="pair", suffix="2", maintain_order="left")
    return {name: _pack(both[name].to_numpy()) for name in both.columns if name != "pair"}


def _ids(ids: polars.Series) -> Any:
    """Pack job ids as numbers if all of them are numbers, else as a list of strings."""
    numbers = ids.cast(polars.Int64, strict=False)
    if numbers.null_count() == 0 and (numbers.cast(polars.String) == ids).all():
        return _pack(numbers.to_numpy())
    return ids.to_list()


def _pack(values: NDArray[Any]) -> dict[str, str]:
    """Pack a column of whole numbers as base64 of little-endian values of the narrowest type that holds them."""
    least, most = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    kind = next(kind for kind in TYPES if kind == "f8" or np.iinfo(kind).min <= least <= most <= np.iinfo(kind).max)
    return {kind: base64.b64encode(values.astype(f"<{kind}").tobytes()).decode()}


def _script() -> str:
    """Return all scripts as one, in a scope of their own."""
    parts = "\n".join((HERE / name).read_text() for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'
