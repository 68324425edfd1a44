"""Means with intervals of Student's t."""

import math
import statistics

import polars
import pytest

from cosched_sim.sweeps.averages import all_averages, averages

# Quantiles 0.975 of Student's t by degrees of freedom, from printed tables.
T = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 29: 2.045}


@pytest.mark.parametrize("freedom", T)
def test_the_interval_is_that_of_the_tables(freedom):
    values = [float((7 * i) % 11) for i in range(freedom + 1)]
    found = averages(polars.DataFrame({"error": [None] * len(values), "m": values}), [], ["m"])
    half = T[freedom] * statistics.stdev(values) / math.sqrt(len(values))
    assert found["n"].to_list() == [len(values)]
    assert found["m"].item() == pytest.approx(statistics.fmean(values))
    assert found["m ci95"].item() == pytest.approx(half, rel=2e-4)


RESULTS = polars.DataFrame(
    {
        "case": list("abcdefg"),
        "schemes": ["HY", "HH", "HH", "HH", "HY", "YY", "YY"],
        "load": [0.5, 0.5, 0.5, 0.25, 0.5, 0.5, 0.5],
        "error": [None, None, None, None, "killed", "killed", "killed"],
        "m": [1, 2, 4, 5, None, None, None],
        "n2": [1.0, 2.0, None, None, 9.0, None, None],
        "stalled": [False, True, False, False, None, None, None],
    }
)


def test_a_row_for_each_place_in_order_of_first_appearance():
    found = averages(RESULTS, ["schemes", "load"], ["m", "n2", "stalled"])
    counts = found.select("schemes", "load", "n").rows()
    assert counts == [("HY", 0.5, 1), ("HH", 0.5, 2), ("HH", 0.25, 1), ("YY", 0.5, 0)]
    assert found.columns == ["schemes", "load", "n", "m", "m ci95", "n2", "n2 ci95", "stalled", "stalled ci95"]
    assert found["m"].to_list() == [1, 3, 5, None]
    assert found["m ci95"].to_list() == [None, pytest.approx(12.706, rel=1e-4), None, None]


def test_nulls_and_failed_cases_are_left_out():
    found = averages(RESULTS, ["schemes", "load"], ["n2", "stalled"])
    assert found["n2"].to_list() == [1, 2, None, None]
    assert found["n2 ci95"].to_list() == [None] * 4
    assert found["stalled"].to_list() == [0, 0.5, 0, None]


def test_equal_values_have_an_interval_of_nothing():
    assert averages(polars.DataFrame({"error": [None] * 3, "m": [7] * 3}), [], ["m"]).rows() == [(3, 7.0, 0.0)]


def test_all_measures_of_a_file(tmp_path):
    many = {f"m{number}": [number, number + 1] for number in range(40)}
    frame = polars.DataFrame({"case": ["a", "b"], "schemes": ["HH"] * 2, "error": [None, None], **many})
    frame.write_parquet(tmp_path / "results.parquet")
    found = all_averages(tmp_path / "results.parquet", ["schemes"])
    assert found.equals(averages(frame, ["schemes"], list(many)))
    assert found["m39"].item() == 39.5
