"""The study's results as a page in Markdown, and as report.html."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cosched.sim.reports.page import Page, Section, Table
from cosched.sim.studies.groups.results import Results
from cosched.sim.studies.groups.setup import MEANING, SETUP
from cosched.sim.studies.groups.tables import counts_table, means_tables, togetherness_table
from cosched.sim.studies.means import MeansTable, in_markdown
from cosched.sim.studies.measured import LEAST
from cosched.sim.studies.months import replications

TITLE = "Groups beside pairs"
WORDS = (
    "Times are in minutes. The wait of a group is from its last submission to the start of the member that starts "
    "last; in pairs, and without coscheduling, its members start apart. The sync time of a member is from when it was "
    "ready first to its start. Others are the jobs in no group. Held node-time is in per cent of all."
)
METHOD = (
    "Compared are places with {least} replications or more. Differences are those between replays of the same jobs, "
    "with Student's intervals over the replications. They are corrected for their number by Bonferroni: with {count:,} "
    "comparisons each interval has a level of 1 - 0.05 / {count:,}, so that all of them hold together in at least 95 % "
    "of studies. A comparison is better or worse if its interval leaves out 0, and else open. Of every measure less is "
    "better. Means in tables have intervals of their own, at 95 %."
)
FEWER = "There are fewer replications than comparisons need: only means are shown, and nothing is decided."


def results_in_markdown(said: dict[str, Any], results: Results, told: Sequence[str]) -> str:
    """Return the content of results.md; `told` are the paragraphs of the verdict."""
    return "\n".join(_lines(said, results, told)) + "\n"


def study_page(said: dict[str, Any], results: Results, told: Sequence[str]) -> Page:
    """Return the whole page of report.html."""
    return Page(
        title=TITLE,
        subtitle="Jobs on several machines that start together",
        command=said["command"],
        version=said["version"],
        facts=[("Set-up", SETUP), ("Workloads", replications(said)), ("Schemes", MEANING), ("Measures", WORDS)],
        sections=[
            Section("Verdict", "\n\n".join(told).replace("**", "")),
            Section("Together, apart, never", tables=[_table(togetherness_table(results))]),
            Section("Means", tables=list(map(_table, means_tables(results)))),
            Section("Comparisons", _method(results), tables=[_table(counts_table(results))]),
        ],
    )


def _lines(said: dict[str, Any], results: Results, told: Sequence[str]) -> Iterator[str]:
    yield from (f"# {TITLE}", "")
    yield f"Written by `cosched study groups`, version {said['version']}. {replications(said)}"
    yield from ("", SETUP, "", MEANING, "", WORDS, "", "## Verdict", "")
    for paragraph in told:
        yield from (paragraph, "")
    if said["replications"] < LEAST:
        yield from (FEWER, "")
    yield from _section(togetherness_table(results))
    for table in means_tables(results):
        yield from _section(table)
    yield from _section(counts_table(results), _method(results), "")


def _section(table: MeansTable, *text: str) -> Iterator[str]:
    yield from (f"## {table.title}", "", *text)
    yield from in_markdown(table)


def _method(results: Results) -> str:
    return METHOD.format(count=len(results.comparisons), least=LEAST)


def _table(table: MeansTable) -> Table:
    return Table(table.title, "", table.head, table.rows)
