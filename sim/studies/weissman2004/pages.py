"""The study's results as paper.md, and as report.html."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cosched.sim.reports.page import Page, Section, Table, Tile
from cosched.sim.studies.means import MeansTable, in_markdown
from cosched.sim.studies.statements import (
    Checked,
    Compared,
    claims_in_markdown,
    claims_on_page,
    numbers_in_markdown,
    numbers_on_page,
)
from cosched.sim.studies.weissman2004.figures import fit_figures, paper_figures
from cosched.sim.studies.weissman2004.paper.numbers import Statement, score_of
from cosched.sim.studies.weissman2004.results import Results
from cosched.sim.studies.weissman2004.setup import Plan
from cosched.sim.studies.weissman2004.tables import fits_table, loads_table, readings_table
from cosched.sim.studies.weissman2004.words import (
    AGREEMENT,
    LENGTH,
    MISPRINTS,
    PAPER,
    READINGS,
    RULES,
    SINGLE,
    SYSTEM,
    USER,
    left_out,
    replications,
)

DISTANCES = (
    "Distances of the model from the log: for gaps, sizes and run times the greatest difference of cumulative shares "
    "(Kolmogorov and Smirnov), for hours half the sum of the differences of shares. 0 is a perfect fit, 1 none."
)
LOADS = (
    'Means over min_%_of_ideal. "By trace" has the least and the greatest ratio of single traces. The ratios hang on '
    "the load more than on anything else."
)


def paper_in_markdown(
    said: dict[str, Any],
    plan: Plan,
    results: Results,
    numbers: Sequence[Compared[Statement]],
    claims: Sequence[Checked],
) -> str:
    """Return the content of paper.md."""
    return "\n".join(_lines(said, plan, results, numbers, claims)) + "\n"


def _lines(
    said: dict[str, Any],
    plan: Plan,
    results: Results,
    numbers: Sequence[Compared[Statement]],
    claims: Sequence[Checked],
) -> Iterator[str]:
    yield from (
        "# Integrated scheduling: the paper's numbers and claims beside ours",
        "",
        f"{PAPER}. {replications(said)}",
        "",
    )
    if missing := left_out(said):
        yield from (missing, "")
    for words in (SYSTEM, USER, RULES, SINGLE, MISPRINTS):
        yield from (words, "")
    yield from ("## Numbers", "", AGREEMENT, "")
    yield from numbers_in_markdown(numbers)
    for table, words in _sensitivities(said, plan, results):
        yield from (f"## {table.title}", "", words, "")
        yield from in_markdown(table)
    yield from claims_in_markdown(claims)


def _sensitivities(said: dict[str, Any], plan: Plan, results: Results) -> Iterator[tuple[MeansTable, str]]:
    yield loads_table(results, plan, said["fits"]), f"{LOADS} {LENGTH}"
    yield readings_table(results), READINGS
    if said["fits"]:
        yield fits_table(said["fits"]), DISTANCES


def study_page(
    said: dict[str, Any],
    plan: Plan,
    results: Results,
    numbers: Sequence[Compared[Statement]],
    claims: Sequence[Checked],
) -> Page:
    """Return the whole page of report.html."""
    figures = paper_figures(results)
    sensitivities = [
        Section(table.title, words, tables=[_table(table)]) for table, words in _sensitivities(said, plan, results)
    ]
    return Page(
        title="Integrated scheduling",
        subtitle=f"{PAPER}, carried out again",
        command=said["command"],
        version=said["version"],
        facts=list(_facts(said)),
        tiles=list(_tiles(numbers, claims)),
        sections=[
            Section(
                "The paper's numbers and ours",
                AGREEMENT,
                tables=[numbers_on_page("Every number that 4.4 states", numbers)],
            ),
            Section("The paper's claims", tables=[claims_on_page(claims)]),
            Section("System-centric iScheduling", SINGLE, figures[:6]),
            Section("User-centric iScheduling", "", figures[6:]),
            *sensitivities,
            *([Section("The models and the logs", "", list(fit_figures(said["fits"])))] if said["fits"] else []),
        ],
    )


def _facts(said: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Traces", replications(said)
    if missing := left_out(said):
        yield "Left out", missing
    for words in (SYSTEM, USER):
        name, _, text = words.partition(": ")
        yield name, text
    yield "Rules", RULES
    yield "Misprints", MISPRINTS


def _tiles(numbers: Sequence[Compared[Statement]], claims: Sequence[Checked]) -> Iterator[Tile]:
    scored, near = score_of(numbers)
    yield Tile(
        f"{scored.inside} of {scored.all}",
        "numbers agree",
        f"{scored.within} more within the interval, {near} within 5 %",
    )
    yield Tile(f"{sum(checked.verdict.holds for checked in claims)} of {len(claims)}", "claims hold")


def _table(table: MeansTable) -> Table:
    return Table(table.title, "", table.head, table.rows)
