"""Replays with molding domains: from a log and settings to the files of results, and what is refused."""

from pathlib import Path

import numpy as np
import polars
import pytest

from cosched import sim
from cosched.core.scheduling.molding.future import Expected
from cosched.errors import InputError
from cosched.schedulers.foreseen import learned_future
from cosched.sim.flags import replay_settings
from cosched.sim.results.output import RunInfo, write_run
from cosched.workload.jobs import Workload

LOG = """job_id,submit,run,nodes,moldable
1,0,100,8,1
2,0,100,8,1
"""
FUTURE = "half_hour,short,medium,long\n" + "".join(f"{slot},1,0,0\n" for slot in range(48))
MEANS = "nodes,5,1,1\nrun,50,1,1\nmoldable,1,1,1\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return path


def replayed(log: Path, *keys: str):
    return sim.run(replay_settings([",".join((f"a,trace={log},nodes=10,scheduler=molding", *keys))], None))


def refused(log: Path, *keys: str) -> str:
    with pytest.raises(InputError) as caught:
        replayed(log, *keys)
    return str(caught.value)


def sizes(result) -> list[int]:
    return [row[2] for row in sorted(result.domains["a"].allocations.rows())]


def test_two_jobs_in_tables(log, tmp_path):
    """The example of molding.md."""
    info = RunInfo("replay", 0, 0.0)
    said = write_run(replayed(log), tmp_path / "out", info)["domains"]["a"]
    assert (said["molding"]["shrunk"], said["molding"]["expanded"]) == (2, 0)
    assert said["molding"]["sizing"] == "scojo_p"
    assert said["utilisation"] == pytest.approx((5 * 141 + 4 * 163) / (10 * 163))
    had = polars.read_csv(tmp_path / "out" / "allocations.csv")
    assert had.select("nodes", "start", "end", "ended").rows() == [(5, 0, 141, "completed"), (4, 0, 163, "completed")]


@pytest.mark.parametrize("sizing", ["none", "scojo", "cirne_berman"])
def test_other_sizings(log, sizing):
    assert (
        sizes(replayed(log, f"sizing={sizing}"))
        == {
            "none": [8, 8],
            "scojo": [5, 5],
            "cirne_berman": [10, 10],
        }[sizing]
    )


def test_a_log_says_which_jobs_are_moldable(log):
    log.write_text(LOG.replace("8,1\n", "8,0\n"))
    assert sizes(replayed(log)) == [8, 8]


def test_a_share_is_drawn_where_the_log_does_not_say_it(log):
    rows = "".join(f"{row},{row * 1000},100,2\n" for row in range(1, 501))
    log.write_text(f"job_id,submit,run,nodes\n{rows}")
    drawn = replayed(log, "moldable_share=0.8")
    assert 380 <= sum(size != 2 for size in sizes(drawn)) <= 420
    assert sizes(replayed(log, "moldable_share=0")) == [2] * 500


def test_a_curve_of_downey(log):
    """A = 4, sigma = 0: linear up to 4, and no faster beyond."""
    log.write_text("job_id,submit,run,nodes,moldable,downey_a,downey_sigma\n1,0,100,2,1,4,0\n")
    rows = replayed(log, "speedup=downey").domains["a"].allocations.rows()
    assert [row[2:5] for row in rows] == [(7, 0, 50)]


def test_jobs_that_are_expected(log, tmp_path):
    path = tmp_path / "future.csv"
    path.write_text(FUTURE + MEANS)
    log.write_text("job_id,submit,run,nodes\n1,0,3600,4\n")
    assert replayed(log, f"prediction={path}").domains["a"].allocations.rows()[0][2:5] == (8, 0, 2925)


def test_a_log_bounds_the_sizes_of_a_job(log):
    log.write_text(
        "job_id,submit,run,nodes,min_nodes,max_nodes\n1,0,100,4,,6\n2,500,100,8,7,\n3,500,100,8,,9\n4,900,100,4,,\n"
    )
    assert sizes(replayed(log, "moldable_share=0")) == [6, 7, 9, 4], "a job that has bounds is moldable"


