"""The report of the study: tables, figures, paper.md and report.html, from the results in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polars import DataFrame

from cosched.sim.reports.page import write_page
from cosched.sim.studies.folder import read_results, write_texts
from cosched.sim.studies.statements import Checked, Compared, claims_table, numbers_table
from cosched.sim.studies.tang2011.markdown import paper_in_markdown
from cosched.sim.studies.tang2011.pages import study_page
from cosched.sim.studies.tang2011.paper.comparison import check_claims, compare_numbers
from cosched.sim.studies.tang2011.paper.statement import Statement
from cosched.sim.studies.tang2011.results import Results
from cosched.sim.studies.tang2011.running import read_study
from cosched.sim.studies.tang2011.sensitivity import sensitivities
from cosched.sim.studies.tang2011.setup import Plan
from cosched.sim.studies.tang2011.tables import (
    deadlocks_table,
    properties_table,
    release_order_table,
    sensitivity_table,
)

PAPER = "paper.md"


@dataclass(frozen=True)
class Found:
    """The results of a study: study.json, the plan, the results, and their comparison with the paper."""

    said: dict[str, Any]
    plan: Plan
    results: Results
    numbers: list[Compared[Statement]]
    claims: list[Checked]


def rebuild(folder: Path) -> Found:
    """Write tables, figures, paper.md and report.html from a study's results; InputError, OSError."""
    found = read_found(folder)
    properties = properties_table(found.results)
    write_texts(folder, PAPER, paper_in_markdown(found.said, found.numbers, found.claims, properties), tables(found))
    page = study_page(found.said, found.plan, found.results, found.numbers, found.claims)
    write_page(page, folder)
    return found


def read_found(folder: Path) -> Found:
    """Read the results in a study's folder; InputError."""
    said, plan = read_study(folder)
    results = read_results(folder, lambda rows: Results.of(rows, plan.days, sensitivities(plan)))
    return Found(said, plan, results, compare_numbers(results, said["facts"]), check_claims(results))


def tables(found: Found) -> Iterator[tuple[str, DataFrame]]:
    """Yield name and content of each tables/NAME.csv."""
    yield "paper", numbers_table(found.numbers)
    yield "claims", claims_table(found.claims)
    yield "averages", found.results.means
    yield "deadlocks", deadlocks_table(found.results)
    yield "release-order", release_order_table(found.results)
    for sensitivity in found.results.sensitivities:
        yield f"sensitivity-{sensitivity.name}", sensitivity_table(found.results, sensitivity)
