"""Cases run by local workers: the same results whoever runs them, and whatever goes wrong."""

import contextlib
import os
import select
import signal
import threading
from pathlib import Path

import polars
import pytest

from cosched.words.errors import InputError
from cosched_sim.sweeps import storage
from cosched_sim.sweeps.case import Case, run_case
from cosched_sim.sweeps.local_workers import local_workers
from cosched_sim.sweeps.running import run_cases
from tests.live.services import wait_until
from tests.sim.sweeps.small import children, failing, pair, run, small_sweep


def test_a_row_in_the_table_is_what_the_case_alone_gives(tmp_path, workers):
    sweep = small_sweep()
    found = run(sweep, tmp_path, workers)
    assert found.to_dicts() == [{name: run_case(case).get(name) for name in found.columns} for case in sweep]
    assert found["case"].n_unique() == len(sweep)
    assert found.columns[:5] == ["case", "schemes", "release_interval", "replication", "error"]
    assert found.columns[5:] == sorted(found.columns[5:])


def test_one_worker_and_two_write_the_same_bytes(tmp_path, workers):
    sweep = small_sweep(replications=5)
    run(sweep, tmp_path / "two", workers)
    with local_workers(1) as one:
        run(sweep, tmp_path / "one", one)
    assert (tmp_path / "one/results.parquet").read_bytes() == (tmp_path / "two/results.parquet").read_bytes()


def test_cases_may_come_from_an_iterator_in_any_order_with_any_labels(tmp_path, workers):
    cases = [*small_sweep(), failing(), Case(pair(seed=9), {"other": 1}), Case(pair(seed=9), {"other": 0.5})]
    path = run_cases(reversed(cases), len(cases), tmp_path, workers, resume=False, tell=lambda _: None)
    found = polars.read_parquet(path)
    assert found["case"].to_list() == [case.key for case in reversed(cases)]
    assert found["other"].to_list() == [0.5, 1.0, *[None] * (len(cases) - 2)]
    assert found.drop("other")[0].equals(found.drop("other")[1])


def test_a_label_of_numbers_and_texts_is_text(tmp_path, workers):
    cases = [Case(pair(seed=seed), {"mixed": value}) for seed, value in enumerate([300, "5m", 0.5])]
    assert run(cases, tmp_path, workers)["mixed"].to_list() == ["300", "5m", "0.5"]


def test_a_failing_case_does_not_stop_the_others(tmp_path, workers):
    sweep = list(small_sweep())
    found = run([failing(), *sweep, failing()], tmp_path / "some", workers)
    good = run(sweep, tmp_path / "good", workers)
    assert found["error"].to_list() == ["case:pair_fraction: 2 is above 1", *[None] * len(sweep), found["error"][0]]
    assert found[1:-1].equals(good)


def test_only_failed_cases(tmp_path, workers):
    found = run([failing("a"), failing("b")], tmp_path, workers)
    assert found.columns == ["case", "schemes", "error"]
    assert found["schemes"].to_list() == ["a", "b"]


def test_the_time_left_is_not_told_before_a_twentieth_has_ended(tmp_path):
    """The first case compiles, so that it says nothing of the others."""
    sweep = small_sweep(replications=16)
    told: list[str] = []
    with local_workers(1) as one:
        run_cases(sweep, len(sweep), tmp_path, one, resume=False, tell=told.append)
    ended = {text: int(text.split(" of ")[0].split()[-1]) for text in told if " of " in text}
    assert {text.endswith(" left") for text, number in ended.items() if 20 * number < len(sweep)} == {False}
    assert {text.endswith(" left") for text, number in ended.items() if 20 * number >= len(sweep)} == {True}


def test_a_killed_worker_changes_nothing(tmp_path):
    sweep = small_sweep(replications=16)
    others = {*children(os.getpid())}
    with local_workers(2) as workers:
        expected = run(sweep, tmp_path / "quiet", workers)
        victim = next(pid for pid in children(os.getpid()) if pid not in others)
        told: list[str] = []

        def tell(text: str) -> None:
            told.append(text)
            if len(told) == 4:
                os.kill(victim, signal.SIGKILL)

        path = run_cases(sweep, len(sweep), tmp_path / "noisy", workers, resume=False, tell=tell)
    assert polars.read_parquet(path).equals(expected)
    assert len(told) > 4


