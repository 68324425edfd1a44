"""Workloads of the model of Lublin and Feitelson: moments, the archive's logs of it, and streams of random numbers."""

import math
import re
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import scipy
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import cosched_sim as sim
from cosched.cli.main import main
from cosched.schedulers.column import Column
from cosched.words.errors import InputError
from cosched_sim.flags import replay_settings
from cosched_sim.workload.generated import read_generated
from cosched_sim.workload.job_log import JobLog, read_jobs
from cosched_sim.workload.jobs import TraceLog
from cosched_sim.workload.lublin import KEYS
from cosched_sim.workload.traces import read_trace
from tests.tiers import seeds

MANY = 200_000
LIMIT = 0.0192  # of the distance between two samples of 10,000 at 5 %: 1.36 sqrt(2 / 10,000)
SHAPE, SCALE = 10.2303 * 1.0225, 0.4871  # of the gaps' logarithms in operational time

# Mean sizes of all, short, medium and long jobs, classes in %, mean gap in s, load. Barsanti and Sodan (2006), section
# 5.4, have sizes of 12 (8, 9 and 20), and classes of 42.7, 26.6 and 30.7 %.
W1 = ("alpha=10.23", (12.2, 8.7, 8.8, 20.1), (42.4, 27.2, 30.4), 899, 0.73)
W2 = ("alpha=9.83", (12.2, 8.7, 8.8, 20.1), (42.4, 27.2, 30.4), 706, 0.93)


def gamma(shape: float, scale: float) -> Any:
    """The distribution; its module loads when it is first used, since that takes half a second."""
    return scipy.stats.gamma(shape, scale=scale)


def drawn(*words: str, jobs: int = MANY, seed: int = 0) -> TraceLog:
    return read_generated("/".join(("generated:lublin", f"jobs={jobs}", *words)), seed, "a")


def moments(log: TraceLog, nodes: int) -> tuple[list[float], list[float], float, float]:
    which = np.digitize(log.run, [60, 3600])
    sizes = [log.allocated.mean(), *(log.allocated[which == each].mean() for each in range(3))]
    span = int(log.submit[-1] - log.submit[0])
    load = int(log.run @ log.allocated) / (nodes * span)
    return sizes, (np.bincount(which) * 100 / len(log)).tolist(), span / (len(log) - 1), load


@pytest.mark.parametrize("seed", seeds(1, 10))
@pytest.mark.parametrize(("alpha", "sizes", "classes", "gap", "load"), [W1, W2])
def test_the_moments_of_both_workloads(alpha, sizes, classes, gap, load, seed):
    found = moments(drawn(alpha, seed=seed), 128)
    assert found[0] == pytest.approx(sizes, rel=0.025)
    assert found[1] == pytest.approx(classes, abs=0.5)
    assert found[2] == pytest.approx(gap, rel=0.08)  # four standard errors and more: the coefficient of variation is 8
    assert found[3] == pytest.approx(load, rel=0.08)


@pytest.mark.soak
@pytest.mark.parametrize(("alpha", "gap", "load"), [(10.23, 899, 0.73), (9.83, 706, 0.93)])
def test_means_over_seeds_are_those_of_the_distributions(alpha, gap, load):
    found = [moments(drawn(f"alpha={alpha}", seed=seed), 128) for seed in range(40)]
    gaps, loads = np.mean([each[2:] for each in found], axis=0)
    shape, tilted = alpha * 1.0225, SCALE / (1 - SCALE)
    exact = (1 - SCALE) ** -shape * gamma(shape, tilted).cdf(13) / gamma(shape, SCALE).cdf(13)
    assert gaps == pytest.approx(exact, rel=0.01)
    assert (gaps, loads) == pytest.approx((gap, load), rel=0.02)


def distances(first: TraceLog, other: TraceLog) -> list[float]:
    """Of run times, sizes and gaps."""
    pairs = ((first.run, other.run), (first.allocated, other.allocated), (np.diff(first.submit), np.diff(other.submit)))
    return [scipy.stats.ks_2samp(*pair).statistic for pair in pairs]


