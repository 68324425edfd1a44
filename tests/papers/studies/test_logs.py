"""Months cut from real logs."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cosched.words.errors import InputError
from cosched_papers.studies.tang2011.logs import LogMonths, cut_months, read_log, windows_overlap
from cosched_sim.workload import traces
from cosched_sim.workload.generate import generate
from cosched_sim.workload.jobs import TraceLog

DAY_S = 86_400


def write(path: Path, machine: str, days: float, utilisation: float, nodes: int, offset: int = 0) -> dict[str, str]:
    jobs = generate(machine, span_s=round(days * DAY_S), utilisation=utilisation, seed=3)
    jobs.submit[:] += offset
    traces.write_swf(jobs, path, {"MaxNodes": str(nodes), "MaxProcs": str(nodes)})
    return {"trace": str(path)}


@pytest.fixture
def cut(tmp_path: Path) -> Callable[..., tuple[LogMonths, int, list]]:
    def make(days: float, replications: int, window: float) -> tuple[LogMonths, int, list]:
        said = [
            write(tmp_path / "a.swf", "intrepid", days, 0.7, 40_960, offset=10**9),
            write(tmp_path / "b.swf", "eureka", days, 0.6, 100),
        ]
        logs = [read_log("--intrepid", settings, print) for settings in said]
        return *cut_months(logs, replications, window, tmp_path / "logs"), logs

    return make


def window(months: LogMonths, machine: int, purpose: str, replication: int) -> TraceLog:
    return traces.read_trace(months.file(machine, purpose, replication))


def test_windows_are_spread_from_the_first_job_to_the_last(cut):
    months, count, (intrepid, _) = cut(20, 3, 4)
    assert count == 3
    first, last = (window(months, 0, "month", number) for number in (1, 3))
    assert first.submit[0] == last.submit[0] == 0
    assert first.job_id[0] == intrepid.jobs.job_id[0]
    assert last.job_id[-1] == intrepid.jobs.job_id[-1]
    for number in (1, 2, 3):
        assert window(months, 0, "month", number).submit[-1] == pytest.approx(4 * DAY_S, rel=0.05)


def test_eureka_is_packed_to_each_load_in_the_same_span(cut):
    months, _, _ = cut(40, 2, 5)
    for load in (0.25, 0.5, 0.75):
        for number in (1, 2):
            packed = window(months, 1, f"{load:g}", number)
            assert packed.submit[0] == 0
            assert packed.submit[-1] == pytest.approx(5 * DAY_S, rel=0.2)
            work = int((packed.run * packed.allocated).sum())
            assert work / (100 * packed.submit[-1]) == pytest.approx(load, rel=0.01)


def test_as_many_jobs_as_on_intrepid(cut):
    months, _, _ = cut(60, 2, 3)
    month, many = window(months, 0, "month", 2), window(months, 1, "many", 2)
    assert len(many) == len(month)
    assert many.submit[-1] == pytest.approx(3 * DAY_S, abs=2)
    assert int((many.run * many.allocated).sum()) / (100 * 3 * DAY_S) == pytest.approx(0.5, rel=0.03)
    assert (many.requested_time >= many.run).all()
    assert many.run.min() >= 1


def test_a_short_log_has_one_window_and_no_more(cut):
    months, count, (intrepid, _) = cut(4, 5, 30)
    assert count == 1
    assert len(window(months, 0, "month", 1)) == len(intrepid.jobs)
    assert not months.file(0, "month", 2).exists()


def test_overlapping_windows_are_noticed(cut):
    _, _, logs = cut(40, 2, 5)
    assert not windows_overlap(logs, 2, 5)
    assert windows_overlap(logs, 9, 5)
    assert not windows_overlap(logs, 1, 39)


def test_equal_logs_give_equal_files(cut, tmp_path):
    months, _, logs = cut(20, 2, 4)
    before = {path.name: path.read_bytes() for path in months.folder.iterdir()}
    cut_months(logs, 2, 4, tmp_path / "again")
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == before


def test_jobs_out_of_order_are_put_in_order(tmp_path):
    said = write(tmp_path / "a.swf", "eureka", 2, 0.5, 100)
    log = traces.read_trace(said["trace"])
    lines = Path(said["trace"]).read_text().splitlines()
    header = [line for line in lines if line.startswith(";")]
    Path(said["trace"]).write_text("\n".join(header + lines[len(header) :][::-1]) + "\n")
    assert np.array_equal(read_log("--eureka", said, print).jobs.submit, np.sort(log.submit))


def test_mistakes_name_the_option(tmp_path):
    with pytest.raises(InputError, match=r"^--eureka:load: no key of a log; there are nodes, "):
        read_log("--eureka", {"trace": "x", "load": "0.5"}, print)
    with pytest.raises(InputError, match=r"^--eureka:nodes: "):
        read_log("--eureka", {"trace": "x", "nodes": "many"}, print)
    with pytest.raises(InputError, match=r"missing.swf: "):
        read_log("--eureka", {"trace": str(tmp_path / "missing.swf")}, print)
