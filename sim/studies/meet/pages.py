"""The study's page of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cosched.sim.reports.page import Cell, Page, Section, Table
from cosched.sim.studies.means import MeansTable
from cosched.sim.studies.measured import LEAST
from cosched.sim.studies.meet.asked import NO, WITHIN, YES, Figure
from cosched.sim.studies.meet.ideas import told as ideas_told
from cosched.sim.studies.meet.ideas import tried
from cosched.sim.studies.meet.markdown import METHOD, REACHED, SETUP, WORDS, replications
from cosched.sim.studies.meet.results import Results
from cosched.sim.studies.meet.schemes import MEANING
from cosched.sim.studies.meet.tables import (
    asked_table,
    counts_table,
    fairness_tables,
    ideas_table,
    means_tables,
)


def study_page(said: dict[str, Any], results: Results, figures: Sequence[Figure], told: Sequence[str]) -> Page:
    """Return the whole page; `told` are the paragraphs of the verdict."""
    return Page(
        title="Meet beside hold and yield",
        subtitle="Pairs that start together without holding",
        command=said["command"],
        version=said["version"],
        facts=[("Set-up", SETUP), ("Workloads", replications(said)), ("Schemes", MEANING), ("Measures", WORDS)],
        sections=list(_sections(said, results, figures, told)),
    )


def _sections(
    said: dict[str, Any], results: Results, figures: Sequence[Figure], told: Sequence[str]
) -> Iterator[Section]:
    yield Section("Verdict", "\n\n".join(told).replace("**", ""))
    yield Section("Asked and measured", REACHED, tables=[_asked(figures)])
    method = METHOD.format(count=len(results.comparisons), least=LEAST)
    yield Section("Comparisons", method, tables=[_table(counts_table(results))])
    yield Section("Means", tables=list(map(_table, means_tables(results))))
    yield Section("Fairness and calls", tables=list(map(_table, fairness_tables(results))))
    if found := tried(said, results):
        table = ideas_table(found)
        yield Section(table.title, ideas_told(found), tables=[_table(table)])


def _asked(figures: Sequence[Figure]) -> Table:
    table = asked_table(figures)
    good = {YES: True, WITHIN: True, NO: False}
    rows: list[Sequence[str | Cell]] = [[*row[:-1], Cell(row[-1], good.get(row[-1]))] for row in table.rows]
    return Table(table.title, "", table.head, rows, words=True)


def _table(table: MeansTable) -> Table:
    return Table(table.title, "", table.head, table.rows)
