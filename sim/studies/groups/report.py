"""The report of the study: results.md, tables and report.html, from the results in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cosched.sim.reports.page import write_page
from cosched.sim.studies.folder import files, read_results, write_texts
from cosched.sim.studies.groups.cases import STUDY
from cosched.sim.studies.groups.pages import results_in_markdown, study_page
from cosched.sim.studies.groups.results import Results
from cosched.sim.studies.groups.tables import averages_table, comparisons_table
from cosched.sim.studies.groups.verdict import verdict
from cosched.sim.studies.months import replications

PAGE = "results.md"


@dataclass(frozen=True)
class Found:
    """The results of a study: study.json, and what its cases measured."""

    said: dict[str, Any]
    results: Results

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
        yield from files(folder, PAGE)


def rebuild(folder: Path) -> Found:
    """Write results.md, the tables and report.html from a study's results; InputError, OSError."""
    found = Found(STUDY.read(folder), read_results(folder, Results))
    tables = ("averages", averages_table(found.results)), ("comparisons", comparisons_table(found.results))
    write_texts(folder, PAGE, results_in_markdown(found.said, found.results, found.verdict), tables)
    write_page(study_page(found.said, found.results, found.verdict), folder)
    return found
