"""Differences on the same workloads, corrected for their number; what was asked; the verdict in words."""

import pytest
import scipy

from cosched_papers.studies.meet import ideas
from cosched_papers.studies.meet.asked import figures
from cosched_papers.studies.meet.experiments import BY_LOAD
from cosched_papers.studies.meet.measuring import NEVER, PAIR_WAIT, TOGETHER, WAIT
from cosched_papers.studies.meet.verdict import values, verdict
from cosched_sim.studies.measured import BETTER, WORSE
from cosched_sim.studies.verdicts import FAILS, HOLDS, OPEN
from tests.papers.studies.meet.by_hand import Row, results


def test_intervals_are_corrected_for_the_number_of_comparisons():
    compared = results().compared
    number = len(compared)
    one = next(each for each in compared if (each.place[1], each.measure, each.other[2]) == (0.5, PAIR_WAIT, "YY"))
    assert (one.mean.mean, one.rival.mean) == (pytest.approx(23.3), pytest.approx(63))
    assert one.difference.mean == pytest.approx(-40 + 0.3)
    error = 0.1 * (2.5 / 5) ** 0.5  # of 0.1, 0.2, ... 0.5
    assert one.difference.half == pytest.approx(scipy.special.stdtrit(4, 1 - 0.05 / (2 * number)) * error)
    assert one.verdict == BETTER


def test_differences_are_those_on_the_same_workload():
    """Months differ by hours, but the difference of two combinations is the same in each."""

    def months_differ(row: Row) -> None:
        row[PAIR_WAIT] = row["replication"] * 600 + (row["schemes"] == "MM") * 5

    found = results(months_differ)
    assert found.difference((BY_LOAD, 0.5, "MM"), (BY_LOAD, 0.5, "HH"), PAIR_WAIT).half == pytest.approx(0, abs=1e-9)
    assert {each.verdict for each in found.compared if each.measure == PAIR_WAIT} == {WORSE}


def test_equal_values_and_single_replications_decide_nothing():
    assert {each.verdict for each in results().compared if each.measure == f"eureka {WAIT}"} == {OPEN}
    assert results(replications=1).compared == []
    assert any("Nothing is decided" in paragraph for paragraph in verdict(results(replications=1)))


def test_a_failed_case_counts_nowhere():
    def fail(row: Row) -> None:
        if row["schemes"] == "YY" and row["replication"] == 2:
            row["error"] = "no memory"

    found = results(fail)
    assert found.count((BY_LOAD, 0.5, "YY")) == 4
    assert 2 not in found.values((BY_LOAD, 0.5, "YY"), PAIR_WAIT)


def test_what_was_asked_is_reached():
    found = figures(results())
    assert {each.reached for each in found} == {HOLDS, OPEN}
    # A pair waits 16.3 ± 2.2 minutes at 0.25, which were to be 16, 23.3 at 0.5 and 53.3 at 0.75.
    assert [each.reached for each in found if "Wait of a pair" in each.what] == [OPEN, OPEN, HOLDS]


def test_few_replications_leave_what_was_asked_open():
    assert {each.reached for each in figures(results(replications=3)) if "Wait" in each.what} == {OPEN}
    assert "nothing is decided" in values(results(replications=3))["counted"]


def worse(row: Row) -> None:
    meets = row["schemes"] == "MM"
    row[PAIR_WAIT] += 30 * meets
    row[f"intrepid {WAIT}"] += meets
    row[f"eureka {WAIT}"] += 20 * meets
    row[TOGETHER] -= meets
    row[f"eureka {NEVER}"] += meets


def test_what_was_asked_is_missed():
    found = figures(results(worse))
    assert {each.reached for each in found if "held" not in each.what} == {FAILS}
    share = next(each for each in found if "Eureka's jobs without mates at Eureka's load 0.5" in each.what)
    assert share.measured == "60.6 ± 0.0 %: 53.0 ± 2.0 and 33.0 ± 2.0 min"
    assert next(each.measured for each in found if "together" in each.what) == "135 of 150"


def test_the_verdict_says_where_meet_wins_ties_and_loses():
    text = "\n".join(verdict(results()))
    assert "at Eureka's load 0.5 23.3 ± 2.2 min, 37 % of the 63.0 ± 2.0 min of" in text
    assert "**Where meet wins:** pair wait (12 of 12), pair wait longest (12 of 12)." in text
    assert "**Where it ties, or nothing can be shown:** Intrepid's unpaired wait, Eureka's unpaired wait" in text
    assert "**Where it loses:** nowhere" in text
    lost = "\n".join(verdict(results(worse)))
    assert "Eureka's unpaired wait (12 of 12; most at Eureka's load 0.25 beside HH: +20.0 ± 0.0 on 33" in lost
    assert "**Jobs without mates wait longer than without coscheduling** in 6 of 6 comparisons" in lost
    assert "15 jobs never started in any case with meet" in lost


def test_rules_that_were_tried_are_compared_on_the_same_months(monkeypatch):
    """Pairs wait a minute less with the first rule, in every month; with the second, Eureka's others a minute more."""
    found = results(replications=3)

    def row(rule: str, load: float, month: int, more: tuple[int, ...]) -> Row:
        meet = [found.values((BY_LOAD, load, "MM"), measure)[month] for measure in ideas.MEASURES]
        waits = {measure: meet[at] + more[at] for at, measure in enumerate(ideas.MEASURES)}
        return {"rule": rule, "load": f"{load:g}", "seed": str(6 + month), **waits}

    rules = {"pass": (-1, 0, 0, 0, 0), "half": (-1, 0, 1, 0, 0)}
    rows = [row(rule, load, month, more) for rule, more in rules.items() for load in (0.5, 0.75) for month in (1, 2, 3)]
    monkeypatch.setattr(ideas, "_measured", lambda: rows)
    tried = ideas.tried({"days": 30, "seed": 7}, found)
    assert [(each.rule, each.load, each.months) for each in tried] == [
        (ideas.WORDS["ideas"][rule], load, 3) for rule in ("pass", "half") for load in (0.5, 0.75)
    ]
    assert tried[0].differences[PAIR_WAIT].mean == pytest.approx(-1)
    assert ideas.dominating(tried) == [ideas.WORDS["ideas"]["pass"]]
    assert ideas.WORDS["ideas"]["pass"] in ideas.told(tried)
    assert ideas.tried({"days": 2, "seed": 7}, found) == []
