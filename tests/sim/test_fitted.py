"""Workloads like a job log: Weissman et al. (2004), 4.2."""

import gzip
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import cosched_sim as sim
from cosched.cli.main import main
from cosched.words.errors import InputError
from cosched_sim.flags import replay_settings
from cosched_sim.sweeps.case import Case
from cosched_sim.workload.fitted import FittedTrace, fit, fitted_file, hours_of, weibull
from cosched_sim.workload.generated import file_of, parse_generated, with_file
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.sdsc import SDSC
from cosched_sim.workload.traces import clean, offered_load, write_swf


def workload(log) -> Workload:
    return clean(log, SDSC.nodes)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a log" / "sp2.swf.gz"
    path.parent.mkdir()
    write_swf(SDSC.log(2000, None, seed=1), path)
    return path


@pytest.mark.parametrize(("shape", "scale"), [(0.408, 2503), (0.439, 4583), (1, 60), (3.5, 1e6)])
def test_the_likeliest_weibull_distribution_is_found(shape, scale):
    values = scale * np.random.default_rng(1).weibull(shape, 40_000)
    assert weibull(values) == pytest.approx((shape, scale), rel=0.02)
    found = weibull(values)

    def likelihood(k: float, s: float) -> float:
        return float((np.log(k / s) + (k - 1) * np.log(values / s) - (values / s) ** k).sum())

    best = likelihood(*found)
    assert all(likelihood(found[0] * a, found[1] * b) < best for a in (0.99, 1, 1.01) for b in (0.99, 1.01))


def test_gaps_depend_on_the_hour_of_the_job_before():
    """4.2: "the mean of which, 1/lambda, varies according to the (simulated) time of day"."""
    jobs = workload(SDSC.log(60_000, None, seed=2))
    hours, gaps = hours_of(jobs.submit, SDSC.begin)[:-1], np.diff(jobs.submit)
    assert [gaps[hours == hour].mean() for hour in range(24)] == pytest.approx(SDSC.gaps, rel=0.1)
    exponential = gaps[hours == 11]
    assert exponential.std() == pytest.approx(exponential.mean(), rel=0.05)


def test_sizes_have_the_frequencies_of_the_log():
    """4.2: "we use a discrete probability distribution that reflects the job sizes in an actual workload"."""
    jobs = workload(SDSC.log(50_000, None, seed=3))
    sizes, counts = np.unique(jobs.nodes, return_counts=True)
    assert set(sizes.tolist()) <= set(SDSC.sizes)
    share = dict(zip(sizes.tolist(), counts / len(jobs), strict=True))
    for size, count in zip(SDSC.sizes, SDSC.counts, strict=True):
        assert share.get(size, 0) == pytest.approx(count / sum(SDSC.counts), abs=0.006)


@pytest.mark.parametrize("load", [None, 0.5, 0.9])
def test_all_gaps_are_scaled_to_the_load_and_jobs_stay_the_same(load):
    jobs, usual = (workload(SDSC.log(200_000, each, seed=4)) for each in (load, None))
    assert offered_load(jobs, SDSC.nodes) == pytest.approx(load or SDSC.load, rel=0.05)
    assert (jobs.run == usual.run).all()
    assert (jobs.nodes == usual.nodes).all()
    assert jobs.submit[0] == 0


def test_a_fitted_model_is_found_again():
    again = fit(workload(SDSC.log(50_000, None, seed=5)), SDSC.nodes, SDSC.begin)
    assert (again.shape, again.scale) == pytest.approx((SDSC.shape, SDSC.scale), rel=0.03)
    assert again.load == pytest.approx(SDSC.load, rel=0.06)


def test_the_model_of_the_sp2_is_that_of_its_log(traces):
    """fluid.md: "SDSC-SP2 excerpt (starts 18:11:04): shape 0.408, scale 2,503 s, mean size 12.6, load 0.77 as fitted;
    CTC: 0.439, 4,583".
    """
    assert replace(fitted_file(str(traces / "SDSC-SP2-1998.first5000.swf.gz")), name=SDSC.name) == SDSC
    ctc = fitted_file(str(traces / "CTC-SP2-1996-3.1-cln.nowait.swf.gz"))
    assert (round(ctc.shape, 3), ctc.scale) == (0.439, 4583)


def test_the_numbers_of_the_model():
    assert (round(SDSC.shape, 3), SDSC.scale) == (0.408, 2503)
    assert (round(SDSC.mean_size, 1), round(SDSC.load, 2)) == (12.6, 0.77)


def test_a_replay_draws_jobs_like_those_of_a_file(log):
    result = sim.run(replay_settings([f"a,trace=fitted:{log}/jobs=300/load=0.9"], None, seed=7))
    domain = result.domains["a"]
    assert (len(domain.workload), domain.nodes) == (300, 128)
    again = sim.run(replay_settings([f"a,trace=fitted:{log}/jobs=300/load=0.9/seed=7"], None, seed=8))
    assert (again.domains["a"].workload.run == domain.workload.run).all()


