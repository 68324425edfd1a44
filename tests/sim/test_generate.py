"""Generated months: exact load, counts and span; the shape that the model asks for; the same from a seed."""

import math
import tracemalloc
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.words.errors import InputError
from cosched_sim.workload.generate import generate, hourly_rates
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.machine_models import EUREKA, INTREPID, MODELS, MONTH_S, MachineModel, RunClass
from cosched_sim.workload.pairing import pairs_by_window

MANY = 200_000
DAY_S = 86_400


def load(workload: Workload, model: MachineModel) -> float:
    span = int(workload.submit[-1] - workload.submit[0])
    return int((workload.run * workload.nodes).sum()) / (model.nodes * span)


def burstiness(submit: np.ndarray) -> float:
    """The coefficient of variation of the times between submissions; 1 for a Poisson process."""
    gaps = np.diff(submit)
    return float(gaps.std() / gaps.mean())


@pytest.fixture(scope="module", params=[INTREPID, EUREKA], ids=lambda model: model.name)
def model(request: pytest.FixtureRequest) -> MachineModel:
    return request.param


@pytest.fixture(scope="module")
def large(model: MachineModel) -> Workload:
    return generate(model, jobs=MANY, seed=2011)


# What is given, and what follows.


@pytest.mark.parametrize(("name", "jobs"), [("intrepid", 9_219), ("eureka", 1_760)])
def test_the_default_is_a_month(name, jobs):
    month = generate(name, seed=0)
    assert len(month) == jobs
    assert month.submit[-1] - month.submit[0] == MONTH_S == 30 * DAY_S
    assert load(month, MODELS[name]) == pytest.approx(MODELS[name].utilisation, rel=1e-3)
    assert month.source == f"generated:{name}"


@given(
    name=st.sampled_from(["intrepid", "eureka"]),
    jobs=st.none() | st.integers(200, 3_000),
    days=st.none() | st.integers(7, 60),
    utilisation=st.none() | st.floats(0.2, 1.2),
    seed=st.integers(0, 2**70),
)
@settings(max_examples=150, deadline=None)
def test_every_workload_can_run_and_has_the_load_asked_for(name, jobs, days, utilisation, seed):
    model = MODELS[name]
    span_s = days and days * DAY_S
    try:
        w = generate(name, jobs=jobs, span_s=span_s, utilisation=utilisation, seed=seed)
    except InputError:
        assert None not in (jobs, span_s, utilisation)
        return
    assert jobs in (None, len(w))
    assert all(c.dtype == np.int64 for c in (w.job_id, w.submit, w.run, w.nodes, w.requested))
    assert w.job_id.tolist() == list(range(1, len(w) + 1))
    assert w.submit[0] == 0
    assert (np.diff(w.submit) >= 0).all()
    assert span_s in (None, w.submit[-1])
    assert w.run.min() >= model.min_run_s
    assert (w.run <= w.requested).all()
    assert w.requested.max() <= model.limit_s
    assert set(w.nodes.tolist()) <= {size for size, _ in model.sizes}
    assert not w.rejected
    assert not w.left_out_ids
    if utilisation is not None or None in (jobs, span_s):
        assert load(w, model) == pytest.approx(utilisation or model.utilisation, rel=0.01)


def test_the_load_is_the_same_for_any_number_of_jobs_and_the_span_grows(model):
    spans = []
    for jobs in (1_000, 10_000, 100_000):
        w = generate(model, jobs=jobs, utilisation=0.6, seed=5)
        assert load(w, model) == pytest.approx(0.6, rel=1e-4)
        spans.append(int(w.submit[-1]))
    assert spans[1] / spans[0] == pytest.approx(10, rel=0.25)
    assert spans[2] / spans[1] == pytest.approx(10, rel=0.1)


def test_another_load_in_a_span_is_another_number_of_the_same_jobs():
    months = [generate("eureka", span_s=MONTH_S, utilisation=u, seed=3) for u in (0.25, 0.5, 0.75)]
    assert [len(month) for month in months] == [880, 1_760, 2_640]
    for month in months:
        assert month.run.mean() == pytest.approx(13_500, rel=0.25)


