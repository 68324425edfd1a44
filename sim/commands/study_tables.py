"""The output of `cosched study tang2011`: the main numbers beside the paper's, and where the files are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.sim.commands.tables import new_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from cosched.sim.studies.tang2011.report import Found

FILES = (
    ("report.html", "all figures and tables"),
    ("paper.md", "every number and claim of the paper beside ours"),
    ("tables", "the same, and more, as CSV"),
    ("figures", "SVG, PNG and CSV of each"),
    ("results.parquet", "a row a case"),
)


def study_summary(found: Found, folder: Path) -> Iterator[RenderableType]:
    """Yield a table of numbers (without those of the set-up), a line on claims, what was left out, and the files."""
    from cosched.sim.studies.tang2011.paper.comparison import score_of
    from cosched.sim.studies.tang2011.words import left_out, replications

    yield replications(found.said)
    yield ""
    yield _numbers(found)
    yield ""
    holding = [checked for checked in found.claims if checked.verdict.holds]
    numbers, claims = score_of(found.numbers), len(found.claims)
    yield (
        f"Of the paper's {numbers.all} numbers of outcomes {numbers.inside} agree and {numbers.within} lie within our "
        f"intervals; {len(holding)} of its {claims} claims hold."
    )
    for checked in found.claims:
        if not checked.verdict.holds:
            yield f"  not here: {checked.claim.text} ({checked.claim.where})"
    if missing := left_out(found.said):
        yield missing
    yield ""
    for name, what in FILES:
        yield f"{folder / name}: {what}"


def _numbers(found: Found) -> Table:
    table = new_table("", "paper", "ours", "agrees", left=4)
    for compared in found.numbers:
        statement = compared.statement
        if not statement.fact:
            where = f"{statement.where}  {statement.what}"
            table.add_row(where, statement.in_words, compared.ours, compared.agrees)
    return table
