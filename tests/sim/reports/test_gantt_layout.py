"""Nodes given to jobs after the fact."""

import polars
import pytest

from cosched_sim.reports.gantt.layout import FreeNodes, lay_out
from cosched_sim.reports.run import RunDomain, read_run
from tests.sim.reports.page_examples import two_days


def domain(nodes, jobs, holds=None):
    """A machine with jobs (id, nodes, start, end) and perhaps holds (id, begin, end, how it ended)."""
    starts = [job[2] for job in jobs if job[2] is not None]
    frame = polars.DataFrame(
        {
            "job_id": [job[0] for job in jobs],
            "submit": [0] * len(jobs),
            **{name: polars.Series([job[at] for job in jobs], dtype=polars.Int64) for at, name in enumerate(NAMES, 1)},
        }
    )
    sizes = {job[0]: job[1] for job in jobs}
    held = holds and polars.DataFrame(
        {
            "job_id": [hold[0] for hold in holds],
            "nodes": [sizes[hold[0]] for hold in holds],
            **{name: [hold[at] for hold in holds] for at, name in enumerate(("begin", "end", "ended"), 1)},
        }
    )
    return RunDomain("a", nodes, {"makespan_s": max(starts, default=0) + 100}, frame, held, None)


NAMES = ("nodes", "start", "end")


def boxes(pieces):
    """(row, first node, nodes, begin, end) of each piece."""
    return list(zip(*(getattr(pieces, name).tolist() for name in pieces.__slots__), strict=True))


def test_the_lowest_nodes_in_one_piece_are_taken():
    free = FreeNodes(10)
    assert free.take(3) == [(0, 3)]
    assert free.take(3) == [(3, 3)]
    free.give_back([(0, 3)])
    assert free.take(4) == [(6, 4)]
    assert free.take(2) == [(0, 2)]


def test_a_job_is_split_into_few_pieces_when_none_is_large_enough():
    free = FreeNodes(20)
    free.take(20)
    for ranges in ([(0, 1)], [(2, 3)], [(8, 4)], [(14, 1)]):
        free.give_back(ranges)
    assert free.take(6) == [(8, 4), (2, 2)]
    assert free.take(5) == [(0, 1), (4, 1), (14, 1)]


def test_freed_ranges_that_touch_are_one_again():
    free = FreeNodes(6)
    first, second, third = (free.take(2) for _ in range(3))
    for ranges in (first, third, second):
        free.give_back(ranges)
    assert free.take(6) == [(0, 6)]


def test_nodes_freed_at_an_instant_are_used_at_that_instant():
    layout = lay_out(domain(4, [("x", 4, 0, 10), ("y", 4, 10, 20)]))
    assert boxes(layout.runs) == [(0, 0, 4, 0, 10), (1, 0, 4, 10, 20)]


def test_a_job_starts_on_the_nodes_that_it_held():
    jobs = [("x", 2, 0, 30), ("y", 2, 20, 30), ("z", 2, 5, 8)]
    layout = lay_out(domain(6, jobs, [("y", 3, 20, "started")]))
    assert boxes(layout.holds) == [(1, 2, 2, 3, 20)]
    assert (1, 2, 2, 20, 30) in boxes(layout.runs)
    assert (2, 4, 2, 5, 8) in boxes(layout.runs)


def test_a_released_hold_gives_its_nodes_back():
    jobs = [("x", 4, 50, 60), ("y", 4, 20, 30), ("never", 4, None, None)]
    layout = lay_out(domain(4, jobs, [("x", 0, 20, "released"), ("x", 30, 50, "started"), ("never", 60, 90, "lasts")]))
    assert boxes(layout.holds) == [(0, 0, 4, 0, 20), (0, 0, 4, 30, 50), (2, 0, 4, 60, 90)]
    assert boxes(layout.runs) == [(1, 0, 4, 20, 30), (0, 0, 4, 50, 60)]


def test_jobs_that_last_no_time_and_jobs_of_one_machine_do_not_meet():
    assert boxes(lay_out(domain(4, [("x", 4, 0, 0), ("y", 4, 0, 0), ("z", 4, 0, 5)])).runs) == [(2, 0, 4, 0, 5)]


@pytest.mark.parametrize("name", ["intrepid", "eureka"])
def test_in_a_replay_every_job_has_its_nodes_and_no_node_two_jobs(tmp_path, name):
    found = next(d for d in read_run(two_days(tmp_path)).domains if d.name == name)
    layout = lay_out(found)
    given = boxes(layout.runs) + boxes(layout.holds)
    sizes = found.jobs["nodes"].to_list()
    for row, start, end in zip(range(len(sizes)), found.jobs["start"], found.jobs["end"], strict=True):
        assert sum(b[2] for b in boxes(layout.runs) if b[0] == row) == (sizes[row] if end > start else 0)
    last_end: dict[int, int] = {}
    for _, first, nodes, begin, end in sorted(given, key=lambda box: box[3:]):
        for node in range(first, first + nodes, 32 if name == "intrepid" else 1):
            assert last_end.get(node, 0) <= begin
            last_end[node] = end
