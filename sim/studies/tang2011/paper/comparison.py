"""Compares the paper's numbers and claims with our results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars

from cosched.sim.results.estimate import Estimate, shown
from cosched.sim.studies.tang2011.paper.claim import Claim, Verdict
from cosched.sim.studies.tang2011.paper.claims import claims
from cosched.sim.studies.tang2011.paper.numbers import statements
from cosched.sim.studies.tang2011.paper.statement import Statement
from cosched.sim.studies.tang2011.results import JOBS, LOAD, Results
from cosched.sim.studies.tang2011.setup import BASE

INSIDE, WITHIN, OUTSIDE, UNKNOWN = "yes", "within ±", "no", "no result"


@dataclass(frozen=True, slots=True)
class Compared:
    """A statement of the paper, our result in words, and whether it agrees, in one of the words above."""

    statement: Statement
    ours: str
    agrees: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim and its verdict."""

    claim: Claim
    verdict: Verdict


def compare_numbers(results: Results, facts: Mapping[str, float]) -> list[Compared]:
    """Compare every number that the paper states with ours; `facts` are those of study.json."""
    return [_compared(statement, results, facts) for statement in statements()]


def check_claims(results: Results) -> list[Checked]:
    """Check every claim."""
    return [Checked(claim, claim.check(results)) for claim in claims()]


@dataclass(frozen=True, slots=True)
class Score:
    """How many numbers of outcomes the paper states, how many of ours are inside, and how many only reach it."""

    all: int
    inside: int
    within: int


def score(numbers: Sequence[Compared]) -> Score:
    """Count the numbers that agree. What the study was given, such as loads, is no outcome."""
    outcomes = [each.agrees for each in numbers if not _given(each.statement)]
    return Score(len(outcomes), outcomes.count(INSIDE), outcomes.count(WITHIN))


def _given(statement: Statement) -> bool:
    return bool(statement.fact) or statement.measure.endswith((f" {LOAD}", f" {JOBS}"))


def numbers_table(compared: Sequence[Compared]) -> polars.DataFrame:
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


def yes_or_no(verdict: Verdict) -> str:
    """Say in a word whether a claim holds."""
    return "yes" if verdict.holds else "no"


def _texts(rows: Sequence[tuple[str, ...]], columns: Sequence[str]) -> polars.DataFrame:
    return polars.DataFrame(rows, schema=dict.fromkeys(columns, polars.String), orient="row")


def _compared(statement: Statement, results: Results, facts: Mapping[str, float]) -> Compared:
    values = dict(_values(statement, results, facts))
    if not values:
        return Compared(statement, "", UNKNOWN)
    return Compared(statement, _in_words(values, statement), _agreement(list(values.values()), statement))


def _values(statement: Statement, results: Results, facts: Mapping[str, float]) -> Iterator[tuple[str, Estimate]]:
    """Yield our values with their places in the grid."""
    if statement.fact:
        if statement.fact in facts:
            yield statement.fact, Estimate(facts[statement.fact])
        return
    found = results.means_of(statement.experiment, statement.points, statement.schemes, statement.measure)
    named = {_place(schemes, point): value for (point, schemes), value in found.items()}
    if named and statement.of == "greatest":
        named = dict([max(named.items(), key=lambda item: item[1].mean)])
    yield from named.items()


def _place(schemes: str, point: float) -> str:
    return f"{point:g}" if schemes == BASE else f"{schemes}, {point:g}"


def _in_words(values: Mapping[str, Estimate], statement: Statement) -> str:
    """Format one value as `61.2 ± 3.0`, several as the least and the greatest with their places."""
    if len(values) == 1 and statement.of == "each":
        return str(next(iter(values.values())))
    ends = (choose(values, key=lambda place: values[place].mean) for choose in (min, max))
    low, high = ends
    if values[low].mean == values[high].mean:
        return f"{values[low]} ({low})" if len(values) == 1 else shown(values[low].mean)
    return f"{values[low]} ({low}) to {values[high]} ({high})"


def _agreement(values: Sequence[Estimate], statement: Statement) -> str:
    if all(_between(value.mean, value.mean, statement) for value in values):
        return INSIDE
    return WITHIN if all(_between(value.low, value.high, statement) for value in values) else OUTSIDE


def _between(low: float, high: float, statement: Statement) -> bool:
    """Whether the interval from `low` to `high` overlaps the paper's range."""
    return (statement.high is None or low <= statement.high) and (statement.low is None or high >= statement.low)
