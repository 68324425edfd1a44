"""Curves that are drawn for jobs whose log says none (molding.md, Jobs)."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

import cosched_sim as sim
from cosched_papers.molding.curves import Downey, working_set
from cosched_papers.molding.drawn_curves import SIGMA, working_sets
from cosched_sim.flags import replay_settings
from cosched_sim.replaying import Replay

TRACE = "generated:lublin/jobs=4000/alpha=10.23"


def jobs_of(trace: str, *keys: str, seed: int = 3):
    """The jobs of a domain as it takes them, and what is said of them."""
    said: list[str] = []
    domain = ",".join((f"a,trace={trace},scheduler=molding,sizing=none", *keys))
    return Replay(replay_settings([domain], None, seed=seed), said.append).workloads[0], said


def test_working_sets_are_those_of_exact_speed_ups():
    random = Random(30)
    for machine in (1, 7, 128):
        curves = [
            Downey(random.randint(10**6, random.choice([2, 40, 900]) * 10**6), random.choice([0, 600_000, 2_500_000]))
            for _ in range(40)
        ]
        a, sigma = (np.array(column) / 10**6 for column in zip(*curves, strict=True))
        for size, curve in zip(working_sets(a, sigma, machine), curves, strict=True):
            assert size == working_set(curve, 1, machine), curve


def test_a_job_without_a_curve_has_one_drawn_and_runs_on_its_working_set():
    """T(N_PWS) is run S(size) / S(N_PWS); the paper's mean of N_PWS is 69, an input here."""
    jobs, said = jobs_of(TRACE, "speedup=downey")
    before, _ = jobs_of(TRACE)
    assert said == ["generated:lublin: moldable jobs without a curve: 4,000; each has one drawn"]
    assert jobs.nodes.mean() == pytest.approx(69, rel=0.05)
    a, sigma = (jobs.columns[name] for name in ("downey_a", "downey_sigma"))
    assert (sigma == 0).mean() == pytest.approx(0.143, abs=0.02)  # P(normal < 0)
    assert np.median(sigma) / 1e6 == pytest.approx(SIGMA[0], rel=0.05)
    for row in range(50):
        curve = Downey(int(a[row]), int(sigma[row]))
        ratio = curve.speed_up(int(before.nodes[row])) / curve.speed_up(int(jobs.nodes[row]))
        for drawn, asked in ((jobs.run, before.run), (jobs.requested, before.requested)):
            assert drawn[row] == max(1, int(int(asked[row]) * ratio + Fraction(1, 2)))


def test_another_seed_draws_other_curves():
    one, again, other = (jobs_of(TRACE, "speedup=downey", seed=seed)[0].columns["downey_a"] for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one == other).mean() < 0.1


LOG = """job_id,submit,run,nodes,moldable,downey_a,downey_sigma,run_times
1,0,100,2,1,4,0,
2,0,100,2,1,,,
3,0,100,2,0,,,
4,0,100,2,1,,,2:5 3:4
"""


def test_jobs_that_say_how_long_they_run_or_are_rigid_stay_as_they_are(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    jobs, said = jobs_of(str(log), "nodes=10", "speedup=downey")
    assert said == [f"{log}: moldable jobs without a curve: 1; each has one drawn"]
    assert (jobs.columns["downey_a"] > 0).tolist() == [True, True, False, False]
    assert jobs.nodes[[0, 2, 3]].tolist() == [2, 2, 2]
    log.write_text(LOG.replace("2,0,100,2,1", "2,0,100,2,0"))
    assert jobs_of(str(log), "nodes=10", "speedup=downey")[1] == [], "nothing is drawn"


def test_curves_that_are_not_used_are_told(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    jobs, said = jobs_of(str(log), "nodes=10")
    assert said == [f"{log}: downey_a and downey_sigma count with speedup=downey only: they are not used"]
    assert set(jobs.columns["downey_a"].tolist()) == {-1}
    result = sim.run(replay_settings([f"a,trace={log},nodes=10,scheduler=molding"], None))
    assert len(result.domains["a"].allocations.rows()) == 4
