"""Pairs of jobs, computed by hand from coscheduling.md: what neither the reference suite nor tests/sim/core has."""

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
