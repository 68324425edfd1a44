"""Replays with molding domains: from a log and settings to the files of results, and what is refused."""

from pathlib import Path

import numpy as np
import polars
import pytest

import cosched_sim as sim
from cosched.words.errors import InputError
from cosched_papers.molding.foreseen import learned_future
from cosched_papers.molding.future import Expected
from cosched_sim.flags import replay_settings
from cosched_sim.replaying import read_machine
from cosched_sim.results.output import RunInfo, write_run
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.traces.table_writer import write_table
from tests.papers.molding.molding_cases import ran

LOG = """job_id,submit,run,nodes,moldable
1,0,100,8,1
2,0,100,8,1
"""
FUTURE = "half_hour,short,medium,long\n" + "".join(f"{slot},1,0,0\n" for slot in range(48))
DOWNEY = ("speedup=downey",)
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


def had(log: Path, *keys: str) -> list[tuple[int, int, int]]:
    """Sizes, starts and ends."""
    return ran(replayed(log, *keys).domains["a"])


def sizes(log: Path, *keys: str) -> list[int]:
    return [nodes for nodes, _, _ in had(log, *keys)]


def test_two_jobs_in_tables(log, tmp_path):
    """The example of molding.md."""
    said = write_run(replayed(log), tmp_path / "out", RunInfo("replay", 0, 0.0))["domains"]["a"]
    assert (said["molding"]["shrunk"], said["molding"]["expanded"]) == (2, 0)
    assert said["molding"]["sizing"] == "scojo_p"
    assert said["utilisation"] == pytest.approx((5 * 141 + 4 * 163) / (10 * 163))
    runs = polars.read_csv(tmp_path / "out" / "allocations.csv")
    assert runs.select("nodes", "start", "end", "ended").rows() == [(5, 0, 141, "completed"), (4, 0, 163, "completed")]


@pytest.mark.parametrize(("sizing", "expected"), [("none", [8, 8]), ("scojo", [5, 5]), ("cirne_berman", [10, 10])])
def test_other_sizings(log, sizing, expected):
    assert sizes(log, f"sizing={sizing}") == expected


def test_conservative_backfilling_is_told(log, tmp_path):
    info = RunInfo("replay", 0, 0.0)
    result = replayed(log, "sizing=cirne_berman", "backfill=conservative")
    assert write_run(result, tmp_path / "out", info)["domains"]["a"]["backfill"] == "conservative"
    batch = replay_settings([f"a,trace={log},nodes=10,backfill=conservative"], None)
    assert sim.run(batch).domains["a"].jobs.start.tolist() == [0, 100]
    assert refused(log, "backfill=none") == (
        "--domain a:backfill: a molding scheduler always backfills: give easy or conservative"
    )


def test_a_log_says_which_jobs_are_moldable(log):
    log.write_text(LOG.replace("8,1\n", "8,0\n"))
    assert sizes(log) == [8, 8]


def test_a_share_is_drawn_where_the_log_does_not_say_it(log):
    rows = "".join(f"{row},{row * 1000},100,2\n" for row in range(1, 501))
    log.write_text(f"job_id,submit,run,nodes\n{rows}")
    assert 380 <= sum(size != 2 for size in sizes(log, "moldable_share=0.8")) <= 420
    assert sizes(log, "moldable_share=0") == [2] * 500


def test_a_curve_of_downey(log):
    """A = 4, sigma = 0: linear up to 4, and no faster beyond."""
    log.write_text("job_id,submit,run,nodes,moldable,downey_a,downey_sigma\n1,0,100,2,1,4,0\n")
    assert had(log, "speedup=downey") == [(7, 0, 50)]


TABLE = "job_id,submit,run,nodes,requested,run_times\n"


def test_a_log_has_run_times_of_its_own(log):
    """T(n) is requested x t(n) / t(N_opt), where t is the table.

    On 4 nodes the load is 0.4, so m is 2.25, and on 9 it is the ideal one. Job 2 can have no other size than its own,
    and runs for half as long as it asks for; job 3 can have one more.
    """
    table = " ".join(f"{nodes}:{960 // nodes}" for nodes in range(1, 9)) + " 9:100 10:100"
    log.write_text(f"{TABLE}1,0,100,4,100,{table}\n2,1000,100,4,200,4:7\n3,2000,100,4,100,4:6 5:5\n")
    for keys in (), ("speedup=downey",), ("moldable_share=0",):
        assert had(log, *keys) == [(9, 0, 42), (4, 1000, 1100), (5, 2000, 2083)]


