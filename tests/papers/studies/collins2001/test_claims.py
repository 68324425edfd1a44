"""Every claim of the paper holds if the results are as it describes them, and does not if they are the contrary."""

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import polars
import pytest

from cosched_papers.studies.collins2001 import setup
from cosched_papers.studies.collins2001.claims import claims
from cosched_papers.studies.collins2001.comparisons import statements, sums
from cosched_papers.studies.collins2001.measuring import HIGH, LOW, MEDIUM, PRIORITIES, of_priority
from cosched_papers.studies.collins2001.setup import FEW, HALF, MANY, NONE, PJS, RATES, SJS
from cosched_sim.studies.design import Found
from cosched_sim.studies.measured import ratio
from cosched_sim.studies.paper import INPUT, compare
from cosched_sim.studies.verdicts import FAILS, OPEN
from tests.papers.studies.by_hand import Row, rows_at

SAID = {"replications": 2, "seed": 1, "quick": True}
TOLD = {FEW: 0.0, HALF: 1.0, MANY: 2.0, NONE: 0.0}


def as_in_the_paper(row: Row) -> None:
    """Figures 3 to 9 as section 5 describes them."""
    study, *where = row["experiment"].split()
    point, algorithm = row["point"], row["schemes"]
    if study == "1":
        machines = int(algorithm.split()[0]) if where == ["SJS"] else 40
        sjs = point * machines
        row |= {"SJS (ms)": sjs, "PJS (ms)": 2.5 * sjs, "PJS / SJS": 2.5, "jobs on clusters": 1}
    elif study == "2":
        saved = 0.46 if point <= 10 else 0.2 if point < 60 else 0.02
        row["job time"] = point * (1 - saved * (algorithm != SJS))
    elif study == "3":
        of_sums(row, where[1], point, algorithm)
    elif study == "4":
        of_arrivals(row, where[1], RATES.index(int(point)))


def of_sums(row: Row, priorities: str, total: float, algorithm: str) -> None:
    peak = {FEW: 300, HALF: 220, MANY: 100}.get(priorities)
    high = {FEW: 0.6 if total <= 180 else 0.96, HALF: 0.96, MANY: 0.98}.get(priorities, 1.0)
    medium = 1.3 if total == peak else 0.6 if peak and total < peak else 1.0
    low = {FEW: 1.05, HALF: 1.03}.get(priorities, 1.0)
    for priority, share in zip(("", *PRIORITIES), (1.0, high, medium, low), strict=True):
        row[of_priority(priority, "sum")] = total * (1.05 if peak else 1.0) * (share if algorithm == PJS else 1.0)


def of_arrivals(row: Row, priorities: str, rate: int) -> None:
    more = TOLD[priorities]
    for priority, times in zip(PRIORITIES, (1.0, 3.0, 6.0), strict=True):
        rarity = 1 + 1.2 * more if rate > 2 else 1.0
        row[of_priority(priority, "job time")] = 100 * times * (1 + 0.1 * rate) * rarity - 30 * (rate == 1)
        rare = 5 * PRIORITIES.index(priority) * (rate > 1) + 9 * more * (priority == HIGH) * (rate == 5)
        row[of_priority(priority, "on clusters")] = 80 - 10 * rate - rare
    order = -more if rate < 3 else more
    row["job time"] = 100 * (1 + rate) + (5 + order if priorities != NONE else 0)
    row |= {"on clusters": 80 - 10 * rate, "preempted": 40}


def contrary(row: Row) -> None:
    """Machines and jobs, PJS and SJS, high and low, rare and frequent, slow and fast exchange their places."""
    study, *where = row["experiment"].split()
    algorithm, point = row["schemes"], row["point"]
    if study == "1":
        share = int(algorithm.split()[0])
        row["SJS (ms)"] = point**2 / (1 + share)
        row |= {"PJS (ms)": (1 + share) * row["SJS (ms)"], "PJS / SJS": 1 + share, "jobs on clusters": 1}
    elif study in "23":
        row["schemes"] = {SJS: PJS, PJS: SJS}.get(algorithm, algorithm)
        for name in [name for name in row if name.endswith("sum") and not name.startswith(MEDIUM)]:
            row[name] *= 1 if row["schemes"] == SJS else 2
        if where[1] == FEW:
            row[of_priority(MEDIUM, "sum")] = point
        if where[1] == HALF and row["schemes"] == PJS:
            row[of_priority(MEDIUM, "sum")] = 9 * point if point == 20 else point
    elif study == "4":
        for measure in ("job time", "on clusters"):
            high, low = (of_priority(name, measure) for name in (HIGH, LOW))
            row[high], row[low] = row[low], row[high]
            for name in (high, low, of_priority(MEDIUM, measure), measure):
                row[name] = 1000 - row[name]
        rate = RATES.index(int(point))
        for name in PRIORITIES:
            row[of_priority(name, "job time")] = {HIGH: 900, MEDIUM: 800, LOW: 700}[name] - 9 * TOLD[where[1]]
            row[of_priority(name, "on clusters")] = 20 * PRIORITIES.index(name) + 9 * TOLD[where[1]] * (name == HIGH)
        row["job time"] = 100 - 20 * (where[1] != NONE) + (1 if rate < 3 else -1) * TOLD[where[1]]
        row["preempted"] = 0


