"""The report of the study: results.md and tables, from the results in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars

from cosched.errors import InputError
from cosched.sim.studies.meet.asked import Figure, figures
from cosched.sim.studies.meet.markdown import replications, results_in_markdown
from cosched.sim.studies.meet.results import Results
from cosched.sim.studies.meet.running import read_study
from cosched.sim.studies.meet.tables import averages_table, comparisons_table
from cosched.sim.studies.meet.verdict import verdict
from cosched.sim.sweeps.case import ERROR
from cosched.sim.sweeps.storage import RESULTS
from cosched.workload.traces.atomic import replacing

PAGE, TABLES = "results.md", "tables"  # names in the study's folder


@dataclass(frozen=True)
class Found:
    """The results of a study: meet.json, and what its cases measured."""

    said: dict[str, Any]
    results: Results

    @property
    def failed(self) -> int:
        """The number of cases without measures."""
        return int(self.results.rows[ERROR].is_not_null().sum())

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
        yield f"{folder / PAGE}: the verdict and all tables"
        yield f"{folder / TABLES}: all means and comparisons, as CSV"
        yield f"{folder / RESULTS}: a row a case"


def rebuild(folder: Path) -> Found:
    """Write results.md and the tables from a study's results; InputError, OSError."""
    found = read_found(folder)
    (folder / TABLES).mkdir(exist_ok=True)
    for name, table in (
        ("averages", averages_table(found.results)),
        ("comparisons", comparisons_table(found.results)),
    ):
        with replacing(folder / TABLES / f"{name}.csv") as stream:
            stream.write(table.write_csv().encode())
    with replacing(folder / PAGE) as stream:
        stream.write(results_in_markdown(found.said, found.results, found.figures, found.verdict).encode())
    return found


def read_found(folder: Path) -> Found:
    """Read the results in a study's folder; InputError."""
    said, experiments = read_study(folder)
    path = folder / RESULTS
    try:
        rows = polars.read_parquet(path)
    except (OSError, polars.exceptions.PolarsError):
        reason = "cannot be read as a study's results; --resume completes a study that was interrupted"
        raise InputError(str(path), None, reason) from None
    return Found(said, Results(rows, experiments))
