"""Rules that were tried instead of meet's: what pairs and jobs without mates waited with each, beside meet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cosched.sim.results.estimate import Estimate, estimate
from cosched.sim.studies.measured import Values
from cosched.sim.studies.meet.experiments import BY_LOAD, REQUESTS
from cosched.sim.studies.meet.measuring import LONGEST, PAIR_WAIT, WAIT
from cosched.sim.studies.meet.results import Results
from cosched.sim.studies.meet.schemes import MEET
from cosched.sim.studies.tang2011.setup import HIGH, MACHINES, MEDIUM, MONTH_DAYS

MEASURED = Path(__file__).parent / "ideas.csv"  # rule, Eureka's load, seed, the waits in minutes
MEASURES = (PAIR_WAIT, *(f"{machine} {name}" for name in (WAIT, LONGEST) for machine in MACHINES))

# s: the earliest start of the first job h of the queue; the limit up to which wanted jobs may push it is, at first,
# s + beta (s - submit(h)).
IDEAS = {
    "pass": "Jobs with a slot are in the wanted pass, too",
    "queue": "A budget that adapts to the queue: beta is divided by 1 + a tenth of the number of queued jobs",
    "grow": "A budget that adapts to the queue: beta is multiplied by 1 + a tenth of the number of queued jobs",
    "asker": "A budget that adapts to the wanted job: it may push the first job by no more than it has waited itself",
    "sofar": "The budget is a share of the wait so far, not of the wait up to the earliest start",
    "unbound": "Another guard: it alone bounds the loss, also where the first job could now start earlier",
    "both": "That guard, and jobs with a slot are in the wanted pass",
    "half": "Another guard: the first job loses at most half of its requested time",
}
EXACT = "Learned estimates, at their best: exact ones"
HOW = (
    "Each rule was put into the scheduler in the place of meet's and replayed on the months of V-D with meet on both "
    "machines; then its code was removed. Exact estimates stand for learned ones, since generated jobs have no users "
    "to learn from. Differences from meet on the same months, in minutes, with Student's intervals. They are corrected "
    "for their number, {count}. A rule dominates if one of its intervals is below 0 and none is above."
)


@dataclass(frozen=True, slots=True)
class Tried:
    """A rule at a load of Eureka: its differences from meet by measure, as intervals that hold together."""

    rule: str
    load: float
    months: int
    differences: Mapping[str, Estimate]


def tried(said: Mapping[str, Any], results: Results) -> list[Tried]:
    """Return what was tried on the months of this study, if there are two or more of those."""
    found = []
    for rule, load, waits in _rules(said, results):
        meet = [results.values((BY_LOAD, load, MEET), measure) for measure in MEASURES]
        months = set.intersection(*(set(values) for values in (*waits, *meet)))
        if len(months) > 1:
            found.append((rule, load, [_less(here, there, months) for here, there in zip(waits, meet, strict=True)]))
    count = len(found) * len(MEASURES)
    return [
        Tried(rule, load, len(differences[0]), {
            measure: estimate(values, count) for measure, values in zip(MEASURES, differences, strict=True)
        })
        for rule, load, differences in found
    ]  # fmt: skip


def dominating(found: Sequence[Tried]) -> list[str]:
    """Return the rules that are better than meet somewhere and worse nowhere."""
    rules = dict.fromkeys(each.rule for each in found)
    of = {rule: [value for each in found if each.rule == rule for value in each.differences.values()] for rule in rules}
    return [
        rule
        for rule, values in of.items()
        if any(value.high < 0 for value in values) and not any(value.low > 0 for value in values)
    ]


def _rules(said: Mapping[str, Any], results: Results) -> Iterator[tuple[str, float, list[Values]]]:
    """Yield rule, load and its waits by replication, for each measure."""
    if said["days"] != MONTH_DAYS:
        return
    for rule, text in IDEAS.items():
        for load in (MEDIUM, HIGH):
            rows = [row for row in _measured() if row["rule"] == rule and float(row["load"]) == load]
            by_month = {int(row["seed"]) - said["seed"] + 1: row for row in rows}
            yield text, load, [{month: float(row[name]) for month, row in by_month.items()} for name in MEASURES]
    yield EXACT, MEDIUM, [results.values((REQUESTS, 1.0, MEET), measure) for measure in MEASURES]


@cache
def _measured() -> list[dict[str, str]]:
    with MEASURED.open() as stream:
        return list(csv.DictReader(stream))


def _less(here: Values, there: Values, months: Iterable[int]) -> list[float]:
    return [here[month] - there[month] for month in sorted(months)]


def told(found: Sequence[Tried]) -> str:
    """Say how the rules were tried, and which dominate."""
    names = "; ".join(dominating(found))
    return f"{HOW.format(count=len(found) * len(MEASURES))} {f'Those that do: {names}.' if names else 'None does.'}"
