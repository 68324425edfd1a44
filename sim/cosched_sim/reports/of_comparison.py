"""The report of a replay under every combination of schemes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cosched.words.quantities import count, durations, number, percent
from cosched_sim.combinations import NONE
from cosched_sim.reports.figures.bars import Panel, grouped_bars
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.of_replay import in_words, write_report
from cosched_sim.reports.page import REPORT, Cell, Page, Section, Table, write_page
from cosched_sim.reports.summary import read_comparison
from cosched_sim.results.estimate import Estimate, signed
from cosched_sim.results.staging import COMPARISON

HEADER = ("schemes", "mean wait", "slowdown", "sync time", "lost node-hours", "lost", "utilisation", "pairs together")
TEXT = (
    "The same jobs without coscheduling (none) and under every combination of the machines' schemes: the letters, one "
    "a machine in the order above, say whether it holds (H) or yields (Y){} when a job is ready before its mate. "
    "Each name leads to that replay's own report."
)
DIFFERENCES = (
    "How much longer jobs wait, and how much more they are slowed down, than in the replay without coscheduling: "
    "differences job by job, of the jobs that ran to their ends in both. Jobs that are submitted one after another "
    "wait for the same, so the intervals come from the means of twenty batches of consecutive jobs."
)
DIFFERING = ("schemes", "wait (min)", "wait of paired jobs (min)", "wait of the others (min)", "slowdown")
UNITS = (60, 60, 60, 1)
MEETS = ", or yields and meets its mate by a slot (M),"


def write_comparison(folder: Path) -> Path:
    """Write a report for each combination, and the one that compares them; return its path; InputError, OSError."""
    said = read_comparison(folder / COMPARISON)
    for name in said["combinations"]:
        write_report(folder / name)
    return write_page(comparison_page(said), folder)


def comparison_page(said: Mapping[str, Any]) -> Page:
    """Return the page on what each combination costs; `said` is the content of comparison.json."""
    runs: Mapping[str, Any] = said["combinations"]
    first = next(iter(runs.values()))
    names = list(first["domains"])
    text = TEXT.format(MEETS if any("M" in name for name in runs) else "")
    figures, tables = [_figure(names, runs)], [_table(name, runs) for name in names]
    return Page(
        title=f"Schemes compared on {in_words(names)}",
        subtitle=f"{count(len(runs), 'replay')} of the same jobs; {count(first['pairs']['pairs'], 'pair')}",
        command=said["command"],
        version=said["version"],
        facts=list(_facts(first)),
        sections=[Section("Schemes compared", text, figures=figures, tables=tables), *_differences(names, said)],
    )


def _figure(names: Sequence[str], runs: Mapping[str, Any]) -> Figure:
    """Return bars for each machine and combination; the base line is the replay without coscheduling."""

    def panel(title: str, label: str, measure: Callable[[Any], Estimate | None], *, base: bool = False) -> Panel:
        values = {run: [measure(said["domains"][name]) for name in names] for run, said in runs.items()}
        alone = values.pop(NONE, [])
        return Panel(title, label, "machine", names, values, alone if base else ())

    panels = [
        panel("Wait", "mean wait (min)", lambda said: _mean(said, "all", "wait_s", 60), base=True),
        panel("Slowdown", "mean slowdown", lambda said: _mean(said, "all", "slowdown"), base=True),
        panel("Sync time", "mean sync time (min)", lambda said: _mean(said, "paired", "sync_s", 60)),
        panel("Lost to holds", "share of the machine (%)", lambda said: Estimate(100 * said["held_share"])),
    ]
    caption = (
        "Mean wait and slowdown of all jobs of each machine, mean sync time of its paired jobs, and the share of its "
        "node-hours that was lost to holds. Dashed: without coscheduling."
    )
    return grouped_bars("schemes", "What each choice of schemes costs", caption, panels, "schemes")


def _mean(said: Mapping[str, Any], group: str, metric: str, unit: float = 1) -> Estimate | None:
    mean = said[group][metric]["mean"]
    return None if mean is None else Estimate(mean / unit)


def _facts(first: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, domain in first["domains"].items():
        paired = domain["paired"]["jobs"]
        yield name, f"{count(domain['nodes'], 'node')}, {count(domain['jobs'], 'job')}, {paired:,} of them paired"
    yield "Seed", str(first["seed"])


def _table(domain: str, runs: Mapping[str, Any]) -> Table:
    found = {name: summary["domains"][domain] for name, summary in runs.items()}
    waits = durations([(of["all"]["wait_s"]["mean"], None) for of in found.values()])
    syncs = durations([(None if name == NONE else of["paired"]["sync_s"]["mean"], None) for name, of in found.items()])
    rows = [
        _row(name, found[name], summary["pairs"], wait, sync)
        for (name, summary), wait, sync in zip(runs.items(), waits, syncs, strict=True)
    ]
    return Table(domain, "Means over all its jobs; sync time over the paired ones.", HEADER, rows)


def _differences(names: Sequence[str], said: Mapping[str, Any]) -> Iterator[Section]:
    """Yield a section with a table for each domain; a run of an earlier version has no differences."""
    found, tables = said.get("differences", {}), []
    for name in names if found else ():
        rows = [[run, *map(_difference, domains[name].values(), UNITS)] for run, domains in found.items()]
        tables.append(Table(name, "Means ± half their 95 % intervals.", DIFFERING, rows))
    if tables:
        yield Section("The same jobs without coscheduling", DIFFERENCES, tables=tables)


def _difference(found: Mapping[str, float | None], unit: float) -> str:
    mean, half = found["mean"], found["ci95"]
    return "–" if mean is None else signed(Estimate(mean / unit, None if half is None else half / unit))


def _row(name: str, domain: Mapping[str, Any], pairs: Mapping[str, Any], wait: str, sync: str) -> Sequence[str | Cell]:
    return [
        Cell(name, link=f"{name}/{REPORT}"),
        wait or "–",
        number(domain["all"]["slowdown"]["mean"]) or "–",
        sync or "–",
        f"{domain['held_node_seconds'] / 3600:,.0f}",
        percent(domain["held_share"], 2),
        percent(domain["utilisation"]),
        f"{pairs['together']:,} of {pairs['pairs']:,}",
    ]