@pytest.mark.parametrize("seed", seeds(1, 20))
def test_a_log_of_the_model_is_found_again(traces, seed):
    log = read_trace(traces / "lublin_256.swf.gz")
    assert max(distances(drawn("nodes=256", seed=seed), log)) < LIMIT
    # Without the ratio of all arrivals to those in the rush hours the gaps are too short.
    run, size, gap = distances(drawn("nodes=256", "arar=1", seed=seed), log)
    assert max(run, size) < LIMIT < 0.023 < gap
    for each in (log, drawn("nodes=256", seed=seed)):
        sizes, classes, *_ = moments(each, 256)
        assert sizes[0] == pytest.approx(22.2, abs=0.5)
        assert classes == pytest.approx([39.9, 25.7, 34.4], abs=0.8)


def test_a_log_with_two_types_of_jobs_is_not_of_this_model(traces):
    assert min(distances(drawn("nodes=256"), read_trace(traces / "lublin_256_new2.swf.gz"))) > 0.1


def operational(submit: np.ndarray) -> np.ndarray:
    """When the jobs are submitted in operational time."""
    k = np.arange(11, 59)
    mass = np.empty(48)
    mass[(k - 1) % 48] = gamma(8.1737, 3.9631).cdf(k + 0.5) - gamma(8.1737, 3.9631).cdf(k - 0.5)
    days, rest = np.divmod(submit, 86_400)
    return days * 86_400 + np.interp(rest, np.arange(49) * 1800, 1800 * np.append(0, np.cumsum(mass / mass.mean())))


@pytest.mark.parametrize("of", ["the archive", "the model"])
def test_gaps_have_their_distribution_in_operational_time(traces, of):
    """What has passed of a gap in one half hour counts in the next, or they would not."""
    log = read_trace(traces / "lublin_256.swf.gz") if of == "the archive" else drawn("nodes=256")
    gaps = np.log(np.diff(operational(log.submit)))
    error = math.sqrt(SHAPE / len(gaps)) * SCALE
    assert gaps.mean() == pytest.approx(SHAPE * SCALE, abs=3 * error)  # 5.095
    assert gaps.std() == pytest.approx(math.sqrt(SHAPE) * SCALE, abs=3 * error)  # 1.575
    assert scipy.stats.kstest(gaps, gamma(SHAPE, SCALE).cdf).statistic < 1.36 / math.sqrt(len(gaps))
    assert of == "the model" or (round(gaps.mean(), 3), round(gaps.std(), 3)) == (5.062, 1.574)


# Streams of random numbers.

PARTS = ("submit", "run", "allocated")


def bytes_of(log: TraceLog, *parts: str) -> list[bytes]:
    return [getattr(log, part).tobytes() for part in parts]


def test_a_seed_makes_the_same_log_and_another_seed_another():
    first, other = drawn(jobs=500, seed=1), drawn(jobs=500, seed=2)
    assert bytes_of(first, *PARTS) == bytes_of(drawn("seed=1", jobs=500, seed=2), *PARTS)
    assert not set(bytes_of(first, *PARTS)) & set(bytes_of(other, *PARTS))


def test_a_seed_makes_today_what_it_made_yesterday():
    """Published figures depend on it: change the number only together with them."""
    log = drawn("moldable=0.8", jobs=300, seed=42)
    columns = (log.submit, log.run, log.allocated, log.columns["moldable"])
    assert crc32(np.concatenate(columns).astype("<i8").tobytes()) == 1_309_186_419


def test_a_parameter_moves_only_what_it_is_of():
    usual = drawn(jobs=1000)
    for setting, moved in {"alpha=9.83": {"submit"}, "serial=0.3": {"allocated", "run"}, "b2=0.031": {"run"}}.items():
        other = drawn(setting, jobs=1000)
        assert {part for part in PARTS if (getattr(usual, part) != getattr(other, part)).any()} == moved


