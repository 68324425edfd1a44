"""The report of the study: results.md, tables and report.html, from the results in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cosched.sim.reports.page import write_page
from cosched.sim.studies.folder import files, read_results, write_texts
from cosched.sim.studies.meet.asked import Figure, figures
from cosched.sim.studies.meet.markdown import replications, results_in_markdown
from cosched.sim.studies.meet.pages import study_page
from cosched.sim.studies.meet.results import Results
from cosched.sim.studies.meet.running import read_study
from cosched.sim.studies.meet.tables import averages_table, comparisons_table
from cosched.sim.studies.meet.verdict import verdict

PAGE = "results.md"


@dataclass(frozen=True)
class Found:
    """The results of a study: study.json, and what its cases measured."""

    said: dict[str, Any]
    results: Results

    @cached_property
    def figures(self) -> list[Figure]:
        """What was asked, and what was measured."""
        return figures(self.results)

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
        for each in self.figures:
            yield f"{each.what}: {each.measured}. Asked: {each.asked}. Reached: {each.reached}."
        yield ""
        yield from files(folder, PAGE)


def rebuild(folder: Path) -> Found:
    """Write results.md, the tables and report.html from a study's results; InputError, OSError."""
    found = read_found(folder)
    results = found.results
    text = results_in_markdown(found.said, results, found.figures, found.verdict)
    tables = ("averages", averages_table(results)), ("comparisons", comparisons_table(results))
    write_texts(folder, PAGE, text, tables)
    write_page(study_page(found.said, results, found.figures, found.verdict), folder)
    return found


def read_found(folder: Path) -> Found:
    """Read the results in a study's folder; InputError."""
    said, experiments = read_study(folder)
    return Found(said, read_results(folder, lambda rows: Results(rows, experiments)))
