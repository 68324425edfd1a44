"""`cosched select`: machines for an application, chosen by a model of its performance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from cosched.cli.client.connection import json_option
from cosched.cli.output.plain_text import printable, table
from cosched.cli.output.terminal import show_json, show_text
from cosched.cli.problem_options import problem_options
from cosched.cli.selection import MOST, Selection, chosen, known, seconds, what_is_excluded
from cosched.planning.metrics import METRICS
from cosched.planning.picture import picture
from cosched.planning.problem import Problem, problem_of
from cosched.planning.search import EQUAL, Schedule
from cosched.planning.sites import FINDERS
from cosched.words.errors import InputError
from cosched.words.quantities import count, percent

_METRICS = "Rank machines by this one; several may be given (all three)."
_SITES = "Machines are a site if their names are equal after a dot, delays are short, or by policy domain."
_CANDIDATES = "How many candidates to consider."


@click.command(short_help="Choose machines for an application.")
@click.option("--machines", "file", metavar="FILE", required=True, help="The machines and their links, as TOML.")
@problem_options(required=True)
@click.option("--metric", "metrics", type=click.Choice(METRICS), multiple=True, help=_METRICS)
@click.option("--sites", type=click.Choice(tuple(FINDERS)), default="name", show_default=True, help=_SITES)
@click.option("--most", type=click.IntRange(min=1), default=MOST, show_default=True, help=_CANDIDATES)
@click.option("--explain", is_flag=True, help="Show the best of each collection of sites, and why it lost.")
@click.option("--plot", metavar="FILE.svg", help="Draw the machines and their shares.")
@json_option
def select(
    file: str,
    application: str,
    size: int,
    strategy: str,
    metrics: tuple[str, ...],
    sites: str,
    most: int,
    explain: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Choose machines for a parallel application: those for which its predicted time is least.

    \b
      cosched select --machines grid.toml --application jacobi --size 16800
      cosched select --machines grid.toml --application jacobi,cycles=31 --size 16800 --explain

    A mapper shares the application's data among the machines of a group, and a model predicts its time. Installed are
    jacobi, life, blocks, master-worker, and those of other packages. The groups are those of Dail, Casanova and Berman
    (2002): for every set of sites and each metric, the best 1, 2, 3, ... machines. If there are more than --most, it
    says what it has left out.
    """
    if plot is not None and not plot.endswith(".svg"):
        raise InputError("--plot", None, f"{plot!r} does not end in .svg, the format that is drawn")
    if explain and strategy == "user":
        raise click.UsageError("--explain explains a search, and --strategy user makes none")
    by = [metric for metric in METRICS if metric in metrics] or METRICS
    problem = problem_of(application, size)
    found = chosen(known(file, problem, strategy), sites=sites, metrics=by, most=most, each=explain)
    if plot is not None:
        Path(plot).write_text(picture(found.choice.schedule, found.title, problem.application.unit), encoding="utf-8")
    if as_json:
        show_json(_as_json(found))
    else:
        show_text("\n".join(map(printable, _lines(found))))


def _as_json(found: Selection) -> dict[str, Any]:
    choice, considered = found.choice, found.choice.considered
    counted = (None, None) if considered is None else (considered.candidates, considered.distinct)
    told = _schedule(choice.schedule, found.problem) | dict(zip(("candidates", "distinct"), counted, strict=True))
    told["excluded"] = found.excluded
    if considered is not None and considered.candidates_left_out:
        told["left_out"] = considered.candidates_left_out
    if choice.of_collections:
        told["collections"] = [
            {"sites": found.labels(sites)}
            | ({"why": best} if isinstance(best, str) else _schedule(best, found.problem))
            for sites, best in choice.of_collections
        ]
    return told


def _schedule(schedule: Schedule, problem: Problem) -> dict[str, Any]:
    return {
        "machines": [machine.name for machine in schedule.map.machines],
        problem.application.unit: schedule.map.shares,
        **({"boxes": schedule.map.boxes} if schedule.map.boxes else {}),
        "time_s": schedule.prediction.time if math.isfinite(schedule.prediction.time) else None,
        "metric": schedule.metric,
    }


def _lines(found: Selection) -> Iterator[str]:
    yield found.title
    yield ""
    choice, schedule, unit = found.choice, found.choice.schedule, found.problem.application.unit.upper()
    shares = zip(schedule.map.machines, schedule.map.shares, schedule.prediction.costs, strict=True)
    rows = [(m.name, f"{share:,}", seconds(cost.computing), seconds(cost.exchanging)) for m, share, cost in shares]
    header = ("MACHINE", unit, "COMPUTING", "EXCHANGING")
    yield from table(header, rows, header[1:]).splitlines()
    if choice.of_collections:
        yield ""
        yield from _explained(found).splitlines()
    yield ""
    if (considered := choice.considered) is not None:
        yield f"{count(considered.candidates, 'candidate')}, {considered.distinct:,} of them distinct"
        if considered.candidates_left_out:
            sets = f"{count(considered.collections_left_out, 'set')} of {considered.least_left_out} or more sites"
            yield f"left out: {count(considered.candidates_left_out, 'candidate')}, of {sets}"
    if found.excluded:
        yield f"excluded: {what_is_excluded(found.excluded)}"


def _explained(found: Selection) -> str:
    rows, chosen = [], found.choice.schedule
    for sites, best in found.choice.of_collections:
        if isinstance(best, str):
            rows.append((found.labels(sites), "", "", "", best))
            continue
        why = f"{percent(best.prediction.time / chosen.prediction.time - 1)} slower"
        if best.sites == chosen.sites:
            why = "chosen"
        elif best.prediction.time <= chosen.prediction.time * EQUAL:
            why = "as fast, and a later one"
        machines = f"{len(best.map.machines):,}"
        rows.append((found.labels(sites), machines, best.metric or "", seconds(best.prediction.time), why))
    header = ("SITES", "MACHINES", "METRIC", "TIME", "WHY")
    return table([*header], [(" ".join(sites), *rest) for sites, *rest in rows], ("MACHINES", "TIME"))