@lru_cache
def found(*changes: Callable[[Row], None]) -> Found:
    experiments = setup.experiments(SAID, Path("unused"))
    rows = list(rows_at((place for each in experiments for place in each.places), 2))
    for row, change in product(rows, changes):
        change(row)
    return Found(polars.DataFrame(rows, infer_schema_length=None), SAID, experiments, lambda _: ())


def set_(study: str, of: Callable[[Row], bool], **values: Any) -> Callable[[Row], None]:
    def change(row: Row) -> None:
        if row["experiment"].startswith(study) and of(row):
            row |= {name.replace("_", " "): value(row) for name, value in values.items()}

    return change


def heavy(row: Row) -> bool:
    return row["point"] >= 60 and row["schemes"] != SJS


def few(row: Row) -> bool:
    return row["experiment"].endswith(FEW) and row["schemes"] == PJS


def total(row: Row) -> float:
    return row["point"] * 1.05


HALVES = {
    "no saving at all": ("PJS is a little better than SJS at times under heavy load",
                         set_("2", heavy, job_time=lambda row: row["point"])),
    "a great saving": ("PJS is a little better than SJS at times under heavy load",
                       set_("2", heavy, job_time=lambda row: 0.5 * row["point"])),
    "no gain": ("Jobs of high priority gain by PJS", set_("3", lambda row: row["schemes"] == PJS, high_sum=total)),
    "a gain that does not end": ("The gain by PJS ends near 30 jobs of high priority",
                                 set_("3", few, high_sum=lambda row: 0.6 * total(row))),
    "a gain that never was": ("The gain by PJS ends near 30 jobs of high priority", set_("3", few, high_sum=total)),
    "a rise that is not sharp": ("Jobs of medium priority lose by PJS at some number of jobs",
                                 set_("3", few, medium_sum=lambda row: 1.15 * total(row))),
    "a rise that is no loss": ("Jobs of medium priority lose by PJS at some number of jobs",
                               set_("3", few, medium_sum=lambda row: (0.5 + 0.001 * row["point"]) * total(row))),
    "as many on clusters": ("Fewer jobs run on clusters at higher rates",
                            set_("4", lambda _: True, on_clusters=lambda _: 50.0)),
}  # fmt: skip


@pytest.mark.parametrize("what", HALVES)
@pytest.mark.parametrize("table", ["house", "third"])
def test_a_claim_is_decided_by_all_that_it_says(what, table):
    text, change = HALVES[what]
    claim = next(claim for claim in claims() if claim.text == f"{text} ({table})")
    assert claim.check(found(as_in_the_paper, change)).word == FAILS


def failed(row: Row) -> None:
    row["error"] = "not run"


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.text)
def test_what_the_paper_describes_holds_and_the_contrary_does_not(claim):
    described = claim.check(found(as_in_the_paper))
    assert described.holds, described.reason
    assert described.ours
    reversed_ = claim.check(found(as_in_the_paper, contrary))
    assert not reversed_.holds
    assert reversed_.reason
    nothing = claim.check(found(as_in_the_paper, failed))
    assert not nothing.holds
    assert nothing.word == OPEN


def test_inputs_do_not_count():
    compared = [compare(statement, found(as_in_the_paper)) for statement in statements()]
    assert sum(each.agrees == INPUT for each in compared) == sum(each.statement.input != "" for each in compared) == 6


def test_a_ratio_of_sums_is_of_all_numbers_of_jobs():
    share = ratio(found(as_in_the_paper), *(sums("house", FEW, of, LOW) for of in (PJS, SJS)))
    assert share.mean == pytest.approx(1.05)
