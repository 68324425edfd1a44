"""The numbers that a paper states and its claims, beside ours: agreement, and tables for files and pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import polars

from cosched.sim.reports.page import Cell, Table
from cosched.sim.results.estimate import Estimate, shown
from cosched.sim.studies.claims import Claim, Verdict
from cosched.sim.studies.means import in_columns

INSIDE, WITHIN, OUTSIDE, UNKNOWN = "yes", "within ±", "no", "no result"


@dataclass(frozen=True, slots=True)
class Statement:
    """One number or range of a paper.

    `quote`: the paper's words, apart from white space. `said`: the number as we read it. Our mean agrees if it is
    from `low` to `high` (None: no bound; for a single number these are the values that round to it). `note`: a remark
    on the paper's number.
    """

    where: str
    what: str
    said: str
    quote: str
    low: float | None
    high: float | None
    note: str = field(default="", kw_only=True)

    @property
    def in_words(self) -> str:
        """The number with the note."""
        return f"{self.said} ({self.note})" if self.note else self.said


S = TypeVar("S", bound=Statement)


@dataclass(frozen=True, slots=True)
class Compared(Generic[S]):
    """A statement of the paper, our result in words, and whether it agrees, in one of the words above or another."""

    statement: S
    ours: str
    agrees: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim and its verdict."""

    claim: Claim[Any]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Score:
    """How many numbers of outcomes the paper states, how many of ours are inside, and how many only reach it."""

    all: int
    inside: int
    within: int


def score(agreements: Sequence[str]) -> Score:
    """Count the numbers that agree."""
    return Score(len(agreements), agreements.count(INSIDE), agreements.count(WITHIN))


def agreement(values: Sequence[Estimate], statement: Statement) -> str:
    """Whether all of our means are in the paper's range, or their intervals reach it."""
    if not values:
        return UNKNOWN
    if all(_between(value.mean, value.mean, statement) for value in values):
        return INSIDE
    return WITHIN if all(_between(value.low, value.high, statement) for value in values) else OUTSIDE


def _between(low: float, high: float, statement: Statement) -> bool:
    """Whether the interval from `low` to `high` overlaps the paper's range."""
    return (statement.high is None or low <= statement.high) and (statement.low is None or high >= statement.low)


def in_words(values: Mapping[str, Estimate], *, placed: bool = False) -> str:
    """Format one value as `61.2 ± 3.0`, several as the least and the greatest with their places.

    `placed`: a single one with its place, too.
    """
    if len(values) == 1 and not placed:
        return str(next(iter(values.values())))
    ends = (choose(values, key=lambda place: values[place].mean) for choose in (min, max))
    low, high = ends
    if values[low].mean == values[high].mean:
        return f"{values[low]} ({low})" if len(values) == 1 else shown(values[low].mean)
    return f"{values[low]} ({low}) to {values[high]} ({high})"


def yes_or_no(verdict: Verdict) -> str:
    """Say in a word whether a claim holds."""
    return "yes" if verdict.holds else "no"


def numbers_table(compared: Sequence[Compared[Any]]) -> polars.DataFrame:
    """Return the table for paper.csv."""
    rows = [
        (c.statement.where, c.statement.what, c.statement.said, c.ours, c.agrees, c.statement.note, c.statement.quote)
        for c in compared
    ]
    return _texts(rows, ("where", "what", "paper", "ours", "agrees", "note", "quote"))


def claims_table(checked: Sequence[Checked]) -> polars.DataFrame:
    """Return the table for claims.csv."""
    rows = [
        (
            c.claim.where,
            c.claim.text,
            yes_or_no(c.verdict),
            c.verdict.ours,
            c.verdict.reason,
            c.claim.criterion,
            c.claim.quote,
        )
        for c in checked
    ]
    return _texts(rows, ("where", "claim", "holds", "ours", "reason", "criterion", "quote"))


def _texts(rows: Sequence[tuple[str, ...]], columns: Sequence[str]) -> polars.DataFrame:
    return polars.DataFrame(rows, schema=dict.fromkeys(columns, polars.String), orient="row")


def numbers_on_page(title: str, numbers: Sequence[Compared[Any]]) -> Table:
    """Return the table for report.html."""
    rows: list[Sequence[str | Cell]] = []
    for each in numbers:
        good = {INSIDE: True, WITHIN: True, OUTSIDE: False}.get(each.agrees)
        statement = each.statement
        rows.append([statement.what, statement.where, statement.in_words, each.ours, Cell(each.agrees, good)])
    return Table(title, "", ["What", "Where", "Paper", "Ours", "Agrees"], rows, words=True)


def claims_on_page(claims: Sequence[Checked]) -> Table:
    """Return the table for report.html."""
    rows: list[Sequence[str | Cell]] = []
    for checked in claims:
        claim, verdict = checked.claim, checked.verdict
        holds = Cell(yes_or_no(verdict), verdict.holds)
        rows.append([claim.text, claim.where, holds, claim.criterion, verdict.ours, verdict.reason])
    header = ["Claim", "Where", "Holds", "Decided by", "Found", "If not, why"]
    return Table("Every claim, decided by the means", "", header, rows, words=True)


def numbers_in_markdown(numbers: Sequence[Compared[Any]]) -> Iterator[str]:
    """Yield the lines of the table for the page in Markdown."""
    yield in_columns(["where", "what", "paper", "ours", "agrees"])
    yield in_columns(["---"] * 5)
    for each in numbers:
        statement = each.statement
        yield in_columns([statement.where, statement.what, statement.in_words, each.ours, each.agrees])
    yield ""


def claims_in_markdown(claims: Sequence[Checked]) -> Iterator[str]:
    """Yield the lines of the section for the page in Markdown."""
    holding = sum(checked.verdict.holds for checked in claims)
    yield from (f"## Claims: {holding} of {len(claims)} hold here", "")
    yield in_columns(["where", "claim", "holds", "found", "if not, why"])
    yield in_columns(["---"] * 5)
    for checked in claims:
        claim, verdict = checked.claim, checked.verdict
        text = f"{claim.text} *({claim.criterion})*"
        yield in_columns([claim.where, text, yes_or_no(verdict), verdict.ours, verdict.reason])
