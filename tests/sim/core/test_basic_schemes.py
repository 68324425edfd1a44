"""Section IV-B (Tang et al. 2011), sentence by sentence, on two machines of 10 nodes."""

import pytest

from cosched.core.job import JobState
from cosched.core.settings import Scheme
from tests.sim.core.replays import Replay

HOLD, YIELD = {"scheme": Scheme.HOLD}, {"scheme": Scheme.YIELD}
PAIR = [("a1", "b1")]
LATE = {"b1": (50, 100, 4)}  # the mate of a1


def ready_at(run: Replay, name: str) -> int | None:
    return run.job(name).ready_at


def test_ready_means_selected_to_start_next():
    """ "In job scheduling, we say that a job is “scheduled,” or “ready,” when a job is selected by the scheduler to
    start next." """
    run = Replay({"a9": (0, 20, 10), "a1": (5, 100, 4)}, LATE, PAIR)
    assert ready_at(run, "a1") == 20  # not at 5, when it was queued behind a9


def test_a_ready_job_has_the_highest_priority_or_is_backfilled():
    """ "A scheduled job can have the highest priority or have been given the opportunity of backfilling [31]." """
    assert ready_at(Replay({"a1": (3, 100, 4)}, LATE, PAIR), "a1") == 3
    # a2 is reserved at 100; a1, behind it, ends by then.
    jobs = {"a9": (0, 100, 6), "a2": (1, 10, 10), "a1": (3, 40, 4)}
    assert ready_at(Replay(jobs, LATE, PAIR, backfill="easy", **YIELD), "a1") == 3
    assert ready_at(Replay(jobs, LATE, PAIR, backfill="none", **YIELD), "a1") == 110


def test_a_ready_job_has_its_designated_number_of_nodes():
    """ "The job should be assigned with a designated number of nodes." """
    run = Replay({"a1": (0, 100, 7)}, LATE, PAIR, **HOLD)
    assert run.job("a1").nodes == 7
    assert run.held_node_seconds(0) == 7 * 50


def test_normally_a_ready_job_starts_at_once():
    """ "Normally, when a job is scheduled, it can start immediately." "Normally, the function starts the scheduled job
    on the assigned nodes." (IV-C)"""
    assert Replay({"a1": (3, 100, 4)}, LATE, []).start("a1") == 3


@pytest.mark.parametrize(("scheme", "what"), [(HOLD, "holds"), (YIELD, "yields")])
def test_with_coscheduling_it_may_wait_for_its_mate_in_two_ways(scheme, what):
    """ "With coscheduling, however, a scheduled job may not be started because it may need to wait for its mate job."
    "When a job is ready to run but its remote mate cannot, we have two basic coscheduling schemes, “hold” and “yield,”
    to choose from." """
    run = Replay({"a1": (3, 100, 4)}, LATE, PAIR, **scheme)
    assert (ready_at(run, "a1"), run.start("a1"), run.start("b1")) == (3, 50, 50)
    assert run.times("a1", what) == [3]


def test_hold_keeps_the_nodes_until_the_mate_gets_ready():
    """ "With hold, when a job is ready but its mate job is not, it will hold the needed computing nodes, not allowing
    them to be used by others, until the remote mate gets ready in the future." "Function self.holdJob(j, N) sets job j
    to holding status and marks the nodes N busy, not allowing another job to use them." (IV-C)"""
    run = Replay({"a1": (0, 10, 4), "a2": (1, 10, 7)}, LATE, PAIR, **HOLD)
    assert run.times("a1", "holds") == [0]
    assert run.starts() == {"a1": 50, "b1": 50, "a2": 60}


def test_yield_gives_the_chance_and_the_nodes_to_another_job():
    """ "With yield, it will give up the chance to run without occupying any nodes and allowing the scheduler to
    schedule another job." "Function self.yieldJob(j) invokes an additional local scheduling iteration to try to run
    other jobs." (IV-C; mended: "The iteration goes on without it")"""
    run = Replay({"a1": (0, 10, 4), "a2": (0, 10, 10)}, LATE, PAIR, **YIELD)
    assert run.times("a1", "yields")[0] == 0
    assert run.start("a2") == 0
    assert run.held_node_seconds(0) == 0


# a1 is ready at 0, its mate at 50. From 10 on there are other jobs for A's nodes.
BUSY = {"a1": (0, 100, 6), "a2": (10, 100, 8)}


def test_hold_synchronises_sooner_than_yield_and_wastes_more_nodes():
    """ "Regarding minimizing paired job synchronization, hold is better than yield." "Regarding impact to system
    utilization, the yielding job imposes less impact than does the holding job." """
    held, yielded = (Replay(BUSY, LATE, PAIR, **scheme) for scheme in (HOLD, YIELD))
    assert (held.start("a1"), yielded.start("a1")) == (50, 110)
    assert (held.held_node_seconds(0), yielded.held_node_seconds(0)) == (6 * 50, 0)


def test_a_holding_job_starts_when_its_mate_gets_ready():
    """ "A holding job will start immediately once its mate job gets ready." """
    run = Replay(BUSY, {"b9": (0, 77, 8), "b1": (50, 100, 4)}, PAIR, **HOLD)
    assert (ready_at(run, "b1"), run.start("a1"), run.start("b1")) == (77, 77, 77)


def test_a_job_that_yielded_may_lack_nodes_and_yield_again():
    """ "However, a job that once yielded may not necessarily be able to start when its mate is ready, because of a
    lack of resources, so it may need to yield repeatedly." """
    # b1 is ready at 50, but a2 has A's nodes from 10 to 110. At 110 b2 has those of B.
    run = Replay(BUSY, {"b1": (50, 100, 4), "b2": (60, 100, 8)}, PAIR, **YIELD)
    assert run.times("a1", "yields") == [0, 10, 110]
    assert run.start("a1") == run.start("b1") == 160


def test_held_nodes_cannot_be_used_by_others():
    """ "When the nodes are held by a job, they cannot be used by other jobs." """
    run = Replay({"a1": (0, 100, 6), "a2": (10, 5, 5), "a3": (11, 5, 4)}, LATE, PAIR, backfill="easy", **HOLD)
    assert run.starts() == {"a1": 50, "a2": 150, "a3": 11, "b1": 50}


def test_nobody_runs_on_held_nodes_or_holds_them():
    """ "The scheduler treats the held nodes as busy; other jobs can neither run on them nor hold them." """
    # a2, whose mate comes at 500, wants 5 of the 4 nodes that a1 leaves.
    run = Replay(
        {"a1": (0, 100, 6), "a2": (10, 5, 5)},
        {"b1": (50, 100, 4), "b2": (500, 5, 1)},
        [("a1", "b1"), ("a2", "b2")],
        **HOLD,
    )
    assert run.times("a1", "holds") == [0]
    assert run.times("a2", "holds") == [150]


def test_yield_leaves_the_other_jobs_as_they_are():
    """ "On the other hand, the yield scheme rarely is harmful to system utilization." """
    others = {"a2": (1, 30, 8), "a3": (2, 20, 3), "a4": (5, 40, 10), "a5": (6, 3, 2)}
    alone = Replay(others, {"b9": (0, 1, 1)}, [])
    run = Replay({"a1": (0, 100, 6), **others}, {"b1": (90, 100, 4)}, PAIR, **YIELD)
    assert {name: run.start(name) for name in others} == {name: alone.start(name) for name in others}
    assert run.state("a1") is JobState.COMPLETED
