"""A fluid Eureka beside a batch one: a tiny study, and what results made by hand say."""

from collections.abc import Iterator

import polars
import pytest

from cosched_papers.studies.fluid.design import COMPARED, WORK, compared, experiments, verdict
from cosched_papers.studies.fluid.setup import BATCH, COMBINATIONS, FLUID, MAIN, settings
from cosched_papers.studies.meet.measuring import PAIRS, TOGETHER
from cosched_sim.studies.design import Found
from tests.papers.studies.by_hand import Row, rows_at

SAID = {"replications": 1, "seed": 1, "days": 1.0, "quick": True}


@pytest.mark.usefixtures("here")
def test_a_tiny_study(cosched, tmp_path):
    small = ("--quick", "--days", 1, "--replications", 1)
    said = cosched("study", "fluid", *small, "--workers", 1, "--out", "out").stdout
    rows = polars.read_parquet(tmp_path / "out" / "results.parquet")
    assert len(rows) == len(WORK.cases(SAID, tmp_path)) == rows["error"].null_count()
    assert rows["pairs"].sum() == rows["pairs together"].sum() > 0
    assert rows.filter(polars.col("experiment") == MAIN.name)["eureka changes of size per job"].min() > 0
    assert "Nothing is decided" in said
    page = (tmp_path / "out" / "report.html").read_bytes()
    cosched("report", "out")
    assert (tmp_path / "out" / "report.html").read_bytes() == page


def test_only_the_scheduler_of_eureka_differs():
    batch, fluid = (settings(kind, 0.1, "MM", 3, 7, 30.0) for kind in (BATCH, FLUID[-1]))
    assert batch["domains"][0] == fluid["domains"][0]
    assert batch["seed"] == fluid["seed"] == 9
    one, other = batch["domains"][1], fluid["domains"][1]
    assert one.keys() - other.keys() == {"policy", "backfill"}
    assert {key: other[key] for key in other.keys() - one.keys()} == {
        "scheduler": "fluid", "harvesting": "even", "min_share": "0.5", "resize_cost": "60"
    }  # fmt: skip


def rows(replications: int) -> Iterator[Row]:
    """With a fluid Eureka everything takes two thirds of the time, but for Intrepid's other jobs."""
    for row in rows_at([(kind.name, 0.1, of) for kind in (BATCH, MAIN) for of in COMBINATIONS], replications):
        number = row["replication"]
        time = 60.0 + number if row["experiment"] == BATCH.name else 40.0 + 1.01 * number
        row |= {PAIRS: 10, TOGETHER: 10, **dict.fromkeys(COMPARED, time)}
        yield row | {"intrepid unpaired wait": 10.0 + number}


@pytest.mark.parametrize("replications", [4, 6])
def test_the_verdict_says_what_the_numbers_say(replications):
    made = polars.DataFrame(list(rows(replications)), infer_schema_length=None)
    told = "\n".join(verdict(Found(made, SAID, experiments(SAID), compared)))
    assert f"Of {100 * replications} pairs in all cases {100 * replications} started together." in told
    if replications < 5:
        assert "comparisons need at least 5 replications" in told
        return
    assert "better in 20 of 25 comparisons, worse in 0; the others are open" in told
    assert "Pair wait, even, 50 %: HH -19.965 ± " in told or "Pair wait, even, 50 %: HH -20" in told
