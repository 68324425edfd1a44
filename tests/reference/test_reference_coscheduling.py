"""Pairs of jobs, computed by hand from coscheduling.md: what the workloads of the reference suite do not have."""

import math

import pytest

from . import RefDomain, RefJob, RefOutcome, simulate

# Columns of a job: job id, submit, run, requested, nodes. Pairs: ids on A and B.


def run(a, b, pairs, **config):
    """Simulate two machines of 10 nodes; jitter 0 and the whole machine to hold unless told otherwise."""
    config = {"release_jitter": "0", "max_held_fraction": "1", **config}
    domains = [RefDomain(name, 10, [RefJob(*job) for job in jobs], **config) for name, jobs in (("A", a), ("B", b))]
    return simulate(domains, [(("A", x), ("B", y)) for x, y in pairs], max_time=10**6)


def starts(outcomes):
    return {f"{domain}{job_id}": outcome.start for (domain, job_id), outcome in outcomes.items()}


class TestRule5:
    # "A job that was backfilled, so behind a reservation, may hold only if its hold cannot delay the reserved job: its
    # release time plus its requested time is at or before the shadow time, or its nodes fit into extra. Otherwise it
    # yields."

    @staticmethod
    def holds(reserved_nodes, **config):
        # a2 is reserved at 1000. a3 is ready at 2 and its mate comes at 50.
        a = [(1, 0, 1000, 1000, 8), (2, 1, 10, 10, reserved_nodes), (3, 2, 100, 100, 2)]
        got = run(a, [(3, 50, 100, 100, 2)], [(3, 3)], **config)
        assert got["A", 3].holds + got["A", 3].yields == 1
        assert starts(got) == {"A1": 0, "A2": 1000, "A3": 50, "B3": 50}
        return got["A", 3].holds == 1

    @pytest.mark.parametrize("backfill", ["easy", "conservative"])
    def test_partitioned(self, backfill):
        # Five units of 2 nodes: a1 has the units 0 to 3, a2 wants all five or the same four; a3 gets unit 4.
        assert not self.holds(10, backfill=backfill, layout=(5, 2))
        assert self.holds(8, backfill=backfill, layout=(5, 2))
        assert self.holds(10, backfill=backfill, layout=(5, 2), release_interval=898)
        assert not self.holds(10, backfill=backfill, layout=(5, 2), release_interval=899)