def test_jobs_and_span_make_the_load_they_make(model):
    w = generate(model, jobs=2 * model.jobs_per_month, span_s=MONTH_S, seed=7)
    assert len(w) == 2 * model.jobs_per_month
    assert w.submit[-1] == MONTH_S
    assert load(w, model) == pytest.approx(2 * model.utilisation, rel=0.15)


def test_with_jobs_span_and_load_given_the_run_times_give_way():
    """Tang et al., V.E: an Eureka month with Intrepid's 9,219 jobs at a load of 0.5."""
    w = generate("eureka", jobs=9_219, span_s=MONTH_S, utilisation=0.5, seed=1)
    assert len(w) == 9_219
    assert load(w, EUREKA) == pytest.approx(0.5, rel=1e-3)
    assert w.run.mean() < 2_500


@pytest.mark.parametrize("utilisation", [1e-6, 50.0])
def test_a_load_out_of_reach_is_refused(utilisation):
    with pytest.raises(InputError, match=r"^--utilisation: 100 jobs in 86400 s cannot make a load of .* to "):
        generate("intrepid", jobs=100, span_s=DAY_S, utilisation=utilisation, seed=1)


@pytest.mark.parametrize(
    ("wrong", "option"),
    [
        ({"jobs": 0}, "--jobs"), ({"jobs": -5}, "--jobs"), ({"span_s": 0}, "--days"),
        ({"utilisation": 0.0}, "--utilisation"), ({"utilisation": math.nan}, "--utilisation"),
        ({"utilisation": math.inf}, "--utilisation"), ({"seed": -1}, "--seed"),
    ],
)  # fmt: skip
def test_values_out_of_range_are_refused(wrong, option):
    with pytest.raises(InputError) as caught:
        generate("intrepid", **{"seed": 1, **wrong})
    assert caught.value.source == option


def test_an_unknown_machine_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match=r"^--machine: .*'mira'.*intrepid, eureka"):
        generate("mira", seed=1)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_very_few_jobs(jobs):
    w = generate("intrepid", jobs=jobs, seed=1)
    assert len(w) == jobs
    assert w.submit[0] == 0


def test_a_span_too_short_for_the_load_still_has_an_end(model):
    assert generate(model, jobs=2, utilisation=1e9, seed=1).submit.tolist() == [0, 0]


# The same from a seed.


@pytest.mark.parametrize(("name", "expected"), [("intrepid", 2_297_984_543), ("eureka", 2_902_207_895)])
def test_a_seed_makes_today_what_it_made_yesterday(name, expected):
    """Published figures depend on it: change the numbers only together with the study's."""
    w = generate(name, jobs=300, seed=42)
    assert crc32(np.concatenate([w.submit, w.run, w.nodes, w.requested]).astype("<i8").tobytes()) == expected


def test_two_machines_with_one_seed_are_independent():
    a = generate("intrepid", jobs=2_000, span_s=MONTH_S, seed=9)
    b = generate(replace(INTREPID, name="twin"), jobs=2_000, span_s=MONTH_S, seed=9)
    assert len(np.intersect1d(a.submit, b.submit)) < 20


# The shape.


def test_sizes_have_their_shares(model, large):
    total = sum(share for _, share in model.sizes)
    for size, share in model.sizes:
        assert np.mean(large.nodes == size) == pytest.approx(share / total, abs=0.005)


def test_the_jobs_of_a_model_make_its_load(model, large):
    """Else a fixed span would need more or longer jobs than the model's month has."""
    assert large.submit[-1] / MONTH_S * model.jobs_per_month == pytest.approx(MANY, rel=0.05)


def test_run_times_are_heavy_tailed(large):
    p25, median, p99 = np.percentile(large.run, [25, 50, 99])
    assert large.run.mean() > 1.3 * median
    assert p99 > 7 * median
    assert p25 < median / 5


