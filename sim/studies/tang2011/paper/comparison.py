"""Compares the paper's numbers and claims with our results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.statements import UNKNOWN, Checked, Compared, Score, agreement, in_words, score
from cosched.sim.studies.tang2011.paper.claims import claims
from cosched.sim.studies.tang2011.paper.numbers import statements
from cosched.sim.studies.tang2011.paper.statement import Statement
from cosched.sim.studies.tang2011.results import JOBS, LOAD, Results
from cosched.sim.studies.tang2011.setup import BASE


def compare_numbers(results: Results, facts: Mapping[str, float]) -> list[Compared[Statement]]:
    """Compare every number that the paper states with ours; `facts` are those of study.json."""
    return [_compared(statement, results, facts) for statement in statements()]


def check_claims(results: Results) -> list[Checked]:
    """Check every claim."""
    return [Checked(claim, claim.check(results)) for claim in claims()]


def score_of(numbers: Sequence[Compared[Statement]]) -> Score:
    """Count the numbers that agree. What the study was given, such as loads, is no outcome."""
    return score([each.agrees for each in numbers if not _given(each.statement)])


def _given(statement: Statement) -> bool:
    return bool(statement.fact) or statement.measure.endswith((f" {LOAD}", f" {JOBS}"))


def _compared(statement: Statement, results: Results, facts: Mapping[str, float]) -> Compared[Statement]:
    values = dict(_values(statement, results, facts))
    if not values:
        return Compared(statement, "", UNKNOWN)
    return Compared(
        statement, in_words(values, placed=statement.of != "each"), agreement(list(values.values()), statement)
    )


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