def test_what_is_expected_is_learned_from_whole_days():
    """Of three days the second is whole: two short jobs in its first half hour, and one that is long at noon."""
    day = 86_400
    columns = ((5, day, day + 1799, day + day // 2, 2 * day), (1, 2, 4, 8, 1), (9, 10, 20, 4000, 9))
    submit, nodes, run = (np.array(column, np.int64) for column in columns)
    moldable = {"moldable": np.array([1, 1, 0, 1, 1])}
    short, medium, long = learned_future(
        [Workload("x", np.arange(5), submit, run, nodes, run, columns=moldable)] * 2
    ).classes
    assert short == Expected((2.0,) + (0.0,) * 47, 3.0, 15.0, 0.5)
    assert sum(medium.arrivals) == 0
    assert long == Expected((0.0,) * 24 + (1.0,) + (0.0,) * 23, 8.0, 4000.0, 1.0)


def test_with_prediction_jobs_wait_less():
    """The means of the paper's workload, here a short one: prediction makes sizes smaller."""
    trace = "generated:lublin/jobs=1500"
    waits = [
        sim.run(replay_settings([f"a,trace={trace},scheduler=molding,prediction={how}"], None, seed=1))
        for how in ("off", "trained")
    ]
    off, trained = (result.domains["a"].metrics["all"]["wait_s"]["mean"] for result in waits)
    assert trained < 0.9 * off


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "its first line must be half_hour,short,medium,long"),
        (FUTURE, "has no line for nodes"),
        (FUTURE + "48,1,1,1\n", "line 50: three numbers for each of 0 to 47, nodes, run, moldable, once"),
        (FUTURE + MEANS.replace("50", "x"), "line 51: 'x' is not a number from 1 to 1,000,000,000,000"),
        (FUTURE.replace("\n7,1", "\n7,-1"), "line 9: '-1' is not a number from 0 to 1,000,000,000"),
    ],
)
def test_a_wrong_file_of_expected_jobs_is_refused(log, tmp_path, content, said):
    path = tmp_path / "future.csv"
    path.write_text(content)
    assert refused(log, f"prediction={path}") == f"--domain a:prediction: {path}: {said}"


@pytest.mark.parametrize(
    ("columns", "row", "keys", "said"),
    [
        ("moldable", "2", (), "{log}:2: column moldable: '2' is neither 0 nor 1"),
        (
            "moldable,downey_a,downey_sigma",
            "1,0.9,1",
            ("speedup=downey",),
            "{log}:2: column downey_a: '0.9' is less than 1",
        ),
        (
            "moldable,downey_a,downey_sigma",
            "1,5,-1",
            ("speedup=downey",),
            "{log}:2: column downey_sigma: '-1' is not a number",
        ),
        (
            "moldable,downey_a,downey_sigma",
            "1,2,1",
            ("speedup=downey",),
            "domain a: job 1: 8 nodes wanted, by its speed-up",
        ),
        ("moldable,downey_a", "1,5", ("speedup=downey",), "domain a: job 1: downey_sigma: missing"),
        ("moldable", "1", ("speedup=downey",), "domain a: job 1: downey_a: missing"),
        ("min_nodes,max_nodes", "9,4", (), "domain a: job 1: min_nodes: 9 is more than max_nodes, 4"),
        (
            "min_nodes,max_nodes",
            "3,",
            (),
            "domain a: job 1: min_nodes: 3 wanted, and here a job for 8 nodes has 4 to 16",
        ),
        ("max_nodes", "7", (), "domain a: job 1: max_nodes: 7, and the job's best size is 8, which must be allowed"),
        (
            "max_nodes",
            "9",
            ("sizes=0.5..1",),
            "domain a: job 1: max_nodes: 9 wanted, and here a job for 8 nodes has 4 to 8",
        ),
        ("max_nodes,moldable", "9,0", (), "domain a: job 1: max_nodes: has no meaning, as the job is not moldable"),
        ("min_nodes", "0", (), "{log}:2: column min_nodes: '0' is below 1"),
        ("moldable", "1", ("sizing=none", "ideal_load=1"), "--domain a:ideal_load: has no meaning with sizing=none"),
        ("moldable", "1", ("prediction=nowhere",), "--domain a:prediction: nowhere: cannot be read"),
        ("moldable", "1", ("prediction=trained",), "--domain a:prediction: trained needs a generated trace"),
        ("moldable", "1", ("slots=on",), "--domain a:slots: a molding scheduler has none"),
        ("moldable", "1", ("moldable_share=2",), "--domain a:moldable_share: '2' is above 1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(log, columns, row, keys, said):
    log.write_text(f"job_id,submit,run,nodes,{columns}\n1,0,100,8,{row}\n")
    found = refused(log, *keys)
    assert found.startswith(said.format(log=log))
    assert "\n" not in found
