"""The report of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cosched.words.quantities import count
from cosched_sim.reports.figures.sweep_figures import MEASURES, MOST_FIGURES, Measure, Row, place_name, sweep_figures
from cosched_sim.reports.page import Page, Section, Table, write_page
from cosched_sim.results.estimate import shown, signed
from cosched_sim.sweeps.differences import comparison
from cosched_sim.sweeps.sweeping import Swept, read_swept
from cosched_sim.workload.traces import REASONS

TEXT = """Means over the replications with their 95 % intervals (Student's t). In each replication all places in the \
grid see the same drawn traces and pairs, so their differences are less uncertain than each of them.

The wait of a job is from its submission to its start; its slowdown is wait and run time over run time; the sync time \
of a paired job is from the instant it was ready to its start; node-hours are lost while nodes are held."""
DIFFERENCES = (
    "Means of the differences from {} {}, replication by replication, ± half their 95 % intervals. Above zero: longer "
    "with these settings."
)
WAIT, SLOWDOWN, SYNC, LOST = MEASURES
NODE_HOURS = Measure("Lost node-hours", "lost node-hours", "held_node_seconds", 3600)
COLUMNS = {
    "wait (min)": WAIT,
    "slowdown": SLOWDOWN,
    "sync time (min)": SYNC,
    "lost node-hours": NODE_HOURS,
    "lost (%)": LOST,
}
DIFFERING = {
    "wait (min)": WAIT,
    "wait of paired jobs (min)": Measure("", "", "paired.wait_s.mean", 60),
    "wait of the others (min)": Measure("", "", "unpaired.wait_s.mean", 60),
    "slowdown": SLOWDOWN,
    "lost node-hours": NODE_HOURS,
}


def rebuild(folder: Path) -> Path:
    """Write the report of the sweep in `folder`; return its path; InputError, OSError."""
    return write_report(read_swept(folder), folder)


def write_report(swept: Swept, folder: Path) -> Path:
    """Write the report of a sweep to its folder; return its path; OSError."""
    return write_page(sweep_page(swept), folder)


def sweep_page(swept: Swept) -> Page:
    """Return the page on a sweep: what was varied, and the results for each machine."""
    said = swept.said
    size = f"{count(len(swept.averages), 'place')} in the grid, {count(said['replications'], 'replication')}"
    return Page(
        title=f"Sweep over {', '.join(said['grid'])}",
        subtitle=f"{count(said['cases'], 'replay')}: {size}",
        command=said["command"],
        version=said["version"],
        facts=list(_facts(swept)),
        sections=list(_sections(swept)),
    )


def _facts(swept: Swept) -> Iterator[tuple[str, str]]:
    said = swept.said
    if swept.failed:
        yield "Attention", f"{count(swept.failed, 'case')} failed"
    for key, values in said["grid"].items():
        yield key, ", ".join(map(str, values))
    last = said["seed"] + said["replications"] - 1
    yield "Seeds", f"{said['seed']} to {last}" if said["replications"] > 1 else str(last)
    for domain in said["settings"]["domains"]:
        yield str(domain["name"]), _settings(domain, "name")
    if others := _settings(said["settings"], "domains"):
        yield "Settings", others


def _settings(table: Mapping[str, Any], but: str) -> str:
    return ", ".join(f"{key} {value}" for key, value in table.items() if key != but)


def _sections(swept: Swept) -> Iterator[Section]:
    keys = list(swept.said["grid"])
    rows = swept.averages.to_dicts()
    yield Section("Results", TEXT)
    for domain in swept.said["settings"]["domains"]:
        name = str(domain["name"])
        figures = list(sweep_figures(name, keys, rows))
        some = f"Only the first {MOST_FIGURES} parts of the grid are drawn." if len(figures) == MOST_FIGURES else ""
        text = f"{_left_out(name, rows)}\n\n{some}"
        tables = [_table(name, keys, rows), *_differences_tables(name, swept)]
        yield Section(name, text, figures=figures, tables=tables)
    if len(swept.said["settings"]["domains"]) > 1:
        yield Section("Pairs", tables=[_pairs_table(keys, rows)])
    if swept.failed:
        yield _failed_section(swept)


def _left_out(domain: str, rows: Sequence[Row]) -> str:
    """Say how many jobs were not replayed, and why: the greatest numbers at any place in the grid."""
    most = {name: max(row.get(f"{domain}.rejected.{name}") or 0 for row in rows) for name in REASONS}
    said = ", ".join(f"{shown(jobs)} {REASONS[name]}" for name, jobs in most.items() if jobs)
    return f"Jobs left out of the trace of a case: {said}." if said else "Every job of the traces was replayed."


def _table(domain: str, keys: Sequence[str], rows: Sequence[Row]) -> Table:
    cells = [
        [place_name(row, keys), f"{row['n']:,}", *(str(of.of(row, domain) or "–") for of in COLUMNS.values())]
        for row in rows
    ]
    return Table(f"{domain}: averages", "Means ± half their 95 % intervals.", ["", "cases", *COLUMNS], cells)


def _differences_tables(domain: str, swept: Swept) -> Iterator[Table]:
    keys, compared = list(swept.said["grid"]), comparison(swept.said["grid"])
    if compared is None or swept.differences is None:
        return
    rows = swept.differences.to_dicts()
    cells = [[place_name(row, keys), *(signed(of.of(row, domain)) for of in DIFFERING.values())] for row in rows]
    text = DIFFERENCES.format(compared.key, compared.value)
    yield Table(f"{domain}: paired differences", text, ["", *DIFFERING], cells)


def _pairs_table(keys: Sequence[str], rows: Sequence[Row]) -> Table:
    titles = {"pairs": "pairs", "together": "started together", "desynchronised": "apart", "never": "not both started"}
    cells = [[place_name(row, keys), *(_mean(row[f"pairs.{name}"]) for name in titles)] for row in rows]
    return Table("What became of the pairs", "Means over the replications.", ["", *titles.values()], cells)


def _mean(value: float | None) -> str:
    return "–" if value is None else shown(value)


def _failed_section(swept: Swept) -> Section:
    keys = [key for key in swept.first_failed[0] if key != "error"]
    rows = [[place_name(row, keys), str(row["error"])] for row in swept.first_failed]
    text = f"{count(swept.failed, 'case')} of {swept.said['cases']:,} failed and are left out of the averages."
    more = " The first are listed; results.parquet has all." if swept.failed > len(rows) else ""
    return Section("Failed cases", text + more, tables=[Table("Why they failed", "", ["", "reason"], rows)])
