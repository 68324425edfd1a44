import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.traces import cut, offered_load, read_trace, scale, scale_to_load, shift, write_swf


def workload_of(submits, run=10, nodes=2):
    submit = np.array(submits, dtype=np.int64)
    same = np.ones(len(submit), dtype=np.int64)
    return Workload("t", np.arange(len(submit)), submit, same * run, same * nodes, same * run, {"no_size": 3})


def test_cut_keeps_start_and_leaves_out_end():
    jobs = cut(workload_of([0, 5, 10, 10, 15]), 5, 15)
    assert jobs.submit.tolist() == [5, 10, 10]
    assert jobs.job_id.tolist() == [1, 2, 3]
    assert len(jobs.run) == len(jobs.nodes) == len(jobs.requested) == 3
    assert jobs.rejected == {"no_size": 3}


def test_cut_with_open_ends():
    jobs = workload_of([0, 5, 10])
    assert cut(jobs, None, 5).submit.tolist() == [0]
    assert cut(jobs, 5, None).submit.tolist() == [5, 10]
    assert cut(jobs, None, None).submit.tolist() == [0, 5, 10]


def test_shifted():
    jobs = workload_of([5, 10])
    assert shift(jobs, 3).submit.tolist() == [8, 13]
    assert shift(jobs, -5).submit.tolist() == [0, 5]
    with pytest.raises(ValueError, match="the first job would be submitted 1 s before time 0"):
        shift(jobs, -6)
    with pytest.raises(ValueError, match="too large"):
        shift(jobs, 10**12)


def test_cut_a_log(tmp_path):
    write_swf(workload_of([0, 5, 10]), tmp_path / "a.swf")
    log = cut(read_trace(tmp_path / "a.swf"), 5, 10)
    assert log.submit.tolist() == [5]
    assert log.line.tolist() == [5]
    assert log.header["Version"] == "2.2"


@pytest.mark.parametrize(("start", "end"), [(5, 5), (6, 5), (math.nan, 5)])
def test_a_window_that_is_none(start, end):
    with pytest.raises(ValueError, match="a time window ends after its start"):
        cut(workload_of([0, 5]), start, end)


def test_an_empty_window():
    with pytest.raises(ValueError, match=r"no job is submitted in the time window; the submit times are 0 to 5"):
        cut(workload_of([0, 5]), 6, 10**30)


@given(
    st.lists(st.integers(0, 10**11), min_size=1, max_size=20),
    st.one_of(
        st.fractions(Fraction(1, 10**6), 9),
        st.decimals(Decimal("0.001"), 9, places=17),
        st.integers(1, 9),
        st.just(Fraction(10**30 + 1, 10**30)),
    ),
)
def test_scaling_is_exact(submits, factor):
    submits.sort()
    scaled = scale(workload_of(submits), factor)
    exact = [submits[0] + math.floor((s - submits[0]) * Fraction(factor)) for s in submits]
    assert scaled.submit.tolist() == exact
    assert scaled.submit.dtype == np.int64


@pytest.mark.parametrize("factor", ["0.29", 0.29, Decimal("0.29"), Fraction(29, 100), "29/100"])
def test_a_factor_counts_as_it_is_written(factor):
    """In doubles 0.29 * 100 is 28.999999999999996."""
    assert scale(workload_of([7, 107]), factor).submit.tolist() == [7, 36]


BAD = [0, -1, "0", "-0.5", "nan", "inf", "1e999999999", "1e-999999999", "x", "", "1/0", math.nan, math.inf, True]


@pytest.mark.parametrize("value", BAD)
def test_factors_and_loads_that_mean_nothing(value):
    with pytest.raises(ValueError, match=f"a scale factor is a number above 0, not {value}"):
        scale(workload_of([0, 5]), value)
    with pytest.raises(ValueError, match=f"a target load is a number above 0, not {value}"):
        scale_to_load(workload_of([0, 5]), 4, value)


def test_times_that_would_become_too_large():
    with pytest.raises(ValueError, match="makes submit times too large"):
        scale(workload_of([0, 10**9]), "1e20")


def test_offered_load_does_not_overflow():
    assert offered_load(workload_of([3, 8, 23]), 4) == 3 * 10 * 2 / (4 * 20)
    assert offered_load(workload_of([0, 1], run=10**12, nodes=10**8), 10**8) == 2 * 10**12


def test_no_load_without_a_span():
    for call in (lambda: offered_load(workload_of([3, 3]), 4), lambda: scale_to_load(workload_of([3]), 4, "0.5")):
        with pytest.raises(ValueError, match="all jobs are submitted at the same time"):
            call()


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=20).filter(lambda s: max(s) - min(s) > 1000))
def test_scaled_to_a_load(submits):
    jobs = workload_of(sorted(submits), run=1000, nodes=3)
    scaled = scale_to_load(jobs, 10, "0.5")
    # Rounded down to whole seconds, the span is at most a second short.
    span = int(scaled.submit[-1]) - int(scaled.submit[0])
    exact = Fraction(len(jobs) * 3000, 10 * span)
    assert Fraction(1, 2) <= exact <= Fraction(1, 2) * Fraction(span + 1, span)
