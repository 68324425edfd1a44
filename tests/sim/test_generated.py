"""Traces that are drawn when a replay wants them, and requested times that are nearer or farther off."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cosched_sim as sim
from cosched.words.errors import InputError
from cosched_sim.flags import replay_settings
from cosched_sim.workload.generate import generate
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.traces import with_estimates, write_swf


def replayed(trace, **options):
    settings = {key: options.pop(key) for key in ("load", "cut", "node_pool", "nodes") if key in options}
    return sim.replay([sim.Domain(name="a", trace=trace, **settings)], **options).domains["a"]


def test_a_generated_trace_gives_what_its_file_gives(tmp_path):
    write_swf(generate("eureka", span_s=3 * 86_400, utilisation=0.6, seed=4), tmp_path / "e.swf", {"MaxNodes": "100"})
    drawn = replayed("generated:eureka/days=3/utilisation=0.6", seed=4)
    assert drawn.metrics == replayed(str(tmp_path / "e.swf")).metrics


def test_its_seed_is_the_replays_unless_it_states_its_own():
    three = replayed("generated:eureka/jobs=50", seed=3).metrics
    assert replayed("generated:eureka/jobs=50/seed=3", seed=8).metrics == three
    assert replayed("generated:eureka/jobs=50", seed=8).metrics != three


def test_it_is_cut_scaled_and_rounded_like_a_file():
    assert replayed("generated:eureka/days=4", load="0.9").metrics["offered_load"] == pytest.approx(0.9, rel=1e-3)
    assert replayed("generated:eureka/days=4", cut="0..1d").workload.submit.max() < 86_400
    rounded = replayed("generated:eureka/jobs=100", node_pool="partitioned:32x4", nodes=128)
    assert set(rounded.workload.nodes.tolist()) <= {4 * 2**i for i in range(6)}


MONTH = "generated:eureka/jobs=4000/days=30/utilisation=0.5"


def drawn(text: str) -> Workload:
    return replayed(text, seed=1).workload


@pytest.mark.parametrize(
    ("setting", "measure", "least", "most"),
    [
        ("large=0.1", lambda jobs: (jobs.nodes >= 50).mean(), 0.08, 0.12),
        ("large=0", lambda jobs: (jobs.nodes >= 50).mean(), 0, 0),
        ("sessions=1", lambda jobs: (np.diff(jobs.submit) < 200).mean(), 0, 0.4),  # 648 s from job to job
        ("sessions=40", lambda jobs: (np.diff(jobs.submit) < 200).mean(), 0.6, 1),
        ("swing=0", lambda jobs: (jobs.submit % 86_400 < 43_200).mean(), 0.48, 0.52),
        ("swing=1", lambda jobs: (jobs.submit % 86_400 < 43_200).mean(), 0.1, 0.3),  # few in the morning
        ("spread=0.2", lambda jobs: np.log(jobs.run[jobs.run > 1000]).std(), 0, 0.4),
    ],
)
def test_one_property_is_varied_and_jobs_span_and_load_stay(setting, measure, least, most):
    usual, varied = drawn(MONTH), drawn(f"{MONTH}/{setting}")
    assert least <= measure(varied) <= most
    assert not least <= measure(usual) <= most or setting in ("sessions=1", "large=0")
    for jobs in (usual, varied):
        assert (len(jobs), jobs.submit.max()) == (4000, 30 * 86_400)
        assert jobs.run @ jobs.nodes / (100 * 30 * 86_400) == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        ("generated:eureka/large=2", "large: 2 is not a share of the jobs"),
        ("generated:eureka/sessions=0.5", "sessions need 1 job or more"),
        ("generated:eureka/swing=2", "daily_swing must be 0 to 1"),
        ("generated:cray", "no machine is called 'cray'"),
        ("generated:eureka/days", "days: '' is not a number"),
        ("generated:eureka/days=0", "days: '0' is not a number"),
        ("generated:eureka/seed=-1", "seed: '-1' is not a number"),
        ("generated:eureka/days=1/days=2", "'days=2' is given twice"),
        ("generated:gauss/beta=1" + "0" * 400, "0' is not a number that can be used"),
        ("generated:eureka/colour=1", "not 'colour=1'"),
        ("generated:eureka/jobs=0", "0 is not a number of jobs"),
        ("generated:eureka/utilisation=0", "is not a load"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(trace, reason):
    with pytest.raises(InputError, match=r"^--domain a:trace: ") as told:
        sim.run(replay_settings([f"a,trace={trace}"], None))
    assert reason in str(told.value)


def test_a_script_may_be_given_as_its_lines():
    assert replayed("generated:eureka/jobs=20", script="0 down a 100\n1d up a 100\n").jobs.start.min() >= 86_400
    with pytest.raises(InputError, match=r"^script:2: no domain 'b'"):
        replayed("generated:eureka/jobs=20", script="0 down a 1\n0 down b 1\n")


@given(
    jobs=st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)), min_size=1),
    factor=st.decimals(0, 1000, places=3),
)
def test_estimates_scale_what_is_above_the_run_time_rounded_up(jobs, factor):
    run, above = (np.array(column, np.int64) for column in zip(*jobs, strict=True))
    ones = np.ones_like(run)
    work = Workload("", ones, ones, run, ones, run + above)
    assert with_estimates(work, factor).requested.tolist() == [r + math.ceil(a * factor) for r, a in jobs]
