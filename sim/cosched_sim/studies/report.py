"""The report of a study: a page in Markdown, report.html, tables as CSV, and lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polars import DataFrame

from cosched_sim.reports.page import FIGURES, REPORT, Page, Section, Tile, write_page
from cosched_sim.studies.tables import in_markdown
from cosched_sim.studies.verdicts import LEAST, inconclusive
from cosched_sim.sweeps.storage import RESULTS
from cosched_sim.workload.traces.atomic import write_whole

PAGE, TABLES = "results.md", "tables"
FIRST = ("Asked", "Found", "Agrees", "Does not, and why", "For a site")  # what the five first sentences say
WITHHELD = {  # of a run that is not for conclusions
    FIRST[2]: f"Nothing is counted: that takes a full run of {LEAST} replications or more.",
    FIRST[3]: "Not said of such a run; the tables have all intervals.",
}


@dataclass(frozen=True)
class Report:
    """What a study found. `markdown` has the lines of the page in Markdown below the first ones.

    `first`: the five sentences that one reads first, in the order of FIRST. `told`: what the terminal shows below
    them, text or tables. `count`: the replications of the places that have fewest. `files`: what the page and the
    tables hold.
    """

    said: Mapping[str, Any]
    count: int
    title: str
    subtitle: str
    first: Sequence[str]
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    markdown: Iterable[str]
    tables: Iterable[tuple[str, DataFrame]]
    told: Sequence[Any]
    failed: int
    tiles: Sequence[Tile] = ()
    files: tuple[str, str] = ("the verdict and all tables", "all means and comparisons, as CSV")

    @property
    def warning(self) -> str:
        """Why nobody should conclude from it; empty if one may."""
        return inconclusive(self.said, self.count)

    @property
    def sentences(self) -> list[tuple[str, str]]:
        """The five sentences with their names; what counts and explains is left out if nobody should conclude."""
        withheld = WITHHELD if self.warning else {}
        return [(name, withheld.get(name, text)) for name, text in zip(FIRST, self.first, strict=True)]

    def summary(self, folder: Path) -> Iterator[Any]:
        """Yield what the terminal shows."""
        yield from filter(None, [self.warning])
        yield from (f"{name}: {text}" for name, text in self.sentences)
        yield ""
        yield from self.told
        yield ""
        yield f"{folder / PAGE}, {folder / REPORT}: {self.files[0]}"
        yield f"{folder / TABLES}: {self.files[1]}"
        yield f"{folder / RESULTS}: a row a case"

    def write(self, folder: Path) -> None:
        """Write the page in Markdown, each tables/NAME.csv, the figures and report.html. OSError."""
        (folder / TABLES).mkdir(exist_ok=True)
        for name, table in self.tables:
            write_whole(folder / TABLES / f"{name}.csv", table.write_csv())
        write_whole(folder / PAGE, "".join(f"{line}\n" for line in self._lines()))
        page = Page(
            title=self.title,
            subtitle=self.subtitle,
            command=self.said["command"],
            version=self.said["version"],
            first=[*([("Beware", self.warning)] if self.warning else []), *self.sentences],
            facts=self.facts,
            tiles=self.tiles,
            sections=[replace(each, text=each.text.replace("**", "")) for each in self.sections],
        )
        write_page(page, folder)

    def _lines(self) -> Iterator[str]:
        yield from (f"# {self.title}", "")
        if self.warning:
            yield from (f"**{self.warning}**", "")
        yield from (f"* **{name}.** {text}" for name, text in self.sentences)
        yield ""
        yield from self.markdown


def sections_in_markdown(sections: Iterable[Section]) -> Iterator[str]:
    """Yield the lines of sections: one of text has its title, and each table has its own, if that is another one.

    A section of figures alone names their files.
    """
    for section in sections:
        if section.text or not section.tables:
            yield from (f"## {section.title}", "")
        figures = [*section.figures, *(widget.still for widget in section.widgets)]
        for figure in figures if not section.text and not section.tables else ():
            yield from (f"{figure.title}: see {FIGURES}/{figure.name}.svg", "")
        for paragraph in filter(None, section.text.split("\n\n")):
            yield from (paragraph, "")
        for table in section.tables:
            if not section.text:
                yield from (f"## {table.title}", "")
            elif table.title != section.title:
                yield from (f"{table.title}:", "")
            yield from in_markdown(table)
