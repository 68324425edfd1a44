"""Columns of durations with their intervals."""

import pytest

from cosched.words.quantities import durations, number_with_interval, plus


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ([(30.1, 38.7), (396.0, 312.0), (None, None)], ["0.5 ± 0.6 min", "6.6 ± 5.2 min", ""]),
        ([(180.0, None), (9_000.0, None)], ["3.0 min", "150.0 min"]),  # 0.05 h would be 0.1
        ([(2.0, 0.5), (3_600.0, 60.0)], ["2.0 ± 0.5 s", "3,600 ± 60 s"]),
        ([(0.0, 0.0), (200_000.0, 90_000.0)], ["0.0 ± 0.0 d", "2.3 ± 1.0 d"]),
        ([(0.0, None)], ["0.0 s"]),
        ([], []),
    ],
)
def test_a_column_has_one_unit(column, cells):
    assert durations(column) == cells


def test_there_is_no_minus_zero():
    assert number_with_interval(-0.04, 0.7) == "0.0 ± 0.7"
    assert plus(number_with_interval(-0.04, 0.7)) == "0.0 ± 0.7"
    assert durations([(-2.0, 40.0), (600.0, 60.0)]) == ["0.0 ± 0.7 min", "10.0 ± 1.0 min"]
