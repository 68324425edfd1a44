"""Paired differences between places in the grid."""

import statistics
from pathlib import Path

import polars
import pytest

from cosched_sim.sweeps.differences import Comparison, all_differences, comparison

SCHEMES, LOADS, REPLICATIONS = ("none", "HH"), (0.25, 0.5), (1, 2, 3)
WAITS = {  # by place: a wait for each replication
    ("none", 0.25): (10.0, 20.0, 30.0),
    ("none", 0.5): (100.0, 200.0, None),
    ("HH", 0.25): (11.0, 23.0, 35.0),
    ("HH", 0.5): (90.0, 180.0, 270.0),
}


def results(path: Path) -> Path:
    """A results.parquet; the last replication of ("none", 0.5) has failed."""
    rows = [
        {"schemes": scheme, "eureka.load": load, "replication": number, "error": None if wait else "failed"}
        | {"w": wait}
        for (scheme, load), waits in WAITS.items()
        for number, wait in zip(REPLICATIONS, waits, strict=True)
    ]
    polars.DataFrame(rows).write_parquet(path / "results.parquet")
    return path / "results.parquet"


def test_a_place_is_compared_with_that_of_the_same_replication_and_other_settings(tmp_path: Path) -> None:
    found = all_differences(results(tmp_path), ["schemes", "eureka.load"], Comparison("schemes", "none"))
    assert found.select("schemes", "eureka.load", "n", "w").rows() == [("HH", 0.25, 3, 3.0), ("HH", 0.5, 2, -15.0)]
    halves = 4.303 * statistics.stdev((1, 3, 5)) / 3**0.5, 12.706 * statistics.stdev((-10, -20)) / 2**0.5
    assert found["w ci95"].to_list() == pytest.approx(halves, rel=1e-4)


def test_what_is_compared_with() -> None:
    assert comparison({"eureka.load": [0.5], "schemes": ["HH", "YY"]}) == Comparison("schemes", "HH")
    assert comparison({"eureka.load": [0.5, 0.75], "pair_window": [1]}) == Comparison("eureka.load", 0.5)
    assert comparison({"schemes": ["HH"], "eureka.load": [0.5, 0.75]}) is None
