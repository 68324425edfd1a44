"""The numbers that a paper states and its claims, beside ours. The paper's words are CSV files of its study.

numbers.csv has a row for each number: its place in the paper (`where`), what it is, the number as we read it (`said`),
the range in which ours agrees (`low`, `high`; empty: no bound; of a single number, the values that round to it),
the paper's words (`quote`), a `note`; whether it is an `input`: "set" in the set-up, or "fitted", as our generated
months are to it, or to what it follows from; and which of `ours` is compared, "FINDER: ARGUMENT; ARGUMENT ...".
claims.csv has the place, the claim, the paper's words, the criterion in words, and the name of the check.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from polars import DataFrame, String

from cosched_sim.reports.page import Cell, Section, Table, Tile
from cosched_sim.results.estimate import Estimate, shown
from cosched_sim.studies.study import words_of
from cosched_sim.studies.verdicts import FAILS, GOOD, HOLDS, OPEN, UNKNOWN, Range, Verdict, all_hold

INPUT, SET, FITTED = "input", "set", "fitted"
NEAR = 0.05  # a miss by at most this share is said to be near
CLOSE = f"; off by {100 * NEAR:g} % at most"
MEANS, GREATEST = "means", "greatest"  # finders; the latter finds one value, whose place is told
WORDS = words_of(__file__)

Results = TypeVar("Results")
Found = Mapping[str, Estimate | None]  # our values by their places
Finder = Callable[..., Found]  # of the results and the arguments in numbers.csv


@dataclass(frozen=True, slots=True)
class Statement(Generic[Results]):
    """One number or range of a paper, and what finds ours; see the module for the rest."""

    where: str
    what: str
    said: str
    fits: Range
    quote: str
    note: str
    input: str
    selected: str
    ours: Callable[[Results], Found]

    @property
    def in_words(self) -> str:
        """The number with the note."""
        return f"{self.said} ({self.note})" if self.note else self.said


@dataclass(frozen=True, slots=True)
class Claim(Generic[Results]):
    """A claim of a paper, and what checks it."""

    where: str
    text: str
    quote: str
    criterion: str
    check: Callable[[Results], Verdict]


@dataclass(frozen=True, slots=True)
class Compared:
    """A statement of the paper, our result in words, and whether it agrees, in a word."""

    statement: Statement[Any]
    ours: str
    agrees: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim and its verdict."""

    claim: Claim[Any]
    verdict: Verdict


def read_statements(file: str, finders: Mapping[str, Finder]) -> list[Statement[Any]]:
    """Read numbers.csv beside the module `file`; KeyError, ValueError."""
    return [_statement(row, finders) for row in _rows(Path(file).with_name("numbers.csv"))]


def read_claims(file: str, checks: Mapping[str, Callable[[Results], Verdict]]) -> list[Claim[Results]]:
    """Read claims.csv beside the module `file`; KeyError."""
    rows = _rows(Path(file).with_name("claims.csv"))
    return [Claim(row["where"], row["claim"], row["quote"], row["criterion"], checks[row["check"]]) for row in rows]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def _statement(row: Mapping[str, str], finders: Mapping[str, Finder]) -> Statement[Any]:
    name, _, arguments = row["ours"].partition(": ")
    finder = finders[name]

    def ours(results: Any) -> Found:
        return finder(results, *arguments.split("; "))

    fits = Range(float(row["low"] or -math.inf), float(row["high"] or math.inf))
    words = (row["where"], row["what"], row["said"], fits, row["quote"], row["note"], row["input"])
    return Statement(*words, row["ours"], ours)


def compare(statement: Statement[Any], results: Any, inputs: Sequence[str] = (SET, FITTED)) -> Compared:
    """Compare a number with ours."""
    values = {place: value for place, value in statement.ours(results).items() if value is not None}
    fits = statement.fits
    agrees = all_hold(map(fits.decides, values.values())) if values else UNKNOWN
    ours = in_words(values, placed=statement.selected.startswith(GREATEST)) if values else ""
    if statement.input in inputs and agrees != UNKNOWN:
        return Compared(statement, f"{ours}; not met" if agrees == FAILS else ours, INPUT)
    low, high = fits.low - NEAR * abs(fits.low), fits.high + NEAR * abs(fits.high)
    if agrees == FAILS and all(low <= value.mean <= high for value in values.values()):
        ours += CLOSE
    return Compared(statement, ours, agrees)


def in_words(values: Mapping[str, Estimate], *, placed: bool = False) -> str:
    """Format one value as `61.2 ± 3.0` (`placed`: with its place), several as the least to the greatest with places."""
    if len(values) == 1 and not placed:
        return str(next(iter(values.values())))
    low, high = (choose(values, key=lambda place: values[place].mean) for choose in (min, max))
    if values[low].mean == values[high].mean:
        return f"{values[low]} ({low})" if len(values) == 1 else shown(values[low].mean)
    return f"{values[low]} ({low}) to {values[high]} ({high})"


