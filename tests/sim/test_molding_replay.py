"""Replays with molding domains: from a log and settings to the files of results, and what is refused."""

from pathlib import Path

import polars
import pytest

from cosched import sim
from cosched.errors import InputError
from cosched.sim.flags import replay_settings
from cosched.sim.results.output import RunInfo, write_run

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
        ("moldable", "1", ("sizing=none", "ideal_load=1"), "--domain a:ideal_load: has no meaning with sizing=none"),
        ("moldable", "1", ("prediction=nowhere",), "--domain a:prediction: nowhere: cannot be read"),
        ("moldable", "1", ("slots=on",), "--domain a:slots: a molding scheduler has none"),
        ("moldable", "1", ("moldable_share=2",), "--domain a:moldable_share: '2' is above 1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(log, columns, row, keys, said):
    log.write_text(f"job_id,submit,run,nodes,{columns}\n1,0,100,8,{row}\n")
    found = refused(log, *keys)
    assert found.startswith(said.format(log=log))
    assert "\n" not in found
