"""From rows of cases to means in the paper's units."""

import polars
import pytest

from cosched_papers.studies.tang2011.cases import ALIKE, BY_LOAD, BY_SHARE, LAST
from cosched_papers.studies.tang2011.claims import claims
from cosched_papers.studies.tang2011.comparisons import statements
from cosched_papers.studies.tang2011.results import Results
from cosched_papers.studies.tang2011.sensitivity import sensitivities
from cosched_papers.studies.tang2011.setup import GeneratedMonths, Plan
from cosched_papers.studies.tang2011.tables import alike_table, deadlocks_table, release_order_table
from cosched_sim.studies.paper import Beside
from tests.papers.studies.by_hand import MINUTE, Row, results, row


def test_means_are_in_minutes_and_node_hours():
    def change(made: Row) -> None:
        made["intrepid.all.wait_s.mean"] = 60 * MINUTE + made["replication"] * MINUTE
        made["eureka.held_node_seconds"] = 7200 * 3600

    found = results(change)
    wait = found.mean((BY_LOAD, 0.5, "HH"), "intrepid wait")
    assert wait.mean == pytest.approx(61.5)
    assert wait.half == pytest.approx(12.7062 * 0.5, rel=1e-4)  # Student's t of one degree of freedom
    assert found.mean((BY_LOAD, 0.5, "HH"), "eureka lost node-hours").mean == 7200
    assert found.mean((BY_LOAD, 0.5, "HH"), "eureka lost share").mean == pytest.approx(10)


def test_differences_are_on_the_same_workload():
    """Months differ by an hour, but each waits 5 minutes more under HH."""

    def change(made: Row) -> None:
        made["intrepid.all.wait_s.mean"] = made["replication"] * 60 * MINUTE + (made["schemes"] == "HH") * 5 * MINUTE

    found = results(change)
    extra = found.mean((BY_LOAD, 0.25, "HH"), "intrepid wait extra")
    assert (extra.mean, extra.half) == (pytest.approx(5), pytest.approx(0, abs=1e-9))
    between = found.difference((BY_LOAD, 0.25, "HH"), (BY_LOAD, 0.25, "YY"), "intrepid wait")
    assert (between.mean, between.half) == (pytest.approx(5), pytest.approx(0, abs=1e-9))
    assert found.mean((BY_LOAD, 0.25, "HH"), "intrepid wait").half > 100


def test_a_failed_case_counts_nowhere():
    def change(made: Row) -> None:
        if made["replication"] == 2 and made["schemes"] == "none":
            made["error"] = "no memory"
        made["intrepid.all.wait_s.mean"] *= made["replication"]

    found = results(change)
    assert found.mean((BY_LOAD, 0.5, "none"), "intrepid wait").mean == 60
    assert found.mean((BY_LOAD, 0.5, "HH"), "intrepid wait").mean == 90
    assert found.mean((BY_LOAD, 0.5, "HH"), "intrepid wait extra").mean == 0


def test_a_sensitivity_has_its_default_from_v_d():
    plan = Plan(1, 1, True, 30, GeneratedMonths())
    rows = [row(*at, schemes) for at in ((BY_LOAD, 0.5), ("estimates", 4.0)) for schemes in ("none", "HH")]
    rows[-1]["intrepid.all.wait_s.mean"] = 70 * MINUTE
    rows[-2]["intrepid.all.wait_s.mean"] = 68 * MINUTE
    found = Results.of(polars.DataFrame(rows), 30, sensitivities(plan), {})
    assert found.mean(("estimates", 1, "HH"), "intrepid wait").mean == 60
    assert found.mean(("estimates", 4, "HH"), "intrepid wait extra").mean == pytest.approx(2)


def test_the_release_order_is_compared_where_runs_end():
    extra = [row(LAST, 0.2, "HH", replication) for replication in (1, 2)]
    extra[0]["eureka.all.wait_s.mean"] = 64 * MINUTE
    extra[1] |= {"stalled": True, "eureka.all.wait_s.mean": 900 * MINUTE}
    assert release_order_table(results(extra=extra)).rows() == [("20 %", "HH", 2, 1, 0, 0.0, pytest.approx(4))]


def test_deadlocked_runs_are_counted():
    extra = [row(name, 60, "HH", r) for name in ("span", "span, no timer") for r in (1, 2)]
    extra[-1] |= {"intrepid.never_started": 30, "eureka.never_started": 20}
    assert deadlocks_table(results(extra=extra)).rows() == [("V-D, 60 days", 2, 1, 30.0, 20.0, 0)]


def test_numbers_beside_the_papers():
    def change(made: Row) -> None:
        if made["experiment"] == BY_LOAD and made["schemes"] != "none":
            extra = {0.25: 3, 0.5: 11, 0.75: 41 + 2 * made["replication"]}
            made["intrepid.all.wait_s.mean"] += extra[made["point"]] * MINUTE
        if made["experiment"] == BY_SHARE:
            made["error"] = "not run"

    beside = Beside.of("section V", statements(), claims(), results(change))
    compared = {c.statement.what: c for c in beside.numbers}
    assert compared["Intrepid: extra wait at 0.25 (min)"].agrees == "holds"
    assert compared["Intrepid: extra wait at 0.5 (min)"].agrees == "fails"
    high = compared["Intrepid: greatest extra wait at 0.75 (min)"]
    assert (high.agrees, high.ours) == ("open", "44.0 ± 12.7 (HH, 0.75)")
    assert compared["Intrepid: greatest wait at 33 % (min)"].agrees == "no result"
    replications = compared["Replications of a case"]
    assert (replications.agrees, replications.ours) == ("input", "2; not met")


@pytest.mark.parametrize("generated", [True, False])
def test_what_the_study_was_given_is_no_agreement(generated):
    """Generated months are fitted to the base waits and slowdowns; those of real logs are outcomes."""
    beside = Beside.of("section V", statements(), claims(), results(), generated=generated)
    inputs = {c.statement.what for c in beside.numbers if c.agrees == "input"}
    fitted = {"Intrepid: base wait (min)", "Intrepid: base slowdown", "Eureka: base slowdown at 0.25"}
    assert "Eureka: load (0.5)" in inputs
    assert bool(inputs & fitted) is generated
    outcomes = len(beside.numbers) - len(inputs)
    assert f"Of the paper's {outcomes} numbers that are outcomes" in beside.score
    assert len(inputs) == (15 if generated else 6)


def test_a_share_of_both_machines_jobs_is_read_beside_the_paper():
    """V-D with as many jobs on Eureka as on Intrepid has a base of its own."""
    extra = [row(ALIKE, load, schemes) for load in (0.25, 0.5, 0.75) for schemes in ("none", "HH", "HY", "YH", "YY")]
    for made in extra:
        made["eureka.all.wait_s.mean"] += (made["schemes"] != "none") * 5 * MINUTE
    table = alike_table(results(extra=extra))
    assert table.filter(polars.col("Eureka's load") == "0.75").rows() == [
        ("0.75", "the paper's number", "8", "below 5", "below 5", "below 5"),
        ("0.75", "two minutes pair 5 to 10 % of Intrepid's jobs", *["0.000 ± 0.000"] * 4),
        ("0.75", "7.5 % of both machines' jobs are paired", *["5"] * 4),
    ]