class TestTryStartMate:
    @staticmethod
    def at_100(b_nodes, other=()):
        # At 100 both machines become free; A iterates first and asks B for b2, which stands behind b1.
        a = [(9, 0, 100, 100, 10), (2, 5, 10, 10, 10), *other]
        b = [(9, 0, 100, 100, 10), (1, 3, 50, 50, 6), (2, 5, 10, 10, b_nodes)]
        return a, b

    def test_unpaired_jobs_ahead_start_only_in_a_dry_run_but_their_nodes_count(self):
        got = run(*self.at_100(4), [(2, 2)])
        assert starts(got) == {"A9": 0, "A2": 100, "B9": 0, "B1": 100, "B2": 100}
        assert got["A", 2].holds == 0

    def test_other_paired_jobs_that_could_start_are_passed_over(self):
        got = run(*self.at_100(5, other=[(1, 50, 50, 50, 1)]), [(2, 2), (1, 1)])
        assert starts(got) == {"A9": 0, "A2": 100, "A1": 110, "B9": 0, "B1": 110, "B2": 100}

    def test_other_paired_jobs_that_do_not_fit_take_the_reservation(self):
        # b1 is reserved at 100 with extra 0. b2 may start at 6 only if it is expected to end by then: else b1
        # is ready at 100, holds until its mate comes at 200, and runs until 250.
        b = [(9, 0, 100, 100, 5), (1, 3, 50, 50, 10), (2, 5, 10, 106, 1)]
        got = run([(1, 200, 50, 50, 1), (2, 6, 10, 10, 1)], b, [(1, 1), (2, 2)])
        assert got["A", 2].start == 250
        got = run([(1, 200, 50, 50, 1), (2, 6, 10, 10, 1)], [*b[:2], (2, 5, 10, 94, 1)], [(1, 1), (2, 2)])
        assert got["A", 2].start == 6

    def test_a_job_that_yielded_at_this_instant_may_still_be_started(self):
        # At 0, A asks for b1: in the dry run b9 runs until 100, b2 is passed over, b3 is reserved at 100 with
        # extra 2 (b1 needs 3 until 250): no, a1 yields. Then a2 and b2 start. On B, b3 is now reserved at
        # 300, so b1 is ready, and its mate, though it yielded, starts.
        a = [(1, 0, 9, 9, 1), (2, 0, 9, 9, 1)]
        b = [(9, 0, 100, 100, 4), (2, 0, 300, 300, 3), (3, 0, 9, 9, 8), (1, 0, 250, 250, 3)]
        got = run(a, b, [(1, 1), (2, 2)], scheme="yield")
        assert starts(got) == {"A1": 0, "A2": 0, "B9": 0, "B2": 0, "B3": 300, "B1": 0}
        assert got["A", 1] == RefOutcome(0, 0, 9, 0, 1, 0, "completed")

    def test_refused_it_makes_the_mate_wanted_while_the_caller_holds(self):
        a = RefDomain("A", 10, [RefJob(1, 10, 9, 9, 5)], release_jitter="0")
        b = RefDomain("B", 10, [RefJob(9, 0, 100, 100, 10), RefJob(1, 6, 9, 9, 6)])
        seen = {}
        simulate([a, b], [(("A", 1), ("B", 1))], watch=lambda w: seen.update({w.now: w.entries["B", 1].wanted_until}))
        assert (seen[6], seen[10]) == (-math.inf, 1210)
        a.scheme = "yield"
        simulate([a, b], [(("A", 1), ("B", 1))], watch=lambda w: seen.update({w.now: w.entries["B", 1].wanted_until}))
        assert seen[10] == -math.inf


class TestDeadlock:
    # Figure 2: a1 holds 6 of 10 nodes and waits for b1, b2 holds 6 and waits for a2.
    figure_2 = (
        [(1, 0, 100, 100, 6), (2, 10, 100, 100, 6)],
        [(2, 0, 100, 100, 6), (1, 10, 100, 100, 6)],
        [(1, 1), (2, 2)],
    )

    def test_figure_2_with_the_timer_and_without_wanted_jobs_first(self):
        got = run(*self.figure_2, release_order="last")
        assert starts(got) == {"A1": 1300, "A2": 1200, "B1": 1300, "B2": 1200}

    # "A: 10 nodes; jobs of 4 and 1 nodes at 0, 4 and 1 at 600, requested 5000 s; four of 7 nodes at 901 to
    # 904; B the same 300 s later; A's small jobs paired with B's large ones and the reverse; FCFS, EASY,
    # hold/hold, 1200 s"
    @staticmethod
    def eight(run_time, later):
        small = [(1, 0, 4), (2, 0, 1), (3, 600, 4), (4, 600, 1)]
        large = [(n, 896 + n, 7) for n in (5, 6, 7, 8)]
        return [(i, t + later, run_time, 5000, nodes) for i, t, nodes in small + large]

    @pytest.mark.parametrize("run_time", [100, 5000])
    @pytest.mark.parametrize("cap", ["0.5", "1"])
    @pytest.mark.parametrize("jitter", ["0", "0.25"])
    def test_eight_pairs_end(self, run_time, cap, jitter):
        pairs = [(n, n + 4) for n in (1, 2, 3, 4)] + [(n + 4, n) for n in (1, 2, 3, 4)]
        got = run(
            self.eight(run_time, 0), self.eight(run_time, 300), pairs, max_held_fraction=cap, release_jitter=jitter
        )
        assert all(outcome.state == "completed" for outcome in got.values())
        assert all(got["A", a].start == got["B", b].start for a, b in pairs)
