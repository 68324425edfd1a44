"""What the commands print: tables made of the summaries of summary.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sim.traces import REASONS

Summary = Mapping[str, Any]

METRICS = {
    "wait_s": "wait",
    "slowdown": "slowdown",
    "bounded_slowdown": "bounded slowdown",
    "sync_s": "sync time",
}
COMPARED = (
    "\nschemes",
    "\nmachine",
    "mean\nwait",
    "mean\nslowdown",
    "mean\nsync",
    "lost\nnode-h",
    "\nlost",
    "pairs\ntogether",
)
GROUPS = ("all", "paired", "unpaired")
STATISTICS = ("mean", "median", "p95", "p99", "max")
UNITS = ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (120, 60, "min"), (0, 1, "s"))  # from, seconds, unit

QUANTILES = ("mean", "min", "p25", "median", "p75", "p95", "p99", "max")


def duration(seconds: float | None) -> str:
    """Three digits or so and a unit; nothing for None."""
    if seconds is None:
        return ""
    size, unit = next((size, unit) for least, size, unit in UNITS if abs(seconds) >= least)
    return f"{(whole if size == 1 else number)(seconds / size)} {unit}"


def number(value: float | None) -> str:
    """A number with a digit after the point unless it is large; nothing for None."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}"


def whole(value: float | None) -> str:
    """The same for what is mostly whole: no digit after the point where it would be 0."""
    return number(value).removesuffix(".0")


def percent(share: float | None, digits: int = 1) -> str:
    """A share of 1; nothing for None."""
    return "" if share is None else f"{100 * share:.{digits}f} %"


def count(number: int, thing: str) -> str:
    """`1 hold`, `2 holds`."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def new_table(*columns: str, left: int = 1) -> Table:
    """An empty table whose first `left` columns are text and the others numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < left else "right", no_wrap=True)
    return table


DISTRIBUTIONS = {
    "nodes_per_job": ("nodes", whole),
    "run_s": ("run time", duration),
    "requested_s": ("requested time", duration),
    "run_share_of_request": ("run / request", lambda share: f"{share:.2f}"),
    "between_arrivals_s": ("between arrivals", duration),
    "logged_wait_s": ("wait in the log", duration),
}


def replay_tables(summary: Summary) -> list[RenderableType]:
    """A heading, a table and some lines for each domain, and a line on the pairs."""
    parts: list[RenderableType] = []
    for name, domain in summary["domains"].items():
        heading = Text(_heading(name, domain), style="bold")
        parts += [heading, *_jobs_lines(domain), _domain_table(domain), *_domain_lines(domain), ""]
    return [*parts, pairs_line(summary["pairs"])]


def comparison_table(runs: Mapping[str, Summary]) -> Table:
    """A row for each combination of schemes and domain, with the means over all its jobs."""
    table = new_table(*COMPARED, left=2)
    for summary in runs.values():
        domains, pairs = summary["domains"], summary["pairs"]
        together = f"{pairs['together']:,} of {pairs['pairs']:,}"
        for row, (name, domain) in enumerate(domains.items()):
            scheme, found = (_schemes(summary), together) if row == 0 else ("", "")
            table.add_row(scheme, name, *_comparison_cells(domain), found)
    return table


def facts_tables(found: Summary) -> list[RenderableType]:
    """What `trace info` shows."""
    facts = Table.grid(padding=(0, 2))
    for title, value in _facts(found):
        facts.add_row(title, value)
    table = new_table("", *QUANTILES)
    for key, (title, form) in DISTRIBUTIONS.items():
        if found[key]["mean"] is not None:
            table.add_row(title, *(form(found[key][quantile]) for quantile in QUANTILES))
    return [Text(found["source"], style="bold"), facts, "", table]


def _facts(found: Summary) -> Iterator[tuple[str, str]]:
    if found["computer"]:
        yield "computer", found["computer"].splitlines()[0]
    yield (
        "machine",
        "size not stated (--nodes N)" if found["nodes"] is None else count(found["nodes"], "node"),
    )
    left_out = f" of {found['jobs_in_file']:,} in the file" if found["rejected"] else ""
    yield "jobs", f"{found['jobs']:,}{left_out}"
    if found["rejected"]:
        yield "left out", rejected_line(found["rejected"])
    if found["users"]:
        yield "users", f"{found['users']:,}"
    since = f"; time 0 is {found['start']}" if found["start"] else ""
    submits = f"{duration(found['first_submit_s'])} to {duration(found['last_submit_s'])}"
    yield "submitted", f"{submits}, a span of {duration(found['span_s'])}{since}"
    if found["offered_load"] is not None:
        yield "offered load", percent(found["offered_load"])
    if found["without_request"]:
        yield "no request", f"{count(found['without_request'], 'job')}; their run time is taken"
    if found["ran_past_request"]:
        yield "overrun", f"{count(found['ran_past_request'], 'job')} ran past the request"


