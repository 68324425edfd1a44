"""Metrics and results against hand-computed values (scheduling.md, Metrics)."""

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cosched_sim as sim
from cosched.words.errors import InputError
from cosched_sim.results import metrics
from cosched_sim.results.columns import Known, csv_of
from cosched_sim.workload.jobs import UNKNOWN
from tests.sim.reports.runs import domain, ints, replay_of, work


def test_slowdown_is_response_over_run_time_and_bounded_slowdown_takes_short_jobs_for_ten_seconds():
    waits, runs = ints(0, 30, 99), ints(5, 10, 1)
    assert metrics.slowdown(waits, runs).tolist() == [1.0, 4.0, 100.0]
    assert metrics.bounded_slowdown(waits, runs).tolist() == [1.0, 4.0, 10.0]


def test_a_spread_of_nothing_is_empty():
    assert metrics.spread(ints()) == dict.fromkeys(("mean", "median", "p95", "p99", "max"))
    assert metrics.spread(ints(1, 2, 3, 10))["mean"] == 4.0


@pytest.fixture(scope="module")
def coupled() -> sim.Result:
    """A: job 1 holds 6 of 10 nodes from 0 to 100, when its mate can start; job 2 needs all. B is busy until 100."""
    a = work("A", (0, 50, 6), (10, 20, 10), ids=["a-1", "a-2"])
    domains = [
        sim.Domain(name="A", trace=a, nodes=10, policy="fcfs", max_held_fraction="1"),
        domain("B", 4, (0, 100, 4), (5, 30, 4)),
    ]
    return replay_of(domains, [(1, 2)]).run()


@pytest.mark.parametrize("text", ["a", "", None, "a,b", '"', 'a "b"', "a\nb", "a\rb", "\u00e9", " ", "-1"])
def test_a_table_is_written_as_polars_would_write_it(text):
    table = {"text": ["x", text], "known": Known(ints(3, UNKNOWN)), "number": ints(-1, 2**62)}
    empty = {"text": [], "known": Known(ints()), "number": ints()}
    for columns in (table, {"text": [text], "other": [text]}, empty):
        assert csv_of(columns) == csv_of(columns, of_many=True)
        assert csv_of(columns, header=False) == csv_of(columns, header=False, of_many=True)


def test_the_summary_of_a_hand_made_case(coupled):
    metrics_a = coupled.domains["A"].metrics
    assert metrics_a["makespan_s"] == 170
    assert metrics_a["utilisation"] == pytest.approx((6 * 50 + 10 * 20) / (10 * 170))
    assert metrics_a["offered_load"] == pytest.approx((6 * 50 + 10 * 20) / (10 * 10))
    assert metrics_a["held_share"] == pytest.approx(600 / (10 * 170))
    assert metrics_a["paired"]["sync_s"]["mean"] == 100
    assert metrics_a["unpaired"]["wait_s"]["mean"] == 140
    assert metrics_a["unpaired"]["sync_s"]["mean"] is None
    assert metrics_a["all"]["wait_s"]["max"] == 140
    assert coupled.domains["B"].metrics["paired"]["sync_s"]["mean"] == 0
    assert coupled.pairs["together"] == 1


def test_the_queue_length_over_time_of_a_hand_made_case(coupled):
    """A: job 1 waits from 0 to 100 (holding), job 2 from 10 to 150; the last event is at 170."""
    a = coupled.domains["A"]
    assert a.queue.rows() == [(0, 1), (10, 2), (100, 1), (150, 0)]
    assert a.metrics["queue_length"] == {"mean": pytest.approx((10 + 2 * 90 + 50) / 170), "max": 2}


@given(st.lists(st.tuples(st.integers(0, 50), st.one_of(st.none(), st.integers(0, 50))), min_size=1))
def test_the_queue_length_agrees_with_counting_every_second(jobs):
    """Jobs of (submit, wait); no wait: never started."""
    jobs.sort(key=lambda job: job[0])
    submit = ints(*(s for s, _ in jobs))
    left = ints(*(UNKNOWN if w is None else s + w for s, w in jobs))
    first, last = int(submit[0]), 120
    counts = [sum(s <= t and (w is None or s + w > t) for s, w in jobs) for t in range(first, last)]
    expected = {"mean": pytest.approx(sum(counts) / (last - first)), "max": max(counts)}
    assert metrics.queue_length(submit, left, last) == expected
    times, waiting = metrics.queue_over_time(submit, left)
    assert waiting.tolist() == [counts[t - first] for t in times.tolist()]


