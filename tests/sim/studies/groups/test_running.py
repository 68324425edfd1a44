"""A tiny study of groups, from the command to the page."""

import polars
import pytest

from cosched.sim.studies.groups.cases import cases
from cosched.sim.studies.groups.setup import IN_PAIRS
from tests.tiers import soaked


@pytest.mark.parametrize("days", soaked([1], 0))
def test_a_tiny_study(cosched, tmp_path, days):
    said = cosched("study", "groups", "--days", days, "--replications", 1, "--workers", 1, "--out", "out").stdout
    rows = polars.read_parquet(tmp_path / "out" / "results.parquet")
    assert len(rows) == len(cases(1, 1, 1.0)) == rows["error"].null_count()
    grouped = rows.filter((polars.col("schemes") != "none") & ~polars.col("schemes").str.ends_with(IN_PAIRS))
    assert grouped["groups"].sum() == grouped["groups together"].sum() > 0
    assert "Nothing is decided" in said
    assert "Nothing is decided" in (tmp_path / "out" / "results.md").read_text()
    page = (tmp_path / "out" / "report.html").read_bytes()
    cosched("report", "out")
    assert (tmp_path / "out" / "report.html").read_bytes() == page
