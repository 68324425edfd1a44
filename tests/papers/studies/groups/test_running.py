"""A tiny study of groups, from the command to the page."""

import polars
import pytest

from cosched_papers.studies.groups.design import WORK
from cosched_papers.studies.groups.setup import IN_PAIRS
from tests.tiers import soaked


@pytest.mark.parametrize("days", soaked([1], 0))
def test_a_tiny_study(cosched, tmp_path, days):
    said = cosched("study", "groups", "--days", days, "--replications", 1, "--workers", 1, "--out", "out").stdout
    rows = polars.read_parquet(tmp_path / "out" / "results.parquet")
    cases = WORK.cases({"replications": 1, "seed": 1, "days": 1.0}, tmp_path)
    assert len(rows) == len(cases) == rows["error"].null_count()
    grouped = rows.filter((polars.col("schemes") != "none") & ~polars.col("schemes").str.ends_with(IN_PAIRS))
    assert grouped["groups"].sum() == grouped["groups together"].sum() > 0
    assert "Nothing is decided" in said
    page = (tmp_path / "out" / "results.md").read_text()
    assert "Nothing is decided" in page
    assert "**Not for conclusions: fewer than 5 replications.**" in page
    assert page.index("* **Asked.**") < page.index("* **For a site.**") < page.index("## Verdict")
    page = (tmp_path / "out" / "report.html").read_bytes()
    cosched("report", "out")
    assert (tmp_path / "out" / "report.html").read_bytes() == page
