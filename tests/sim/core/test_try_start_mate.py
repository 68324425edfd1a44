"""TryStartMate and yields on a machine (coscheduling.md): a dry run, and jobs that are passed over."""

import pytest

from cosched.core.settings import Scheme
from tests.sim.core.replays import Jobs, Replay


def at_100(b2_nodes: int, more: Jobs | None = None) -> tuple[Jobs, Jobs]:
    """Both machines get free at 100. A iterates first and asks for b2, which stands behind b1, of 6 nodes."""
    a = {"x": (0, 100, 10), "a2": (5, 10, 10), **(more or {})}
    return a, {"y": (0, 100, 10), "b1": (3, 50, 6), "b2": (5, 10, b2_nodes)}


@pytest.mark.parametrize(("b2_nodes", "start"), [(4, 100), (5, 150)])
def test_unpaired_jobs_started_in_a_dry_run_count_as_running(b2_nodes, start):
    """ "Jobs without mates that would start are counted as running" "(The paper lets the extra iteration start other
    jobs too [...])" """
    run = Replay(*at_100(b2_nodes), [("a2", "b2")])
    assert (run.start("a2"), run.start("b2"), run.start("b1")) == (start, start, 100)


def test_other_paired_jobs_that_could_start_are_passed_over_in_a_dry_run():
    """ "in which every other paired job that could start were passed over" """
    run = Replay(*at_100(5, more={"a1": (50, 50, 1)}), [("a2", "b2"), ("a1", "b1")])
    assert (run.start("a2"), run.start("b2"), run.start("b1")) == (100, 100, 110)


@pytest.mark.parametrize("off", ["a_only", "b_only"])
def test_a_job_whose_mates_domain_has_coscheduling_off_counts_as_unpaired(off):
    """ "A job whose mate's domain has coscheduling off counts as a job without a mate." """
    pair = {"a1": (50, 50, 1)}, {"b1": (60, 50, 1)}, [("a1", "b1")]
    assert Replay(*pair, **{off: {"scheme": Scheme.OFF}}).starts() == {"a1": 50, "b1": 60}


@pytest.mark.parametrize(("requested", "start"), [(94, 6), (106, 250)])
def test_jobs_that_do_not_fit_take_the_reservation_in_a_dry_run(requested, start):
    """ "Jobs that do not fit are reserved as usual" """
    # b1 is reserved at 100, with no node to spare. b2 may start at 6 if it is expected to end by then; else b1 holds
    # until its mate comes at 200, and b2 waits for its end.
    a = {"a2": (6, 10, 1), "a1": (200, 50, 1)}
    b = {"y": (0, 100, 5), "b1": (3, 50, 10), "b2": (5, 10, 1, requested)}
    run = Replay(a, b, [("a1", "b1"), ("a2", "b2")])
    assert run.start("a2") == run.start("b2") == start


def test_a_refused_try_changes_nothing():
    """ "Otherwise nothing changes, except that k may become wanted" """
    a, b = {"a1": (10, 9, 5)}, {"y": (0, 100, 10), "z": (6, 9, 6), "b1": (7, 9, 6)}
    run, alone = Replay(a, b, [("a1", "b1")]), Replay({"x": (0, 1, 1)}, b, [])
    assert (run.start("z"), run.start("y")) == (alone.start("z"), alone.start("y"))
    assert run.job("b1").ready_at == run.start("b1") == run.start("a1") == 109


def test_only_the_mate_starts():
    """ "If so, k starts at once, and only k, without a RunJob of its own" """
    run = Replay(*at_100(4), [("a2", "b2")])
    order = [(domain, job, what) for _, domain, job, what, _ in run.lines if what in ("started", "GetMateJobId")]
    assert order == [("A", "a2", "GetMateJobId"), ("B", "b2", "started"), ("A", "a2", "started")]


def test_a_yield_takes_no_reservation():
    """ "it neither starts nor gets a reservation. The iteration goes on without it. Only a TryStartMate can still
    start it" """
    for backfill in ("none", "easy", "conservative"):
        a = {"a1": (0, 100, 10), "x": (0, 900, 10)}
        run = Replay(a, {"b1": (50, 9, 1)}, [("a1", "b1")], scheme=Scheme.YIELD, backfill=backfill)
        assert run.starts() == {"a1": 900, "x": 0, "b1": 900}


def test_a_job_that_yielded_may_be_started_by_its_mate_at_the_same_instant():
    """ "jobs that yielded at this instant are passed over, k excepted" """
    # At 0 A asks for b1: in the dry run y runs until 100, b2 is passed over, z is reserved at 100 with 2 nodes to spare
    # (b1 needs 3 until 250): no, a1 yields. Then a2 and b2 start. On B z is now reserved at 300: b1 is ready, and its
    # mate, though it has yielded, starts.
    a = {"a1": (0, 9, 1), "a2": (0, 9, 1)}
    b = {"y": (0, 100, 4), "b2": (0, 300, 3), "z": (0, 9, 8), "b1": (0, 250, 3)}
    run = Replay(a, b, [("a1", "b1"), ("a2", "b2")], scheme=Scheme.YIELD)
    assert run.starts() == {"a1": 0, "a2": 0, "y": 0, "b2": 0, "z": 300, "b1": 0}
    assert run.times("a1", "yields") == [0]