def pairs_line(pairs: Summary) -> str:
    """What became of the pairs."""
    if not pairs["pairs"]:
        return "pairs: none"
    line = f"pairs: {pairs['together']:,} of {pairs['pairs']:,} started together"
    if pairs["desynchronised"]:
        gap = pairs["gap_s"]
        line += f"; {pairs['desynchronised']:,} apart"
        line += f" (by {duration(gap['mean'])} on average, {duration(gap['max'])} at most)"
    if pairs["never"]:
        line += f"; {pairs['never']:,} of which a job never started"
    if pairs["dropped"]:
        line += f"; {count(pairs['dropped'], 'row')} dropped: a job of theirs was left out"
    return line


def warnings(summary: Summary) -> Iterator[str]:
    """What the user should not overlook."""
    if summary["stalled"]:
        yield "ended early: only holds were left, and they changed places for ever"
    for name, domain in summary["domains"].items():
        if domain["never_started"]:
            yield f"{name}: {count(domain['never_started'], 'job')} never started"


def rejected_line(rejected: Mapping[str, int]) -> str:
    """How many jobs were left out and why; nothing if none were."""
    return ", ".join(f"{left_out:,} {REASONS[reason]}" for reason, left_out in rejected.items())


def _heading(name: str, domain: Summary) -> str:
    parts = [
        count(domain["nodes"], "node"),
        {"off": "no coscheduling"}.get(domain["scheme"], f"scheme {domain['scheme']}"),
        f"policy {domain['policy']}",
        {"none": "no backfilling"}.get(domain["backfill"], f"{domain['backfill']} backfilling"),
        *([domain["node_pool"]] if domain["node_pool"] != "flat" else []),
    ]
    return f"{name}: {', '.join(parts)}"


def _jobs_lines(domain: Summary) -> Iterator[str]:
    paired = domain["paired"]["jobs"]
    yield f"{count(domain['jobs'], 'job')}{f', {paired:,} of them paired' if paired else ''}"
    if domain["rejected"]:
        yield f"left out: {rejected_line(domain['rejected'])}"


def _domain_table(domain: Summary) -> Table:
    table = new_table("", "", *STATISTICS, left=2)
    groups = [group for group in GROUPS if domain[group]["jobs"]] if domain["paired"]["jobs"] else GROUPS[:1]
    for metric, title in METRICS.items():
        form = duration if metric.endswith("_s") else number
        for group in [group for group in groups if metric != "sync_s" or group == "paired"]:
            values = domain[group][metric]
            table.add_row(title, group, *(form(values[statistic]) for statistic in STATISTICS))
            title = ""
    return table


def _domain_lines(domain: Summary) -> Iterator[str]:
    offered = domain["offered_load"]
    load = f", offered load {percent(offered)}" if offered is not None else ""
    yield f"utilisation {percent(domain['utilisation'])}{load}, makespan {duration(domain['makespan_s'])}"
    if domain["paired"]["jobs"] and domain["scheme"] != "off":
        yield (
            f"lost to holds: {_node_hours(domain)} node-hours ({percent(domain['held_share'], 2)}); "
            f"{count(domain['holds'], 'hold')}, {count(domain['releases'], 'forced release')}, "
            f"{count(domain['yields'], 'yield')}"
        )


def _schemes(summary: Summary) -> str:
    schemes = [domain["scheme"] for domain in summary["domains"].values()]
    return "none" if set(schemes) == {"off"} else "-".join(schemes)


def _comparison_cells(domain: Summary) -> list[str]:
    off = domain["scheme"] == "off"
    return [
        duration(domain["all"]["wait_s"]["mean"]),
        number(domain["all"]["slowdown"]["mean"]),
        "" if off else duration(domain["paired"]["sync_s"]["mean"]),
        "" if off else _node_hours(domain),
        "" if off else percent(domain["held_share"]),
    ]


def _node_hours(domain: Summary) -> str:
    return f"{domain['held_node_seconds'] / 3600:,.0f}"