def test_run_times_follow_the_mixture():
    long_only = replace(INTREPID, runs=(RunClass(1.0, 3_600.0, 0.5),), min_run_s=1, limit_s=10**7)
    logs = np.log(generate(long_only, jobs=MANY, seed=1).run)
    assert logs.mean() == pytest.approx(math.log(3_600), abs=0.01)
    assert logs.std() == pytest.approx(0.5, abs=0.01)


def test_requests_are_round_and_generous(model, large):
    steps = [step for step, _ in model.rounding]
    capped = large.requested == model.limit_s
    assert (large.requested[~capped] % min(steps) == 0).all()
    assert np.mean(large.requested % 3_600 == 0) > dict(model.rounding)[3_600]
    accuracy = large.run / large.requested
    assert 0.15 < np.median(accuracy) < 0.7
    assert np.mean(accuracy > 0.9) > 0.1


def test_submissions_follow_the_day_and_the_week(model, large):
    whole_weeks = large.submit[large.submit < large.submit[-1] // (7 * DAY_S) * (7 * DAY_S)]
    hours = whole_weeks // 3_600 % 168
    measured = np.bincount(hours, minlength=168) * 168 / len(whole_weeks)
    # Sessions blur the hours a little.
    assert np.abs(measured - hourly_rates(model)).max() < 0.25
    by_day = measured.reshape(7, 24).mean(axis=1)
    assert by_day[5:].mean() / by_day[:5].mean() == pytest.approx(model.weekend_rate, abs=0.05)
    assert abs(int(measured.reshape(7, 24).mean(axis=0).argmax()) + 0.5 - model.peak_hour) <= 2


def test_without_cycles_and_sessions_submissions_are_a_poisson_process():
    plain = replace(EUREKA, session_jobs=1.0, daily_swing=0.0, weekend_rate=1.0)
    submit = generate(plain, jobs=MANY, seed=4).submit
    assert burstiness(submit) == pytest.approx(1, abs=0.02)
    per_day = np.bincount(submit // DAY_S)[:-1]
    assert per_day.var() / per_day.mean() == pytest.approx(1, abs=0.2)


def test_submissions_come_in_bursts(large):
    assert burstiness(large.submit) > 1.4


def test_two_minute_windows_pair_about_as_many_jobs_as_in_the_paper():
    """Tang et al., V.D: two minutes paired 5 % to 10 % of the jobs."""
    intrepid = generate("intrepid", seed=1)
    for utilisation, least, most in ((0.25, 0.03, 0.06), (0.5, 0.06, 0.1), (0.75, 0.09, 0.13)):
        eureka = generate("eureka", span_s=MONTH_S, utilisation=utilisation, seed=1)
        assert least < len(pairs_by_window([intrepid, eureka], 120)) / len(intrepid) < most


def test_memory_stays_below_200_bytes_a_job_beyond_the_result(model):
    generate(model, jobs=10, seed=1)
    for span_s in (None, 10 * MONTH_S):
        tracemalloc.start()
        w = generate(model, jobs=100_000, span_s=span_s, utilisation=0.5, seed=1)
        result, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (peak - result) / len(w) < 200


# Models.


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": ((0, 1.0),)}, {"sizes": ((40_961, 1.0),)}, {"min_run_s": 0}, {"limit_s": 10}, {"jobs_per_month": 0},
        {"utilisation": 0.0}, {"accuracy": ((0.0, 0.0), (1.0, 1.0))}, {"accuracy": ((0.0, 0.5), (1.0, 1.5))},
        {"rounding": ((0, 1.0),)}, {"session_jobs": 0.5}, {"daily_swing": 1.5}, {"weekend_rate": -1.0},
    ],
)  # fmt: skip
def test_a_model_that_cannot_be_drawn_is_refused(change):
    with pytest.raises(ValueError, match="machine model 'intrepid': "):
        replace(INTREPID, **change)
