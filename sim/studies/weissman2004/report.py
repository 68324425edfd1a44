"""The report of the study: paper.md, tables, figures and report.html, from the results in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosched.sim.reports.page import REPORT, write_page
from cosched.sim.studies.folder import TABLES, read_results, write_texts
from cosched.sim.studies.statements import Checked, Compared, claims_table, numbers_table
from cosched.sim.studies.weissman2004.pages import paper_in_markdown, study_page
from cosched.sim.studies.weissman2004.paper.claims import check_claims
from cosched.sim.studies.weissman2004.paper.numbers import Statement, compare_numbers, score_of
from cosched.sim.studies.weissman2004.results import Results
from cosched.sim.studies.weissman2004.running import read_study
from cosched.sim.studies.weissman2004.setup import Plan
from cosched.sim.studies.weissman2004.tables import averages_table
from cosched.sim.studies.weissman2004.words import left_out, replications
from cosched.sim.sweeps.storage import RESULTS

PAGE = "paper.md"


@dataclass(frozen=True)
class Found:
    """The results of a study: study.json, the plan, the results, and their comparison with the paper."""

    said: dict[str, Any]
    plan: Plan
    results: Results
    numbers: list[Compared[Statement]]
    claims: list[Checked]

    def summary(self, folder: Path) -> Iterator[str]:
        """Yield the lines for the terminal."""
        yield replications(self.said)
        scored, near = score_of(self.numbers)
        holding = sum(checked.verdict.holds for checked in self.claims)
        yield (
            f"Of the paper's {scored.all} numbers of outcomes {scored.inside} agree, {scored.within} lie within our "
            f"intervals and {near} within 5 %; {holding} of its {len(self.claims)} claims hold."
        )
        for checked in self.claims:
            if not checked.verdict.holds:
                yield f"  not here: {checked.claim.text} ({checked.claim.where})"
        if missing := left_out(self.said):
            yield missing
        yield ""
        yield f"{folder / REPORT}: all figures and tables"
        yield f"{folder / PAGE}: every number and claim of the paper beside ours"
        yield f"{folder / TABLES}: the same, and all means, as CSV"
        yield f"{folder / RESULTS}: a row a case"


def rebuild(folder: Path) -> Found:
    """Write paper.md, the tables, figures and report.html from a study's results; InputError, OSError."""
    said, plan = read_study(folder)
    results = read_results(folder, Results)
    found = Found(said, plan, results, compare_numbers(results), check_claims(results))
    tables = (
        ("paper", numbers_table(found.numbers)),
        ("claims", claims_table(found.claims)),
        ("averages", averages_table(results)),
    )
    write_texts(folder, PAGE, paper_in_markdown(said, plan, results, found.numbers, found.claims), tables)
    write_page(study_page(said, plan, results, found.numbers, found.claims), folder)
    return found
