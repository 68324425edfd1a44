"""The report of the study: results.md, tables and report.html, from the results in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosched.sim.reports.page import Page, Section, Table, write_page
from cosched.sim.results.estimate import signed
from cosched.sim.studies.fluid.cases import STUDY
from cosched.sim.studies.fluid.results import COMPARED, Results
from cosched.sim.studies.fluid.setup import MAIN, MEANING, MEDIUM_SHARE, SETUP
from cosched.sim.studies.fluid.tables import (
    averages_table,
    comparisons_table,
    differences_tables,
    means_table,
    verdicts_table,
)
from cosched.sim.studies.folder import files, read_results, write_texts
from cosched.sim.studies.means import MeansTable, in_markdown
from cosched.sim.studies.measured import BETTER, LEAST, WORSE, verdict_of
from cosched.sim.studies.months import replications

PAGE, TITLE = "results.md", "A fluid Eureka beside a batch one"
WORDS = (
    "Times are means in minutes. The pair wait is from the later submission to the start of both; the sync time from "
    "when a job was ready first to its start. Unpaired jobs have no mates; their total is from submission to end, as "
    "jobs on fewer processors run longer. Held is in per cent of the node-time. Differences are those between "
    "replays of the same jobs, with Student's 95 % intervals over the replications."
)
FEWER = f"Nothing is decided: comparisons need at least {LEAST} replications."


@dataclass(frozen=True)
class Found:
    """The results of a study: study.json, and what its cases measured."""

    said: dict[str, Any]
    results: Results

    def verdict(self) -> Iterator[str]:
        """Yield the paragraphs of the verdict."""
        pairs, apart = self.results.apart()
        yield f"Of {pairs:,} pairs in all cases {pairs - apart:,} started together."
        against = self.results.comparisons
        if not against:
            yield FEWER
            return
        better, worse = (sum(each.verdict == word for each in against) for word in (BETTER, WORSE))
        alone = [verdict_of(each.difference) for each in against]
        yield (
            f"A fluid Eureka is better in {better} of {len(against)} comparisons, worse in {worse}; the others are "
            "open. These intervals hold together (Bonferroni). By intervals of 95 % each it is better in "
            f"{alone.count(BETTER)} and worse in {alone.count(WORSE)}."
        )
        for measure in COMPARED:
            here = [of for of in against if (of.kind, of.share, of.measure) == (MAIN.name, MEDIUM_SHARE, measure)]
            told = ", ".join(f"{of.schemes} {signed(of.difference)} on {of.batch}" for of in here)
            yield f"{measure[0].upper() + measure[1:]}, {MAIN.name}: {told}."

    def tables(self) -> Iterator[MeansTable]:
        """Yield the tables of the page."""
        yield from differences_tables(self.results)
        yield verdicts_table(self.results)
        yield means_table(self.results)

    def summary(self, folder: Path) -> Iterator[str]:
        """Yield the lines for the terminal."""
        yield replications(self.said)
        for paragraph in self.verdict():
            yield from ("", paragraph)
        yield ""
        yield from files(folder, PAGE)


def rebuild(folder: Path) -> Found:
    """Write results.md, the tables and report.html from a study's results; InputError, OSError."""
    found = Found(STUDY.read(folder), read_results(folder, Results))
    tables = ("averages", averages_table(found.results)), ("comparisons", comparisons_table(found.results))
    write_texts(folder, PAGE, "\n".join(_lines(found)) + "\n", tables)
    write_page(_page(found), folder)
    return found


def _lines(found: Found) -> Iterator[str]:
    yield from (f"# {TITLE}", "")
    yield f"Written by `cosched study fluid`, version {found.said['version']}. {replications(found.said)}"
    yield from ("", SETUP, "", MEANING, "", WORDS, "", "## Verdict", "")
    for paragraph in found.verdict():
        yield from (paragraph, "")
    for table in found.tables():
        yield from (f"## {table.title}", "")
        yield from in_markdown(table)


def _page(found: Found) -> Page:
    facts = [("Set-up", SETUP), ("Workloads", replications(found.said)), ("Places", MEANING), ("Measures", WORDS)]
    tables = [Table(table.title, "", table.head, table.rows) for table in found.tables()]
    return Page(
        title=TITLE,
        subtitle="What running jobs that change their size do for jobs with mates",
        command=found.said["command"],
        version=found.said["version"],
        facts=facts,
        sections=[Section("Verdict", "\n\n".join(found.verdict())), Section("Tables", tables=tables)],
    )
