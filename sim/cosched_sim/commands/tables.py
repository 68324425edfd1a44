"""The tables that commands print, from the summaries in summary.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from cosched.schedulers.loading import kind_told_by
from cosched.words.quantities import count, duration, durations, number, numbers, percent, plus, whole
from cosched_sim.results import wording
from cosched_sim.results.wording import GROUPS, Summary, metrics_of

MEASURES = ("mean\nwait", "mean\nslowdown", "mean\nsync", "lost\nnode-h", "\nlost")

DIFFERENCES = "Differences from no coscheduling, job by job; intervals by batches of consecutive jobs:"
DIFFERING = {
    "wait\nof all": ("wait_s", durations),
    "wait of\npaired": ("paired_wait_s", durations),
    "wait of\nothers": ("unpaired_wait_s", durations),
    "slowdown\nof all": ("slowdown", numbers),
}

MOST_ONE_BY_ONE = 8  # domains; of more, each has a row
QUANTILES = ("mean", "min", "p25", "median", "p75", "p95", "p99", "max")


def new_table(*columns: str, left: int = 1) -> Table:
    """Return an empty table whose first `left` columns are text and the others numbers."""
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
    """Return the words on the domains, one by one or a row each, and lines on pairs and groups."""
    domains = summary["domains"]
    parts: list[RenderableType] = [_federation_table(domains), ""]
    if len(domains) <= MOST_ONE_BY_ONE:
        parts = [part for name, domain in domains.items() for part in _of_domain(name, domain)]
    if "groups" not in summary:
        return [*parts, wording.pairs_line(summary["pairs"])]
    pairs = [wording.pairs_line(summary["pairs"])] if summary["pairs"]["pairs"] else []
    return [*parts, *pairs, wording.groups_line(summary["groups"])]


def _of_domain(name: str, domain: Summary) -> Iterator[RenderableType]:
    """Yield a heading, a table and some lines."""
    paired, offered = domain["paired"]["jobs"], domain["offered_load"]
    yield Text(wording.heading(name, domain), style="bold")
    yield f"{count(domain['jobs'], 'job')}{f', {paired:,} of them paired' if paired else ''}"
    if domain["rejected"]:
        yield f"left out: {wording.rejected_line(domain['rejected'])}"
    yield _domain_table(domain)
    load = f", offered load {percent(offered)}" if offered is not None else ""
    yield f"utilisation {percent(domain['utilisation'])}{load}, makespan {duration(domain['makespan_s'])}"
    if (line := kind_told_by(domain).line(domain)) is not None:
        yield line
    if "failed" in domain:
        yield wording.lost_line(domain)
    if paired and domain["scheme"] != "off":
        yield (
            f"lost to holds: {_node_hours(domain)} node-hours ({percent(domain['held_share'], 2)}); "
            f"{count(domain['holds'], 'hold')}, {count(domain['releases'], 'forced release')}, "
            f"{count(domain['yields'], 'yield')}"
        )
    yield ""


def _federation_table(domains: Mapping[str, Summary]) -> Table:
    """Return a row for each domain, with the means over all its jobs."""
    table = new_table("\nmachine", "\nscheme", "\njobs", "\npaired", *MEASURES, "never\nstarted", left=2)
    for name, domain in domains.items():
        counts = f"{domain['jobs']:,}", f"{domain['paired']['jobs']:,}"
        cells = _comparison_cells(domain, duration(domain["all"]["wait_s"]["mean"]), duration(_sync(domain)))
        table.add_row(name, domain["scheme"], *counts, *cells, f"{domain['never_started']:,}")
    return table


def comparison_table(runs: Mapping[str, Summary]) -> Table:
    """Return a row for each combination of schemes and domain, with the means over all its jobs."""
    table = new_table("\nschemes", "\nmachine", *MEASURES, "pairs\ntogether", left=2)
    there = [(summary, *item) for summary in runs.values() for item in summary["domains"].items()]
    waits = durations([(domain["all"]["wait_s"]["mean"], None) for *_, domain in there])
    syncs = durations([(_sync(domain), None) for *_, domain in there])
    for (summary, name, domain), wait, sync in zip(there, waits, syncs, strict=True):
        pairs, first = summary["pairs"], name == next(iter(summary["domains"]))
        scheme, found = (_schemes(summary), f"{pairs['together']:,} of {pairs['pairs']:,}") if first else ("", "")
        table.add_row(scheme, name, *_comparison_cells(domain, wait, sync), found)
    return table


def differences_table(runs: Mapping[str, Summary], differences: Mapping[str, Any]) -> Table:
    """Return a row for each combination of schemes and domain: mean differences, ± half their 95 % intervals."""
    table = new_table("\nschemes", "\nmachine", *DIFFERING, left=2)
    there = [(run, row, *item) for run, domains in differences.items() for row, item in enumerate(domains.items())]
    columns = [
        map(plus, form([(found[measure]["mean"], found[measure]["ci95"]) for *_, found in there]))
        for measure, form in DIFFERING.values()
    ]
    for (run, row, name, _), *cells in zip(there, *columns, strict=True):
        table.add_row(_schemes(runs[run]) if row == 0 else "", name, *cells)
    return table


def facts_tables(found: Summary) -> list[RenderableType]:
    """Return the output of `trace info`."""
    facts = Table.grid(padding=(0, 2))
    for title, value in _facts(found):
        facts.add_row(title, value)
    table = new_table("", *QUANTILES)
    for key, (title, form) in DISTRIBUTIONS.items():
        if found[key]["mean"] is not None:
            title = "processors" if key == "nodes_per_job" and _in_processors(found) else title
            table.add_row(title, *(form(found[key][quantile]) for quantile in QUANTILES))
    return [Text(found["source"], style="bold"), facts, "", table]


def _facts(found: Summary) -> Iterator[tuple[str, str]]:
    if found["computer"]:
        yield "computer", found["computer"].splitlines()[0]
    yield "machine", _machine(found)
    left_out = f" of {found['jobs_in_file']:,} in the file" if found["rejected"] else ""
    yield "jobs", f"{found['jobs']:,}{left_out}"
    if found["rejected"]:
        yield "left out", wording.rejected_line(found["rejected"])
    if found["users"]:
        yield "users", f"{found['users']:,}"
    since = f"; time 0 is {found['start']}" if found["start"] else ""
    submits = f"{duration(found['first_submit_s'])} to {duration(found['last_submit_s'])}"
    yield "submitted", f"{submits}, a span of {duration(found['span_s'])}{since}"
    if found["local_times"]:
        yield "time zone", f"times that name none are taken as {found['local_times']} (--timezone)"
    for remark in found["remarks"]:
        yield "as read", remark
    if found["offered_load"] is not None:
        yield "offered load", percent(found["offered_load"])
    if found["without_request"]:
        yield "no request", f"{count(found['without_request'], 'job')}; their run time is used"
    if found["ran_past_request"]:
        yield "overrun", f"{count(found['ran_past_request'], 'job')} ran past the request"


def _machine(found: Summary) -> str:
    nodes, stated = found["nodes"], found["stated_nodes"]
    if nodes is None:
        return "size not stated (--nodes N)"
    if not _in_processors(found):
        return count(nodes, "node")
    each = f" of {nodes // stated}: --procs-per-node {nodes // stated}" if nodes % stated == 0 else ""
    return f"{count(nodes, 'processor')} in {count(stated, 'node')}{each}"


def _in_processors(found: Summary) -> bool:
    """Return whether sizes are in processors, since the log states fewer nodes and nothing else was asked."""
    return found["stated_nodes"] is not None and found["nodes"] > found["stated_nodes"]


def _domain_table(domain: Summary) -> Table:
    table = new_table("", "", *wording.STATISTICS, left=2)
    groups = [group for group in GROUPS if domain[group]["jobs"]] if domain["paired"]["jobs"] else GROUPS[:1]
    for metric, title in metrics_of(domain).items():
        form = duration if metric.endswith("_s") else number
        for group in [group for group in groups if metric != "sync_s" or group == "paired"]:
            values = domain[group][metric]
            table.add_row(title, group, *(form(values[statistic]) for statistic in wording.STATISTICS))
            title = ""
    return table


def _schemes(summary: Summary) -> str:
    schemes = [domain["scheme"] for domain in summary["domains"].values()]
    return "none" if set(schemes) == {"off"} else "-".join(schemes)


def _sync(domain: Summary) -> float | None:
    mean: float | None = domain["paired"]["sync_s"]["mean"]
    return None if domain["scheme"] == "off" else mean


def _comparison_cells(domain: Summary, wait: str, sync: str) -> list[str]:
    off = domain["scheme"] == "off"
    return [
        wait,
        number(domain["all"]["slowdown"]["mean"]),
        sync,
        "" if off else _node_hours(domain),
        "" if off else percent(domain["held_share"]),
    ]


def _node_hours(domain: Summary) -> str:
    return f"{domain['held_node_seconds'] / 3600:,.0f}"
