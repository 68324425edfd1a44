"""`cosched select`: machines for an application, chosen by a model of its performance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from cosched.cli.client.connection import json_option
from cosched.cli.output.plain_text import printable, table
from cosched.cli.output.terminal import say, show_json, show_text
from cosched.errors import InputError
from cosched.planning.catalogue import read_catalogue, sources_of
from cosched.planning.facts import grid_of
from cosched.planning.information.gathering import gather
from cosched.planning.loading import applications
from cosched.planning.metrics import METRICS
from cosched.planning.picture import picture
from cosched.planning.problem import Problem, problem_of
from cosched.planning.search import EQUAL, Schedule
from cosched.planning.sites import FINDERS, Site, site_name
from cosched.planning.strategies import Choice, NoScheduleError, chosen_by_search, chosen_by_user
from cosched.quantities import count, duration, percent

MOST = 1_000_000  # candidates


class ApplicationName(click.ParamType[str]):
    """NAME,key=value,... of an application."""

    name = "application"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Complete the name."""
        found = applications().items()
        return [CompletionItem(name, help=each.purpose) for name, each in found if name.startswith(incomplete)]


@click.command(short_help="Choose machines for an application.")
@click.option("--machines", "file", metavar="FILE", required=True, help="The machines and their links, as TOML.")
@click.option(
    "--application", type=ApplicationName(), metavar="NAME[,KEY=VALUE]...", required=True, help="What shall run."
)
@click.option("--size", type=click.IntRange(1, 10**9), metavar="N", required=True, help="The size of its problem.")
@click.option(
    "--strategy",
    type=click.Choice(["dynamic", "static", "user"]),
    default="dynamic",
    show_default=True,
    help="A search with what holds now, or at any time; or the fewest machines that hold the data, in your order.",
)
@click.option(
    "--metric",
    "metrics",
    type=click.Choice(METRICS),
    multiple=True,
    help="Rank machines by this one; several may be given (all three).",
)
@click.option(
    "--sites",
    type=click.Choice(["name", "delay"]),
    default="name",
    show_default=True,
    help="Machines are a site if their domain names are equal, or if delays between them are short.",
)
@click.option(
    "--most", type=click.IntRange(min=1), default=MOST, show_default=True, help="How many candidates to consider."
)
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
    problem, catalogue, dynamic = problem_of(application, size), read_catalogue(file), strategy == "dynamic"
    asked = sources_of(file, catalogue, present=dynamic)
    gather(asked, catalogue.listed)
    for source in asked:
        for line in source.problems:
            say(printable(line))
    facts = [*(source.facts for source in asked), *([catalogue.present()] if dynamic else []), catalogue.static()]
    grid, excluded = grid_of(catalogue.listed, facts, problem.application.requires)
    if not grid.machines:
        raise InputError(file, None, f"no machine can be used: {_excluded(excluded)}")
    try:
        if strategy == "user":
            choice = chosen_by_user(problem, grid)
        else:
            by = [metric for metric in METRICS if metric in metrics] or METRICS
            choice = chosen_by_search(problem, grid, metrics=by, find_sites=FINDERS[sites], most=most, each=explain)
    except NoScheduleError as error:
        raise InputError(file, None, f"no schedule for {problem.application.name}, size {size:,}, {error}") from None
    if plot is not None:
        _draw(plot, choice, problem)
    if as_json:
        show_json(_as_json(choice, problem, excluded))
    else:
        show_text("\n".join(map(printable, _lines(choice, problem, excluded))))


def _as_json(choice: Choice, problem: Problem, excluded: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    considered = choice.considered
    counted = {} if considered is None else {"candidates": considered.candidates, "distinct": considered.distinct}
    told: dict[str, Any] = {**_schedule(choice.schedule, problem), **counted, "excluded": excluded}
    if considered is not None and considered.candidates_left_out:
        told["left_out"] = considered.candidates_left_out
    if choice.of_collections:
        told["collections"] = [
            {"sites": _sites(sites), **({"why": found} if isinstance(found, str) else _schedule(found, problem))}
            for sites, found in choice.of_collections
        ]
    return told


def _schedule(schedule: Schedule, problem: Problem) -> dict[str, Any]:
    boxes = {"boxes": schedule.map.boxes} if schedule.map.boxes else {}
    return {
        "machines": [machine.name for machine in schedule.map.machines],
        problem.application.unit: schedule.map.shares,
        **boxes,
        "time_s": _finite(schedule.prediction.time),
        "metric": schedule.metric,
    }


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def _lines(choice: Choice, problem: Problem, excluded: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield _title(choice, problem)
    yield ""
    schedule, unit = choice.schedule, problem.application.unit.upper()
    shares = zip(schedule.map.machines, schedule.map.shares, schedule.prediction.costs, strict=True)
    rows = [(m.name, f"{share:,}", _seconds(c.computing), _seconds(c.exchanging)) for m, share, c in shares]
    header = ("MACHINE", unit, "COMPUTING", "EXCHANGING")
    yield from table(header, rows, header[1:]).splitlines()
    if choice.of_collections:
        yield ""
        yield from _explained(choice).splitlines()
    yield ""
    if (considered := choice.considered) is not None:
        yield f"{count(considered.candidates, 'candidate')}, {considered.distinct:,} of them distinct"
        if considered.candidates_left_out:
            yield (
                f"left out: {count(considered.candidates_left_out, 'candidate')}, of "
                f"{count(considered.collections_left_out, 'set')} of {considered.least_left_out} or more sites"
            )
    if excluded:
        yield f"excluded: {_excluded(excluded)}"


def _title(choice: Choice, problem: Problem) -> str:
    schedule = choice.schedule
    seconds = schedule.prediction.time
    time = _seconds(seconds) if math.isfinite(seconds) else "no known time, since a link of it is not known,"
    machines = count(len(schedule.map.machines), "machine")
    by = "" if schedule.metric is None else f", ranked by {schedule.metric}"
    return f"{problem.application.name}, size {problem.size:,}: {time} for {problem.application.time} on {machines}{by}"


def _explained(choice: Choice) -> str:
    """Return a table of the best of each collection."""
    rows, least = [], choice.schedule.prediction.time
    for sites, found in choice.of_collections:
        if isinstance(found, str):
            rows.append((_sites(sites), "", "", "", found))
            continue
        more = found.prediction.time / least - 1
        why = f"{percent(more)} slower"
        if found.sites == choice.schedule.sites:
            why = "chosen"
        elif found.prediction.time <= least * EQUAL:
            why = "as fast, and a later one"
        machines = f"{len(found.map.machines):,}"
        rows.append((_sites(sites), machines, found.metric or "", _seconds(found.prediction.time), why))
    header = ("SITES", "MACHINES", "METRIC", "TIME", "WHY")
    return table([*header], [(" ".join(sites), *rest) for sites, *rest in rows], ("MACHINES", "TIME"))


def _sites(sites: tuple[Site, ...]) -> list[str]:
    """Return the names of sites: what follows the first dot in those of their machines."""
    return [site_name(site[0]) or site[0].name for site in sites]


def _excluded(excluded: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{name} (no {' and '.join(kinds)})" for name, kinds in excluded.items())


def _seconds(seconds: float) -> str:
    """Format a time with three digits."""
    if not math.isfinite(seconds):
        return "unknown"
    if seconds >= 100:
        return duration(seconds)
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _draw(path: str, choice: Choice, problem: Problem) -> None:
    drawn = picture(choice.schedule, _title(choice, problem), problem.application.unit)
    Path(path).write_text(drawn, encoding="utf-8")