@pytest.mark.soak  # a worker that is killed once remains
def test_a_case_that_kills_its_worker_twice_is_given_up(tmp_path):
    trace = tmp_path / "trace"  # whoever reads it waits for its writer
    os.mkfifo(trace)
    bad = Case({"domains": [{"name": "a", "trace": str(trace)}]}, {"seed": -1})
    cases = [bad, *(Case(pair(seed=seed), {"seed": seed}) for seed in range(3))]
    others = {*children(os.getpid())}
    with local_workers(1) as workers:
        killer = threading.Thread(target=kill_twice, args=(trace, others))
        killer.start()
        found = run(cases, tmp_path / "out", workers)
        killer.join()
    assert found["error"].to_list() == ["its worker process was killed, twice (out of memory?)", None, None, None]


def kill_twice(trace: Path, others: set[int]) -> None:
    """The worker that reads the trace, as the system does where memory runs short."""
    for _ in range(2):
        writer = wait_until(lambda: writer_of(trace), "a worker reads")
        (reader,) = {*children(os.getpid())} - others
        os.kill(reader, signal.SIGKILL)
        gone = select.poll()
        gone.register(writer, select.POLLERR)
        gone.poll()  # until nobody reads any more
        os.close(writer)


def writer_of(pipe: Path) -> int | None:
    """To write into a named pipe; None if nobody reads it."""
    with contextlib.suppress(OSError):
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    return None


def test_workers_that_cannot_start_are_told_of(tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("raise ImportError('no numpy here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    told = "worker processes end as soon as they start: ImportError: no numpy here"
    with local_workers(1) as workers, pytest.raises(OSError, match=told):
        run_cases(small_sweep(), 8, tmp_path / "out", workers, resume=False, tell=lambda _: None)


def test_workers_end_with_their_block():
    before = {*children(os.getpid())}
    with local_workers(2) as workers:
        workers.submit([failing()])
        workers.submit([failing()])
        started = {*children(os.getpid())} - before
        assert len(started) == 2
    assert not started & {*children(os.getpid())}


def test_resuming_runs_what_is_missing_only(tmp_path, workers):
    few, all_of_them = list(small_sweep()), list(small_sweep(replications=4))
    run(few, tmp_path / "some", workers)
    submitted = []

    class Counted:
        at_once = workers.at_once
        next_outcome = workers.next_outcome

        def submit(self, cases):
            submitted.extend(cases)
            workers.submit(cases)

    found = run(all_of_them, tmp_path / "some", Counted(), resume=True)
    assert submitted == all_of_them[len(few) :]
    assert found.equals(run(all_of_them, tmp_path / "anew", workers))


def test_resuming_runs_failed_cases_again(tmp_path, workers):
    trace = tmp_path / "later.swf"
    case = Case({"domains": [{"name": "a", "trace": str(trace)}]}, {})
    assert "cannot be read" in run([case], tmp_path / "out", workers)["error"].item()
    trace.write_text("; MaxProcs: 4\n1 0 -1 9 1 -1 -1 1 9 -1 1 1 -1 -1 -1 -1 -1 -1\n")
    again = run([Case(case.settings, {})], tmp_path / "out", workers, resume=True)
    assert (again["error"].item(), again["a.jobs"].item()) == (None, 1)


def test_results_are_not_overwritten(tmp_path, workers):
    run(small_sweep(1), tmp_path, workers)
    before = (tmp_path / "results.parquet").read_bytes()
    with pytest.raises(InputError, match="already has results of a sweep; --resume continues it"):
        run(small_sweep(1), tmp_path, workers)
    assert (tmp_path / "results.parquet").read_bytes() == before


def test_many_parts_become_one(tmp_path, workers, monkeypatch):
    monkeypatch.setattr(storage, "MOST_PARTS", 3)
    counts = []
    sweep = small_sweep(replications=10)
    path = run_cases(
        sweep, len(sweep), tmp_path / "a", workers, resume=False,
        tell=lambda _: counts.append(len(list((tmp_path / "a/parts").glob("*")))),
    )  # fmt: skip
    monkeypatch.undo()
    assert polars.read_parquet(path).equals(run(sweep, tmp_path / "b", workers))
    assert len(counts) > 6