def test_a_configuration_file_names_the_log_relative_to_its_folder(log):
    (log.parent / "one.toml").write_text('[[domain]]\nname = "a"\ntrace = "fitted:sp2.swf.gz/jobs=20"\n')
    assert len(sim.run(replay_settings((), str(log.parent / "one.toml"), seed=1)).domains["a"].workload) == 20


def test_a_case_of_a_sweep_is_another_one_if_the_log_changes(log):
    settings = {"domains": [{"name": "a", "trace": f"fitted:{log}/jobs=20/seed=1"}]}
    keys = [Case(settings, {}).key]
    write_swf(SDSC.log(100, None, seed=2), log)
    assert Case(settings, {}).key != keys[0]
    other = {"domains": [{"name": "a", "trace": f"fitted:{log}/jobs=21/seed=1"}]}
    assert Case(other, {}).key != Case(settings, {}).key


def test_the_settings_of_a_trace():
    text = "fitted:logs/sp2.swf.gz/jobs=8/load=0.5"
    assert parse_generated(text) == FittedTrace("logs/sp2.swf.gz", 8, load=parse_generated(text).load)
    assert file_of(text) == "logs/sp2.swf.gz"
    assert with_file(text, "/x/y.swf") == "fitted:/x/y.swf/jobs=8/load=0.5"
    assert file_of("generated:sdsc/jobs=8") is None


def test_larger_jobs_are_left_out_on_a_smaller_machine():
    assert SDSC.on(8).sizes == tuple(range(1, 9))
    assert all(a < b for a, b in pairwise(SDSC.on(100).sizes))


def generated(*words: str) -> str:
    result = CliRunner().invoke(main, ["trace", "generate", *words, "out.swf.gz"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return str(result.exception)
    return result.output


def test_a_trace_is_written_to_a_file(log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "out.swf.gz: 50 jobs" in generated(f"fitted:{log}/jobs=50", "--seed", "3")
    text = gzip.decompress((tmp_path / "out.swf.gz").read_bytes()).decode()
    assert "; Note: drawn by cosched with seed 3 from a model of sp2; time 0 is 00:00:00" in text
    assert "--jobs, --days and --utilisation are for a MACHINE" in generated(f"fitted:{log}", "--jobs", "3")


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        ("fitted:", "--domain a:trace: fitted:FILE/jobs=N/nodes=N/load=L/seed=S expected, not 'fitted:'"),
        ("fitted:none.swf", "none.swf: cannot be read: No such file or directory"),
        ("fitted:-", "standard input: a fitted trace needs the name of a file"),
        ("fitted:x.swf/jobs=0", "--domain a:trace: jobs: 0 is not between 1 and 1000000"),
        ("fitted:x.swf/load=0", "--domain a:trace: load: 0 is not between 0.001 and 1000"),
        ("fitted:x.swf/load=x", "--domain a:trace: load: 'x' is not a number that can be used"),
        ("fitted:x.swf/days=3", "--domain a:trace: fitted:FILE/jobs=N/nodes=N/load=L/seed=S expected, not 'days=3'"),
        ("generated:sdsc/days=3", "generated:sdsc/jobs=N/nodes=N/load=L/seed=S expected, not 'days=3'"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_line(trace, reason):
    with pytest.raises(InputError, match=re.escape(reason)):
        sim.run(replay_settings([f"a,trace={trace}"], None))


@pytest.mark.parametrize(
    ("jobs", "nodes", "reason"),
    [
        ("1,0,5,3\n2,9,7,3", "", "two.csv: does not state the machine's size: add /nodes=N to the trace"),
        ("1,0,5,3\n2,9,7,3", "/nodes=2", "two.csv: no job is left: larger than the machine (2)"),
        ("1,0,5,3", "/nodes=4", "two.csv: cannot be fitted: it needs jobs that are submitted at different times"),
        ("1,0,5,3\n2,0,7,3", "/nodes=4", "cannot be fitted: it needs jobs that are submitted at different times"),
        ("1,0,5,3\n2,9,5,3", "/nodes=4", "two.csv: cannot be fitted: all run times are equal"),
    ],
)
def test_a_log_that_cannot_be_fitted_is_told_in_one_line(tmp_path, monkeypatch, jobs, nodes, reason):
    monkeypatch.chdir(tmp_path)
    Path("two.csv").write_text(f"job_id,submit,run,nodes\n{jobs}\n")
    with pytest.raises(InputError, match=re.escape(reason)):
        sim.run(replay_settings([f"a,trace=fitted:two.csv{nodes}"], None))