def test_which_jobs_are_moldable_is_drawn_on_its_own():
    usual = drawn()
    assert not usual.columns
    found = [drawn(f"moldable={share}") for share in (0, 0.5, 0.8, 1)]
    assert all(bytes_of(log, *PARTS) == bytes_of(usual, *PARTS) for log in found)
    columns = [log.columns["moldable"] for log in found]
    assert [column.mean() for column in columns] == pytest.approx([0, 0.5, 0.8, 1], abs=0.005)
    assert all((fewer <= more).all() for fewer, more in pairwise(columns))
    log = JobLog(name="a", trace="generated:lublin/jobs=50/moldable=0.5")
    jobs, _ = read_jobs(log, overrun="extend", has_pairs=False)
    assert set(jobs.columns["moldable"].tolist()) == {0, 1}


# Settings.


@given(nodes=st.integers(2, 5000))
@settings(max_examples=30, deadline=None)
def test_every_job_fits_its_machine(nodes):
    log = drawn(f"nodes={nodes}", jobs=2000)
    assert log.allocated.min() == 1
    assert log.allocated.max() <= nodes
    assert log.run.min() >= 1
    assert log.header["MaxNodes"] == str(nodes)


def test_defaults_follow_from_the_nodes():
    assert bytes_of(drawn("hi=8", "med=5.5", "nodes=256"), *PARTS) == bytes_of(drawn("nodes=256"), *PARTS)
    assert bytes_of(drawn("hi=7", "med=4.5"), *PARTS) == bytes_of(drawn(), *PARTS)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("jobs=0", "jobs: 0 is not between 1 and 1000000"),
        ("nodes=1", "nodes: 1 is not between 2 and 1073741824"),
        ("moldable=1.5", "moldable: 1.5 is not between 0 and 1"),
        ("serial=0.9", "pow2: 0.576 and serial, 0.9, are more than all jobs; lower one"),
        ("hi=8", "hi: 8 is above 7, log2 of the nodes; lower it"),
        ("med=9", "med: 9 is not between low, 0.8, and hi, 7; change one of them"),
        ("beta=0", "beta: 0 is not between 1e-06 and 1e+06"),
        ("max_gap=20", "max_gap: 20 is not between 1 and 13.8"),
        ("day_start=0", "day_start: 0 is not between 1 and 48"),
        ("a2=1000", "a2: 1000 puts nearly all values above max_run, 12; lower a2 or raise max_run"),
        ("alpha=99", "alpha: 99 puts nearly all values above max_gap, 13; lower alpha or raise max_gap"),
        ("anum=1e5", "anum: 100000 leaves the day without submissions; change anum or bnum"),
        ("pa=-inf", "pa: '-inf' is not a number that can be used"),
        ("serial=-1", "serial: '-1' is not a number that can be used"),
        ("colour=1", f"generated:lublin/KEY=VALUE/... (of {', '.join(KEYS)}) expected, not 'colour=1'"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_line(setting, reason):
    with pytest.raises(InputError, match=f"^--domain a:trace: {re.escape(reason)}$"):
        sim.run(replay_settings([f"a,trace=generated:lublin/{setting}"], None))


def test_commands_look_at_write_and_convert_one(tmp_path):
    def said(*words: str) -> str:
        return CliRunner().invoke(main, ["trace", *words]).output

    trace = "generated:lublin/jobs=200/nodes=64/seed=3"
    assert "64 nodes" in said("info", trace)
    written, converted = tmp_path / "a.swf", tmp_path / "b.swf"
    assert "200 jobs" in said("generate", trace, str(written))
    said("convert", trace, str(converted))
    assert written.read_text() == converted.read_text()
    assert bytes_of(read_trace(written), *PARTS) == bytes_of(drawn("nodes=64", jobs=200, seed=3), *PARTS)
    assert "SWF has no column moldable; write CSV" in said("generate", f"{trace}/moldable=0.8", str(written))
    table = tmp_path / "a.csv.gz"
    said("generate", f"{trace}/moldable=0.8", str(table))
    kept = read_trace(table, more=[Column.of_words("moldable", "0", "1")])
    log = drawn("nodes=64", "moldable=0.8", jobs=200, seed=3)
    assert bytes_of(kept, *PARTS, "requested_time") == bytes_of(log, *PARTS, "requested_time")
    assert kept.columns["moldable"].tolist() == log.columns["moldable"].tolist()
    assert "TRACE: jobs: 0 is not between 1 and 1000000" in said("info", "generated:lublin/jobs=0")
