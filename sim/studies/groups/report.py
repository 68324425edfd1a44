"""The report of the study: results.md, tables and report.html, from the results in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cosched.sim.reports.page import REPORT, write_page
from cosched.sim.studies.folder import TABLES, read_results, write_texts
from cosched.sim.studies.groups.pages import replications, results_in_markdown, study_page
from cosched.sim.studies.groups.results import Results
from cosched.sim.studies.groups.running import read_study
from cosched.sim.studies.groups.tables import averages_table, comparisons_table
from cosched.sim.studies.groups.verdict import verdict
from cosched.sim.sweeps.case import ERROR
from cosched.sim.sweeps.storage import RESULTS

PAGE = "results.md"


@dataclass(frozen=True)
class Found:
    """The results of a study: study.json, and what its cases measured."""

    said: dict[str, Any]
    results: Results

    @property
    def failed(self) -> int:
        """The number of cases without measures."""
        return int(self.results.rows[ERROR].is_not_null().sum())

    @cached_property
    def verdict(self) -> list[str]:
        """The paragraphs of the verdict."""
        return verdict(self.results)

    def summary(self, folder: Path) -> Iterator[str]:
        """Yield the lines for the terminal."""
        yield replications(self.said)
        for paragraph in self.verdict:
            yield from ("", paragraph.replace("**", ""))
        yield ""
        yield f"{folder / PAGE}, {folder / REPORT}: the verdict and all tables"
        yield f"{folder / TABLES}: all means and comparisons, as CSV"
        yield f"{folder / RESULTS}: a row a case"


def rebuild(folder: Path) -> Found:
    """Write results.md, the tables and report.html from a study's results; InputError, OSError."""
    found = Found(read_study(folder), read_results(folder, Results))
    tables = ("averages", averages_table(found.results)), ("comparisons", comparisons_table(found.results))
    write_texts(folder, PAGE, results_in_markdown(found.said, found.results, found.verdict), tables)
    write_page(study_page(found.said, found.results, found.verdict), folder)
    return found