def test_the_data_frame_has_the_columns_of_jobs_csv_and_empty_cells_for_the_unknown(coupled):
    frame = coupled.jobs
    assert ",".join(frame.columns) == (
        "domain,job_id,submit,ready,start,end,nodes,requested_s,run_s,pair,mate_job_id,holds,yields,"
        "held_node_seconds,state,wait_s"
    )
    assert frame["job_id"].to_list() == ["a-1", "a-2", "1", "2"]
    assert frame["pair"].to_list() == [1, None, None, 1]
    assert frame["mate_job_id"].to_list() == ["2", None, None, "a-1"]
    assert frame["state"].to_list() == ["completed"] * 4
    assert frame.schema["start"] == polars.Int64


def test_a_deadlock_is_told_and_a_hold_in_force_counts_up_to_the_last_event():
    never = {"max_held_fraction": "1", "release_interval": 0}
    domains = [
        domain("A", 10, (0, 50, 6), (1, 20, 10), **never),
        domain("B", 10, (30, 10, 8), (40, 10, 8), **never),
    ]
    result = replay_of(domains, [(1, 2), (2, 1)]).run()
    assert result.pairs["never"] == 2
    assert result.domains["A"].jobs.held_node_seconds.tolist() == [6 * 40, 0]
    assert result.domains["B"].jobs.held_node_seconds.tolist() == [8 * 10, 0]
    assert result.jobs["state"].unique().to_list() == ["never_started"]


def test_an_endless_exchange_of_holds_is_ended_and_told():
    """The four-pair livelock of coscheduling.md: A receives a1, a3, a2, a4, and B b2, b4, b1, b3."""
    last = {"max_held_fraction": "1", "release_jitter": "0", "release_order": "last"}
    domains = [domain(n, 10, *((at + s, 100, 6) for s in range(4)), **last) for n, at in (("A", 0), ("B", 400))]
    result = replay_of(domains, [(1, 3), (3, 1), (2, 4), (4, 2)]).run()
    assert result.stalled
    assert result.pairs["never"] == 4


def test_the_python_api_says_what_cannot_be_used(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        sim.replay([sim.Domain(name="A", trace=tmp_path / "none.swf")])
    with pytest.raises(InputError, match="domains"):
        sim.replay([])
    with pytest.raises(InputError, match="exclude each other"):
        sim.replay([sim.Domain(name="A", trace=work("A", (0, 1, 1)), nodes=1)], pair_window="2m", pair_fraction="0.1")
    with pytest.raises(InputError, match="nodes"):
        sim.replay([sim.Domain(name="A", trace=work("A", (0, 1, 1)))])


# In a notebook


def test_the_package_lists_what_it_offers():
    assert {"Domain", "Replay", "Result", "replay", "run"} <= set(dir(sim))


def test_a_result_shows_itself_in_a_line_and_as_a_table(coupled):
    assert repr(coupled) == "<Result A: 2 jobs, B: 2 jobs; pairs: 1 of 1 started together>"
    html = coupled._repr_html_()
    assert "<tr><td>A</td><td>hold</td><td>2</td><td>1</td>" in html
    assert html.endswith("</table><p>pairs: 1 of 1 started together</p>")


@pytest.mark.soak  # test_page_of_replay writes a report by the command
def test_a_result_writes_its_files_and_its_report(coupled, tmp_path):
    assert coupled.report(tmp_path / "run") == tmp_path / "run/report.html"
    assert (tmp_path / "run/jobs.csv").read_text() == coupled.jobs.drop("wait_s").write_csv()
    shown = coupled.figures()
    written = {path.stem for path in (tmp_path / "run/figures").glob("*.svg")}
    assert {figure.name for figure in shown} == written - {"gantt"}
    assert shown[0]._repr_svg_() == (tmp_path / f"run/figures/{shown[0].name}.svg").read_text()