def test_run_times_are_written_as_they_were_read(log, tmp_path):
    """A live replay gives each of its domains a log of this form."""
    log.write_text(f"{TABLE}1,0,100,4,100,5:5 4:6\n2,0,100,4,100,\n")
    again = tmp_path / "again.csv"
    config = replay_settings([f"a,trace={log},nodes=10,scheduler=molding"], None)
    workload, _ = read_machine(config.domains[0], config)
    kind = config.domains[0].scheduler_kind
    write_table(workload, again, {column.name: column for column in kind.columns()})
    assert polars.read_csv(again)["run_times"].to_list() == ["4:6 5:5", None]
    assert kind.written(workload.columns, 2)[0] == {"moldable": "1", "run_times": "4:6 5:5"}
    assert sizes(again) == sizes(log)


def test_jobs_that_are_expected(log, tmp_path):
    path = tmp_path / "future.csv"
    path.write_text(FUTURE + MEANS)
    log.write_text("job_id,submit,run,nodes\n1,0,3600,4\n")
    assert had(log, f"prediction={path}") == [(8, 0, 2925)]


def test_jobs_with_a_curve_that_are_expected(log, tmp_path):
    """A = 10, sigma = 0: linear. Each half hour brings a job for 5 nodes, 500 s; the first job has 4 nodes, 3600 s.

    Those to come have the same work on any size, so loads are (14,400 + 2500 x T / 1800) / (10 T): 0.54 under m = 1
    (4 nodes, T = 3600), 0.84 under 1.67 and 1.79 (7 nodes, T = 2057), 0.94 under 1.92 (8 nodes, T = 1800). That is the
    best: the next two are 0.84 and 0.94 again.
    """
    path = tmp_path / "future.csv"
    path.write_text(FUTURE + MEANS.replace("run,50", "run,500") + "downey_a,10,10,10\ndowney_sigma,0,0,0\n")
    log.write_text("job_id,submit,run,nodes,downey_a,downey_sigma\n1,0,3600,4,10,0\n")
    keys = f"prediction={path}", "speedup=downey"
    assert had(log, *keys) == [(8, 0, 1800)]
    assert refused(log, f"prediction={path}") == (
        f"--domain a:prediction: {path}: line 53: three numbers for each of 0 to 47, nodes, run, moldable, once"
    )
    path.write_text(FUTURE + MEANS)
    assert refused(log, *keys) == f"--domain a:prediction: {path}: has no line for downey_a"


def test_a_log_bounds_the_sizes_of_a_job(log):
    log.write_text(
        "job_id,submit,run,nodes,min_nodes,max_nodes\n1,0,100,4,,6\n2,500,100,8,7,\n3,500,100,8,,9\n4,900,100,4,,\n"
    )
    assert sizes(log, "moldable_share=0") == [6, 7, 9, 4], "a job that has bounds is moldable"


