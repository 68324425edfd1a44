"""The study in its folder: the same whoever carries it out, and however often it is interrupted."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from cosched.words.errors import InputError
from cosched_papers.studies.tang2011.claims import claims
from cosched_papers.studies.tang2011.design import WORK, plan_of
from cosched_papers.studies.tang2011.results import Results
from cosched_sim.studies.running import STUDY, found_in, read_study
from cosched_sim.studies.study import Told
from cosched_sim.sweeps.dask_workers import dask_workers
from cosched_sim.sweeps.local_workers import local_workers
from tests.papers.studies.conftest import run_tiny


def csv(folder: Path) -> dict[str, str]:
    """All tables of a study's folder."""
    return {name: table.write_csv() for name, table in found_in(folder).tables}


def at_case(number: int, act: Callable[[], None]) -> Told:
    """Act once, as soon as so many cases have ended."""
    waiting = [act]

    def step(text: str) -> None:
        if waiting and " cases" in text and int(text.split()[0].replace(",", "")) >= number:
            waiting.pop()()

    return Told(print, step)


def test_every_case_has_its_row(tiny):
    said = read_study(tiny)
    rows = polars.read_parquet(tiny / "results.parquet")
    assert len(rows) == len(WORK.cases(said, tiny))
    assert rows["error"].null_count() == len(rows)
    assert said["facts"]["intrepid nodes"] == 40_960
    assert said["facts"]["intrepid largest"] <= 32_768


def test_pairs_start_together_and_all_jobs_start(tiny):
    said = read_study(tiny)
    assert plan_of(said, tiny).quick
    results = Results.of(polars.read_parquet(tiny / "results.parquet"), said["days"], [], said["facts"])
    verdicts = {claim.text: claim.check(results) for claim in claims()}
    assert verdicts["All pairs start together, whatever the schemes, loads and shares"].holds
    assert verdicts["With the timer deadlocks never happen"].holds


def test_a_quick_run_counts_nothing_and_says_no_why(tiny):
    report = found_in(tiny)
    assert report.warning == "Not for conclusions: a quick run, with 1 replication."
    said = dict(report.sentences)
    assert "if instead 7.5 % of both machines' jobs are paired, Eureka's wait" in report.first[3]
    assert "Nothing is counted" in said["Agrees"]
    assert "Not said" in said["Does not, and why"]
    assert not any("why" in section.title.lower() for section in report.sections)
    assert not any("hold" in tile.label for tile in report.tiles)
    assert not any("claims" in str(line) for line in report.told)


@pytest.mark.soak  # sweeps, which run studies' cases, are interrupted in the short tier
def test_an_interrupted_study_goes_on(tiny, tmp_path):
    def interrupt() -> None:
        raise KeyboardInterrupt

    with local_workers(1) as one, pytest.raises(KeyboardInterrupt):
        run_tiny(tmp_path, one, told=at_case(20, interrupt))
    with local_workers(1) as one:
        with pytest.raises(InputError, match="already has results of a sweep"):
            run_tiny(tmp_path, one)
        run_tiny(tmp_path, one, resume=True)
    for name in ("results.parquet", STUDY):
        assert (tmp_path / name).read_bytes() == (tiny / name).read_bytes()


@pytest.mark.soak
def test_dask_gives_the_same_tables_even_if_a_worker_is_killed(tiny, tmp_path):
    distributed = pytest.importorskip("distributed")
    killed = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"
    ) as cluster:

        def kill() -> None:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

        with dask_workers(cluster.scheduler_address) as workers:
            run_tiny(tmp_path, workers, told=at_case(10, kill))
    assert killed
    assert csv(tmp_path) == csv(tiny)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not what `cosched study NAME` writes"),
        ("[]", "is not what `cosched study NAME` writes"),
        ("{}", "no study is called None; there are barsanti2006, collins2001, "),
        ('{"study": []}', "no study is called []; there are barsanti2006, collins2001, "),
        ('{"study": "tang2011", "logs": 1}', "is not what `cosched study tang2011` writes"),
    ],
)
def test_a_file_that_is_no_study(tmp_path, text, reason):
    (tmp_path / STUDY).write_text(text)
    with pytest.raises(InputError) as refused:
        found_in(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / STUDY}: {reason}")


def test_results_that_are_missing(tiny, tmp_path):
    (tmp_path / STUDY).write_bytes((tiny / STUDY).read_bytes())
    with pytest.raises(InputError, match=r"results.parquet: cannot be read"):
        found_in(tmp_path)