@dataclass(frozen=True)
class Beside:
    """All numbers and claims of a paper's `section` beside ours; `counted`: what the replications are called.

    Only if the results are `conclusive` is counted how many hold, and said why others do not.
    """

    section: str
    counted: str
    numbers: Sequence[Compared]
    claims: Sequence[Checked]
    conclusive: bool = True

    @classmethod
    def of(
        cls,
        section: str,
        statements: Sequence[Statement[Any]],
        claims: Sequence[Claim[Any]],
        results: Any,
        *,
        generated: bool = True,
        counted: str = "replications",
        conclusive: bool = True,
    ) -> Beside:
        """Compare all of them. What months are fitted to is an input only if they are `generated`."""
        inputs = (SET, FITTED) if generated else (SET,)
        numbers = [compare(each, results, inputs) for each in statements]
        return cls(section, counted, numbers, [Checked(claim, claim.check(results)) for claim in claims], conclusive)

    @cached_property
    def words(self) -> tuple[Counter[str], Counter[str]]:
        """How many numbers and claims there are by their words."""
        return Counter(of.agrees for of in self.numbers), Counter(of.verdict.word for of in self.claims)

    @property
    def score(self) -> str:
        """Say in a sentence how many agree; empty if nothing is concluded."""
        if not self.conclusive:
            return ""
        of, claimed = self.words
        outcomes, near = of.total() - of[INPUT], sum(each.ours.endswith(CLOSE) for each in self.numbers)
        close = f" ({near} by {100 * NEAR:g} % at most)" if near else ""
        numbers = f"of the paper's {outcomes} numbers that are outcomes {held(of)}{close}; " if self.numbers else ""
        told = f"{numbers}of its {claimed.total()} claims {held(claimed)}."
        return told[0].upper() + told[1:]

    @property
    def told(self) -> Iterator[str]:
        """What the terminal shows: the score, and each claim that does not hold, with the reason."""
        yield from filter(None, [self.score])
        for each in self.claims:
            if not each.verdict.holds:
                claim = each.claim
                yield f'  {each.verdict.word}: "{claim.text}" ({claim.where}): {self.reason(each.verdict)}.'

    def reason(self, verdict: Verdict) -> str:
        """Say what does not hold, and if anything is concluded also why."""
        return "; ".join(filter(None, [verdict.reason, verdict.why if self.conclusive else ""]))

    @property
    def tiles(self) -> Iterator[Tile]:
        """The main numbers of the page."""
        if not self.conclusive:
            return
        of, claimed = self.words
        outcomes, note = of.total() - of[INPUT], f"open: {of[OPEN]}; inputs do not count"
        yield Tile(f"{of[HOLDS]} of {outcomes}", "numbers hold", note)
        yield Tile(f"{claimed[HOLDS]} of {claimed.total()}", "claims hold", f"open: {claimed[OPEN]}")

    @property
    def tables(self) -> Iterator[tuple[str, DataFrame]]:
        """The content of paper.csv and claims.csv."""
        of_numbers = [
            (s.where, s.what, s.said, each.ours, each.agrees, s.note, s.quote)
            for each in self.numbers for s in [each.statement]
        ]  # fmt: skip
        yield "paper", _texts(of_numbers, ("where", "what", "paper", "ours", "agrees", "note", "quote"))
        of_claims = [
            (c.where, c.text, v.word, v.ours, self.reason(v), c.criterion, c.quote)
            for each in self.claims for c, v in [(each.claim, each.verdict)]
        ]  # fmt: skip
        yield "claims", _texts(of_claims, ("where", "claim", "verdict", "ours", "reason", "criterion", "quote"))

    def sections(self, more: str = "") -> tuple[Section, Section]:
        """Return the sections of the pages: numbers, with `more` about them, and claims."""
        rows: list[Sequence[str | Cell]] = []
        for each in self.numbers:
            statement, good = each.statement, GOOD.get(each.agrees)
            rows.append([statement.what, statement.where, statement.in_words, each.ours, Cell(each.agrees, good)])
        head = ["What", "Where", "Paper", "Ours", "Agrees"]
        table = Table(f"Every number that section {self.section} states", "", head, rows, words=True)
        agreement = WORDS["agreement"].format(counted=self.counted)
        numbers = Section("The paper's numbers and ours", f"{agreement}{more}", tables=[table])
        rows = []
        for checked in self.claims:
            claim, verdict = checked.claim, checked.verdict
            word = Cell(verdict.word, GOOD.get(verdict.word))
            rows.append([claim.text, claim.where, word, claim.criterion, verdict.ours, self.reason(verdict)])
        head = ["Claim", "Where", "Verdict", "Decided by", "Found", "If it does not hold"]
        why = ", and why" * self.conclusive
        claims = Table("Every claim", "", head, rows, words=True)
        return numbers, Section("The paper's claims", WORDS["claims"].format(why=why), tables=[claims])


def held(of: Counter[str]) -> str:
    """Say how many hold, are open and fail."""
    return f"{of[HOLDS]} hold, {of[OPEN]} {'is' if of[OPEN] == 1 else 'are'} open and {of[FAILS]} fail"


def _texts(rows: Sequence[tuple[str, ...]], columns: Sequence[str]) -> DataFrame:
    return DataFrame(rows, schema=dict.fromkeys(columns, String), orient="row")


def means_finders(means: Callable[..., Found]) -> dict[str, Finder]:
    """Return the finders of means by place: `means: EXPERIMENT; POINTS; SCHEMES; MEASURE`, and the greatest of them."""

    def found(results: Any, experiment: str, points: str, schemes: str, measure: str) -> Found:
        return means(results, experiment, [float(point) for point in points.split()], schemes.split(), measure)

    def greatest(results: Any, *of: str) -> Found:
        values = {place: value for place, value in found(results, *of).items() if value is not None}
        best = max(values, key=lambda place: values[place].mean, default="")
        return {best: values[best]} if values else {}

    return {MEANS: found, GREATEST: greatest}