def test_what_is_expected_is_learned_from_whole_days():
    """Of three days the second is whole: two short jobs in its first half hour, and one that is long at noon.

    Curves of Downey's are those of all classes: A is (2 + 10) / 2.
    """
    day = 86_400
    columns = ((5, day, day + 1799, day + day // 2, 2 * day), (1, 2, 4, 8, 1), (9, 10, 20, 4000, 9))
    submit, nodes, run = (np.array(column, np.int64) for column in columns)
    said = {
        "moldable": np.array([1, 1, 0, 1, 1]),
        "downey_a": np.array([50_000_000, 2_000_000, -1, 10_000_000, 90_000_000]),
        "downey_sigma": np.array([0, 500_000, -1, 0, 0]),
    }
    workload = Workload("x", np.arange(5), submit, run, nodes, run, columns=said)
    short, medium, long = learned_future([workload] * 2).classes
    assert short == Expected((2.0,) + (0.0,) * 47, 3.0, 15.0, 0.5, 6.0, 0.25)
    assert sum(medium.arrivals) == 0
    assert long == Expected((0.0,) * 24 + (1.0,) + (0.0,) * 23, 8.0, 4000.0, 1.0, 6.0, 0.25)


def test_with_prediction_jobs_wait_less():
    """The means of the paper's workload, here a short one: prediction makes sizes smaller."""
    trace = "generated:lublin/jobs=1500"
    domains = [f"a,trace={trace},scheduler=molding,prediction={how}" for how in ("off", "trained")]
    results = [sim.run(replay_settings([domain], None, seed=1)) for domain in domains]
    off, trained = (result.domains["a"].metrics["all"]["wait_s"]["mean"] for result in results)
    assert trained < 0.9 * off


def test_too_few_jobs_to_learn_from_are_refused_in_a_line():
    with pytest.raises(InputError) as caught:
        sim.run(replay_settings(["a,trace=generated:lublin/jobs=5,scheduler=molding,prediction=trained"], None))
    assert str(caught.value) == (
        "domain a: prediction: trained learns from whole days, and the trace has none: draw more jobs (jobs=N)"
    )


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
        ("moldable,downey_a,downey_sigma", "1,0.9,1", DOWNEY, "{log}:2: column downey_a: '0.9' is less than 1"),
        ("moldable,downey_a,downey_sigma", "1,5,-1", DOWNEY, "{log}:2: column downey_sigma: '-1' is not a number"),
        ("moldable,downey_a,downey_sigma", "1,2,1", DOWNEY, "domain a: job 1: 8 nodes wanted, by its speed-up"),
        ("moldable,downey_a", "1,5", DOWNEY, "domain a: job 1: downey_sigma: missing"),
        ("min_nodes,max_nodes", "9,4", (), "domain a: job 1: min_nodes: 9 is more than max_nodes, 4"),
        ("min_nodes,max_nodes", "3,", (),
         "domain a: job 1: min_nodes: 3 wanted, and here a job for 8 nodes has 4 to 10"),
        ("max_nodes", "7", (), "domain a: job 1: max_nodes: 7, and the job's best size is 8, which must be allowed"),
        ("max_nodes", "9", ("sizes=0.5..1",),
         "domain a: job 1: max_nodes: 9 wanted, and here a job for 8 nodes has 4 to 8"),
        ("max_nodes,moldable", "9,0", (), "domain a: job 1: max_nodes: has no meaning, as the job is not moldable"),
        ("min_nodes", "0", (), "{log}:2: column min_nodes: '0' is below 1"),
        ("run_times", "6:9 8:7 9:7", (),
         "{log}:2: column run_times: 7 nodes are missing: give a run time on each of 6 to 9"),
        ("run_times", "7:9 8:8 9:9", (),
         "{log}:2: column run_times: 9 s on 9 nodes are more than 8 s on 8: let the table end with 8 nodes"),
        ("run_times", "8:9 8:8", (), "{log}:2: column run_times: 8 nodes are given twice: leave one of them out"),
        ("run_times", "8=9", (), "{log}:2: column run_times: '8=9' is not NODES:SECONDS, two whole numbers such as"),
        ("run_times", "8:0.5", (), "{log}:2: column run_times: '8:0.5' is not NODES:SECONDS, two whole numbers"),
        ("run_times", "4:9 5:8", (),
         "domain a: job 1: 8 nodes wanted, and its run times are those on 4 to 5: its best size must be one of them"),
        ("run_times,max_nodes", "7:9 8:8,9", (),
         "domain a: job 1: max_nodes: 9 wanted, and here a job for 8 nodes has 7 to 8"),
        ("run_times,requested", f"7:{10**12} 8:1,{10**6}", (),
         "domain a: job 1: the size and the requested time are too large"),
        ("moldable", "1", ("sizing=none", "ideal_load=1"),
         "--domain a:ideal_load: sizing=none does not use it: remove it"),
        ("moldable", "1", ("prediction=nowhere",), "--domain a:prediction: nowhere: cannot be read"),
        ("moldable", "1", ("prediction=trained",), "--domain a:prediction: trained needs a generated trace"),
        ("moldable", "1", ("slots=on",), "--domain a:slots: a molding scheduler has none"),
        ("moldable", "1", ("moldable_share=2",), "--domain a:moldable_share: '2' is above 1"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(log, columns, row, keys, said):
    log.write_text(f"job_id,submit,run,nodes,{columns}\n1,0,100,8,{row}\n")
    found = refused(log, *keys)
    assert found.startswith(said.format(log=log))
    assert "\n" not in found
