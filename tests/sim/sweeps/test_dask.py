"""The same sweep on a Dask cluster of two worker processes."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import polars
import pytest

from cosched_sim.sweeps.case import run_chunk
from cosched_sim.sweeps.dask_workers import dask_workers
from cosched_sim.sweeps.local_workers import local_workers
from cosched_sim.sweeps.running import run_cases
from deploy.slurm.lab import wait_for
from tests.sim.sweeps.small import failing, run, small_sweep


def started(workers: int, *, processes: bool) -> AbstractContextManager[Any]:
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=processes, dashboard_address=":0",
        host="127.0.0.1", protocol="tcp",
    )  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A worker that is a thread of this process, which has loaded all."""
    with started(1, processes=False) as one:
        yield one


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    with started(2, processes=True) as two:
        yield two


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler, a thread of this process, may be slow to answer."""
    monkeypatch.setattr("cosched_sim.sweeps.dask_workers.PATIENCE_S", 300)


@pytest.mark.soak  # the command with Dask remains
def test_the_results_are_those_of_local_workers(processes, tmp_path):
    cases = [*small_sweep(replications=5), failing()]
    with local_workers(1) as one:
        run(cases, tmp_path / "local", one)
    with dask_workers(processes.scheduler_address) as workers:
        run(cases, tmp_path / "dask", workers)
    local, dask = (tmp_path / name / "results.parquet" for name in ("local", "dask"))
    assert polars.read_parquet(local).equals(polars.read_parquet(dask))
    assert local.read_bytes() == dask.read_bytes()


@pytest.mark.soak
def test_a_killed_worker_changes_nothing(processes, tmp_path):
    sweep = small_sweep(replications=60)
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if len(told) == 4:
            os.kill(next(iter(processes.workers.values())).pid, signal.SIGKILL)

    with dask_workers(processes.scheduler_address) as workers:
        path = run_cases(sweep, len(sweep), tmp_path / "noisy", workers, resume=False, tell=tell)
        quiet = run(sweep, tmp_path / "quiet", workers)
    assert len(told) > 5
    assert polars.read_parquet(path).equals(quiet)


@pytest.mark.soak
def test_rows_that_die_with_their_worker_are_made_anew(processes):
    distributed = pytest.importorskip("distributed")
    chunk = list(small_sweep(replications=1))
    with dask_workers(processes.scheduler_address) as workers, distributed.Client(processes) as observer:
        workers.submit(chunk)
        (address,) = wait_for(lambda: next(iter(observer.who_has().values()), ()), "the rows at a worker")
        killed = next(worker for worker in processes.workers.values() if worker.worker_address == address)
        os.kill(killed.pid, signal.SIGKILL)
        wait_for(lambda: address not in observer.scheduler_info()["workers"], "the end of that worker")
        assert workers.next_outcome().rows == run_chunk(chunk)[0]


def test_by_the_command(cluster, sweep_file, cosched):
    file = sweep_file()
    dask = cosched("sweep", file, "--dask", cluster.scheduler_address, "--json", "--no-report", "--out", "dask").stdout
    local = cosched("sweep", file, "--workers", 1, "--json", "--no-report", "--out", "local").stdout
    assert json.loads(dask)["averages"] == json.loads(local)["averages"]
    assert Path("dask/averages.csv").read_bytes() == Path("local/averages.csv").read_bytes()


FEDERATION = """
pairs = "pairs.csv"
""" + "".join(
    f"""
[[domain]]
name = "{name}"
trace = "generated:eureka/jobs=60/seed={seed}"
scheme = "{scheme}"
"""
    for seed, (name, scheme) in enumerate(zip("abcde", ("hold", "yield", "hold", "yield", "yield"), strict=True), 1)
)
PAIRS = """a,d
3,4
10,9
20,22
"""


def test_sets_of_domains_that_share_no_jobs_are_replayed_there_with_the_same_files(cluster, cosched):
    Path("federation.toml").write_text(FEDERATION)
    Path("pairs.csv").write_text(PAIRS)
    told = {}
    for out, more in (("local", ()), ("dask", ("--dask", cluster.scheduler_address))):
        command = ("replay", "--config", "federation.toml", *more, "--json", "--no-report", "--out", out)
        told[out] = json.loads(cosched(*command).stdout)
    assert told["dask"]["domains"] == told["local"]["domains"]
    assert told["dask"]["pairs"] == told["local"]["pairs"]
    files = sorted(path.name for path in Path("local").iterdir() if path.name != "summary.json")
    assert files == sorted(path.name for path in Path("dask").iterdir() if path.name != "summary.json")
    assert all(Path("dask", name).read_bytes() == Path("local", name).read_bytes() for name in files)


def test_nobody_there(sweep_file, cosched, monkeypatch):
    monkeypatch.setattr("cosched_sim.sweeps.dask_workers.PATIENCE_S", 1)
    result = cosched("sweep", sweep_file(), "--dask", "tcp://127.0.0.1:9", "--out", "out", exit_code=1)
    assert result.stderr == "cosched: no Dask scheduler answers at tcp://127.0.0.1:9 within 1 s\n"
    result = cosched("sweep", sweep_file(), "--dask", "nonsense://x", exit_code=2)
    assert result.stderr.startswith("cosched: --dask: ")
    Path("federation.toml").write_text(FEDERATION)
    Path("pairs.csv").write_text(PAIRS)
    result = cosched("replay", "--config", "federation.toml", "--dask", "tcp://127.0.0.1:9", exit_code=1)
    assert result.stderr.endswith("cosched: no Dask scheduler answers at tcp://127.0.0.1:9 within 1 s\n")


def test_not_both(sweep_file, cosched):
    result = cosched("sweep", sweep_file(), "--dask", "tcp://127.0.0.1:9", "--workers", 2, exit_code=2)
    assert result.stderr == "cosched: --dask: has its own workers: give either --dask or --workers\n"
