"""Step functions, intervals and cumulative distributions against slow, obvious computations."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched_sim.reports.figures import series
from cosched_sim.reports.figures.curves import cumulative
from cosched_sim.reports.figures.series import BARS, SEEN, bin_edges, bin_width, counts, seen_edges, steps
from cosched_sim.reports.figures.style import TimeAxis
from tests.sim.reports.runs import ints

HOUR, DAY = 3_600, 86_400

intervals = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 15), st.integers(1, 9)).map(lambda t: (t[0], t[0] + t[1], t[2])),
    max_size=12,
)
edge_lists = st.lists(st.integers(0, 60), min_size=2, max_size=10, unique=True).map(sorted)
axes = st.tuples(st.integers(0, 10**9), st.integers(0, 10**8)).map(lambda t: TimeAxis(t[0], t[0] + t[1]))


def as_steps(rows) -> series.Steps:
    begin, end, weight = (ints(*(row[i] for row in rows)) for i in range(3))
    return steps(begin, end, weight)


def second_by_second(rows, first: int, last: int) -> list[int]:
    return [sum(w for begin, end, w in rows if begin <= second < end) for second in range(first, last)]


@given(intervals, edge_lists)
def test_means_and_maxima_are_those_of_all_seconds(rows, edges):
    found = as_steps(rows)
    seconds = [second_by_second(rows, *ends) for ends in pairwise(edges)]
    assert found.means(ints(*edges)).tolist() == pytest.approx([np.mean(part) for part in seconds])
    assert found.maxima(ints(*edges)).tolist() == [max(part) for part in seconds]


@given(intervals)
def test_every_change_is_shown_where_there_are_few(rows):
    edges, width = seen_edges(TimeAxis(0, 60), as_steps(rows))
    assert width == ""
    assert edges[0] == 0
    assert edges[-1] == 60
    assert {time for row in rows for time in row[:2] if row[0] < row[1]} <= set(edges.tolist())


def test_many_changes_are_shown_in_equal_intervals_that_keep_means_and_maxima():
    rng = np.random.default_rng(1)
    begin = np.sort(rng.integers(0, 30 * DAY, 5_000))
    found = steps(begin, begin + rng.integers(1, DAY, 5_000), rng.integers(1, 50, 5_000))
    edges, width = seen_edges(TimeAxis(0, 31 * DAY), found)
    assert width == "hour"
    assert len(edges) - 1 <= SEEN
    assert set(np.diff(edges).tolist()) == {HOUR}
    assert found.maxima(edges).max() == found.values.max()
    area = (found.values[:-1] * np.diff(found.times)).sum()
    assert (found.means(edges) * HOUR).sum() == pytest.approx(area)


@given(axes, st.sampled_from([BARS, SEEN]))
def test_intervals_are_equal_contain_the_span_and_are_few(axis, most):
    edges = bin_edges(axis, most)
    assert len(edges) - 1 <= most + 1
    assert set(np.diff(edges).tolist()) == {bin_width(axis, most)}
    assert edges[0] <= axis.first < edges[1]
    assert edges[-2] <= axis.last < edges[-1]
    assert (edges[0] - axis.origin) % bin_width(axis, most) == 0


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5))), edge_lists)
def test_counts_and_weighted_counts_by_interval(events, inner):
    edges = [-1, *(edge for edge in inner if edge), 100]
    times, weights = ints(*(t for t, _ in events)), ints(*(w for _, w in events))
    parts = [[(t, w) for t, w in events if low <= t < high] for low, high in pairwise(edges)]
    assert counts(times, ints(*edges)).tolist() == [len(part) for part in parts]
    assert counts(times, ints(*edges), weights).tolist() == [sum(w for _, w in part) for part in parts]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "second"), (30, "30 s"), (60, "minute"), (1_200, "20 min"), (HOUR, "hour"), (7 * DAY, "7 days")],
)
def test_lengths_of_intervals_in_words(seconds, words):
    assert series.width_words(seconds) == words


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=50))
def test_a_small_cumulative_distribution_has_every_value(values):
    x, shares = cumulative(np.array(values))
    assert x.tolist() == sorted(set(values))
    assert shares.tolist() == pytest.approx([sum(v <= place for v in values) / len(values) for place in x])


def test_a_large_cumulative_distribution_is_thinned_out_and_exact_at_every_point():
    values = np.random.default_rng(2).lognormal(6, 3, 50_000)
    x, shares = cumulative(values)
    assert len(x) < 500
    assert x[0] == values.min()
    assert (x[-1], shares[-1]) == (values.max(), 1.0)
    assert shares.tolist() == pytest.approx((np.searchsorted(np.sort(values), x, "right") / len(values)).tolist())
    assert np.diff(shares).max() < 0.02
    assert np.diff(np.log(x[x >= 1])).max() < 1.0


@pytest.mark.parametrize(
    ("first", "last", "unit", "origin"),
    [
        (0, 30 * DAY, "days", 0),
        (5 * DAY, 10 * DAY, "days", 0),
        (1_300_000_000, 1_300_000_000 + 30 * DAY, "days", 1_300_000_000),
        (0, 10 * HOUR, "hours", 0),
        (0, 600, "minutes", 0),
        (7, 7, "seconds", 7),
    ],
)
def test_time_axes_have_a_fitting_unit_and_begin_near_the_run(first, last, unit, origin):
    axis = TimeAxis(first, last)
    assert (axis.unit[1], axis.origin) == (unit, origin)
    assert axis.place(origin) == 0
