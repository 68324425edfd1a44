"""Rules that were tried instead of meet's: what pairs and jobs without mates waited with each, beside meet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cosched_papers.studies.meet.experiments import BY_LOAD, REQUESTS
from cosched_papers.studies.meet.measuring import LONGEST, PAIR_WAIT, WAIT
from cosched_papers.studies.meet.schemes import MEET
from cosched_papers.studies.tang2011.setup import HIGH, MACHINES, MEDIUM, MONTH_DAYS
from cosched_sim.reports.page import Table
from cosched_sim.results.estimate import Estimate, estimate, signed
from cosched_sim.studies.measured import Measured, Values
from cosched_sim.studies.study import words_of
from cosched_sim.studies.tables import headed

MEASURED = Path(__file__).parent / "ideas.csv"  # rule, Eureka's load, seed, the waits in minutes
EXACT = "exact"  # the rule that needs no other scheduler: exact estimates are a case of the study
MEASURES = (PAIR_WAIT, *(f"{machine} {name}" for name in (WAIT, LONGEST) for machine in MACHINES))

WORDS = words_of(__file__)


@dataclass(frozen=True, slots=True)
class Tried:
    """A rule at a load of Eureka: its differences from meet by measure, with simultaneous intervals."""

    rule: str
    load: float
    months: int
    differences: Mapping[str, Estimate]


def tried(said: Mapping[str, Any], results: Measured) -> list[Tried]:
    """Return what was tried on the months of this study, if there are two or more of those."""
    found = []
    for rule, load, waits in _rules(said, results):
        meet = [results.values((BY_LOAD, load, MEET), measure) for measure in MEASURES]
        months = set.intersection(*(set(values) for values in (*waits, *meet)))
        if len(months) > 1:
            both = zip(waits, meet, strict=True)
            found.append((rule, load, [[here[of] - there[of] for of in sorted(months)] for here, there in both]))
    count = len(found) * len(MEASURES)
    return [
        Tried(rule, load, len(of[0]), dict(zip(MEASURES, (estimate(values, count) for values in of), strict=True)))
        for rule, load, of in found
    ]


def dominating(found: Sequence[Tried]) -> list[str]:
    """Return the rules that are better than meet somewhere and worse nowhere."""
    rules = dict.fromkeys(each.rule for each in found)
    of = {rule: [value for each in found if each.rule == rule for value in each.differences.values()] for rule in rules}
    return [
        rule
        for rule, values in of.items()
        if any(value.high < 0 for value in values) and not any(value.low > 0 for value in values)
    ]


def _rules(said: Mapping[str, Any], results: Measured) -> Iterator[tuple[str, float, list[Values]]]:
    """Yield rule, load and its waits by replication, for each measure."""
    if said["days"] != MONTH_DAYS:
        return
    for rule, text in WORDS["ideas"].items():
        for load in (MEDIUM, HIGH):
            rows = [row for row in _measured() if row["rule"] == rule and float(row["load"]) == load]
            by_month = {int(row["seed"]) - said["seed"] + 1: row for row in rows}
            yield text, load, [{month: float(row[name]) for month, row in by_month.items()} for name in MEASURES]
    yield WORDS["ideas"][EXACT], MEDIUM, [results.values((REQUESTS, 1.0, MEET), measure) for measure in MEASURES]


@cache
def _measured() -> list[dict[str, str]]:
    with MEASURED.open() as stream:
        return list(csv.DictReader(stream))


def table(found: Sequence[Tried]) -> Table:
    """Return the rules that were tried, with their differences from meet."""
    rows = [
        [of.rule, f"{of.load:g}", str(of.months), *(signed(of.differences[measure]) for measure in MEASURES)]
        for of in found
    ]
    return Table("Other rules that were tried", "", ["Rule", "Eureka's load", "Months", *headed(*MEASURES)], rows)


def told(found: Sequence[Tried]) -> str:
    """Say how the rules were tried, and which dominate."""
    names = "; ".join(dominating(found))
    how = WORDS["tried"].format(count=len(found) * len(MEASURES))
    return f"{how} {f'Those that do: {names}.' if names else 'None does.'}"
