"""Pairs of jobs, computed by hand from coscheduling.md."""

import math

import pytest

from . import RefDomain, RefJob, RefOutcome, simulate

# Columns of a job: job id, submit, run, requested, nodes. Pairs: ids on A and B.


def run(a, b, pairs, max_time=10**6, a_only=None, **config):
    """Simulate two machines of 10 nodes; jitter 0 and the whole machine to hold unless told otherwise."""
    config = {"release_jitter": "0", "max_held_fraction": "1", **config}
    domains = [
        RefDomain("A", 10, [RefJob(*job) for job in a], **{**config, **(a_only or {})}),
        RefDomain("B", 10, [RefJob(*job) for job in b], **config),
    ]
    return simulate(domains, [(("A", x), ("B", y)) for x, y in pairs], max_time=max_time)


def starts(outcomes):
    return {f"{domain}{job_id}": outcome.start for (domain, job_id), outcome in outcomes.items()}


class TestSchemes:
    a, b, pairs = [(1, 0, 100, 100, 4)], [(1, 50, 100, 100, 6)], [(1, 1)]

    def test_hold(self):
        got = run(self.a, self.b, self.pairs)
        assert got["A", 1] == RefOutcome(0, 50, 150, 1, 0, 200, "completed")
        assert got["B", 1] == RefOutcome(50, 50, 150, 0, 0, 0, "completed")

    def test_yield(self):
        # At 50 only B has an event: b1 is ready, TryStartMate(a1) starts a1.
        got = run(self.a, self.b, self.pairs, scheme="yield")
        assert got["A", 1] == RefOutcome(0, 50, 150, 0, 1, 0, "completed")
        assert got["B", 1] == RefOutcome(50, 50, 150, 0, 0, 0, "completed")

    @pytest.mark.parametrize("off", [{"scheme": "off"}, {"a_only": {"scheme": "off"}}])
    def test_off_on_either_side(self, off):
        got = run(self.a, self.b, self.pairs, **off)
        assert starts(got) == {"A1": 0, "B1": 50}
        assert got["A", 1] == RefOutcome(0, 0, 100, 0, 0, 0, "completed")

    def test_a_job_started_by_its_mate_is_ready_then(self):
        got = run([(1, 0, 10, 10, 1), (2, 5, 10, 10, 10)], [(2, 5, 10, 10, 1)], [(2, 2)])
        assert got["A", 2] == RefOutcome(10, 10, 20, 0, 0, 0, "completed")
        assert got["B", 2] == RefOutcome(5, 10, 20, 1, 0, 5, "completed")

    def test_a_yielded_job_takes_no_reservation_and_does_not_count_as_one_that_does_not_fit(self):
        """ "Yield: N is free, j [...] is passed over by its own domain for the rest of that instant" """
        for backfill in ("none", "easy", "conservative"):
            got = run(
                [(1, 0, 100, 100, 10), (2, 0, 900, 900, 10)],
                [(1, 50, 9, 9, 1)],
                [(1, 1)],
                scheme="yield",
                backfill=backfill,
            )
            assert starts(got) == {"A1": 900, "A2": 0, "B1": 900}


class TestHolds:
    def test_release_and_hold_again_until_the_mate_comes(self):
        got = run([(1, 0, 100, 100, 4)], [(1, 3000, 100, 100, 6)], [(1, 1)])
        assert got["A", 1] == RefOutcome(0, 3000, 3100, 3, 0, 4 * 3000, "completed")  # at 0, 1200, 2400

    def test_jitter_lengthens_each_hold_by_its_own_crc(self):
        # crc32("A/1/1") = 1032556156, floor(1200 * 0.25 * that / 2^32) = 72: the first hold ends at 1272,
        # when a2, of 10 nodes, gets ahead of it.
        got = run([(1, 0, 9, 9, 4), (2, 1, 5, 5, 10)], [(1, 1500, 9, 9, 6)], [(1, 1)], release_jitter="0.25")
        assert got["A", 2].start == 1272
        assert got["A", 1].holds == 2

    def test_cap(self):
        """ "a hold that would bring held nodes above floor(fraction x nodes) [...] is a yield instead" """
        for cap, holds in (("0.5", 0), ("0.59", 0), ("0.6", 1)):
            got = run([(1, 0, 9, 9, 6)], [(1, 50, 9, 9, 6)], [(1, 1)], max_held_fraction=cap)
            assert (got["A", 1].holds, got["A", 1].yields) == (holds, 1 - holds)

    def test_cap_counts_all_held_nodes(self):
        got = run([(1, 0, 9, 9, 3), (2, 0, 9, 9, 3)], [(1, 50, 9, 9, 1), (2, 50, 9, 9, 1)], [(1, 1), (2, 2)],
                  max_held_fraction="0.5")  # fmt: skip
        assert (got["A", 1].holds, got["A", 2].holds, got["A", 2].yields) == (1, 0, 1)

    def test_cap_is_computed_in_decimal(self):
        # 0.29 * 100 is 28.999999999999996 in floats.
        domains = [
            RefDomain("A", 100, [RefJob(1, 0, 9, 9, 29)], max_held_fraction="0.29"),
            RefDomain("B", 100, [RefJob(1, 5, 9, 9, 29)]),
        ]
        assert simulate(domains, [(("A", 1), ("B", 1))])["A", 1].holds == 1

    def test_yield_limit(self):
        # a1 yields at 0 and at 10; at 20 it has yielded twice and holds.
        a = [(1, 0, 9, 9, 4), (2, 10, 1, 1, 1), (3, 20, 1, 1, 1)]
        got = run(a, [(1, 50, 9, 9, 1)], [(1, 1)], scheme="yield", max_yields=2)
        # It has yielded at 11 too, when a2 ended, if the limit is 3.
        assert got["A", 1] == RefOutcome(0, 50, 59, 1, 2, 39 * 4, "completed")

    def test_yield_boost(self):
        # Both wait for a3. At 100 a1 scores 60 and a2, which yielded at 0 and 10, scores 100 * 0.5^2 = 25.
        a = [(2, 0, 50, 50, 10), (3, 10, 90, 90, 10), (1, 40, 50, 50, 10)]
        got = run(a, [(2, 60, 9, 9, 1)], [(2, 2)], scheme="yield", yield_boost="-0.5")
        assert starts(got) == {"A2": 150, "A3": 10, "A1": 100, "B2": 150}
        assert starts(run(a, [(2, 60, 9, 9, 1)], [(2, 2)], scheme="yield"))["A2"] == 100


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
    def test_flat(self, backfill):
        assert not self.holds(10, backfill=backfill)
        assert self.holds(8, backfill=backfill)
        assert self.holds(10, backfill=backfill, release_interval=898)  # 2 + 898 + 100 = 1000
        assert not self.holds(10, backfill=backfill, release_interval=899)
        assert not self.holds(10, backfill=backfill, release_interval=0)
        assert self.holds(8, backfill=backfill, release_interval=0)

    @pytest.mark.parametrize("backfill", ["easy", "conservative"])
    def test_partitioned(self, backfill):
        # Five units of 2 nodes: a1 has the units 0 to 3, a2 wants all five or the same four; a3 gets unit 4.
        assert not self.holds(10, backfill=backfill, layout=(5, 2))
        assert self.holds(8, backfill=backfill, layout=(5, 2))
        assert self.holds(10, backfill=backfill, layout=(5, 2), release_interval=898)
        assert not self.holds(10, backfill=backfill, layout=(5, 2), release_interval=899)

    def test_without_a_shadow_nothing_is_forbidden(self):
        # a1 holds 4 nodes for ever; a2 can never have 10. a3 holds and a4 starts all the same.
        a = [(1, 0, 9, 9, 4), (2, 1, 9, 9, 10), (3, 2, 900, 900, 2), (4, 3, 900, 900, 4)]
        got = run(a, [(3, 50, 9, 9, 1)], [(3, 3)], release_interval=0)
        assert got["A", 1].start == 0
        got = run(a, [(1, 500, 9, 9, 1), (3, 50, 9, 9, 1)], [(1, 1), (3, 3)], release_interval=0)
        assert starts(got) == {"A1": 500, "A2": 950, "A3": 50, "A4": 3, "B1": 500, "B3": 50}
        assert got["A", 3].holds == 1


class TestTryStartMate:
    @staticmethod
    def at_100(b_nodes, other=()):
        # At 100 both machines become free; A iterates first and asks B for b2, which stands behind b1.
        a = [(9, 0, 100, 100, 10), (2, 5, 10, 10, 10), *other]
        b = [(9, 0, 100, 100, 10), (1, 3, 50, 50, 6), (2, 5, 10, 10, b_nodes)]
        return a, b

    def test_unpaired_jobs_ahead_start_only_in_thought_but_their_nodes_count(self):
        got = run(*self.at_100(4), [(2, 2)])
        assert starts(got) == {"A9": 0, "A2": 100, "B9": 0, "B1": 100, "B2": 100}
        assert got["A", 2].holds == 0
        got = run(*self.at_100(5), [(2, 2)])
        assert starts(got) == {"A9": 0, "A2": 150, "B9": 0, "B1": 100, "B2": 150}
        assert got["A", 2].holds == 1

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
        # At 0, A asks for b1: in thought b9 runs until 100, b2 is passed over, b3 is reserved at 100 with
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

    def test_figure_2_without_the_timer(self):
        got = run(*self.figure_2, release_interval=0)
        assert starts(got) == {"A1": None, "A2": None, "B1": None, "B2": None}
        assert got["A", 1] == RefOutcome(0, None, None, 1, 0, 6 * 10, "never_started")
        assert got["A", 2] == RefOutcome(None, None, None, 0, 0, 0, "never_started")

    @pytest.mark.parametrize("release_order", ["wanted", "last"])
    def test_figure_2_with_the_timer(self, release_order):
        got = run(*self.figure_2, release_order=release_order)
        assert starts(got) == {"A1": 1300, "A2": 1200, "B1": 1300, "B2": 1200}

    # "four pairs of jobs, each of 6 of 10 nodes. Domain A gets a1, a3, a2, a4 at 0 to 3 s; domain B gets b2, b4, b1, b3
    # at 400 to 403 s; all run 100 s"
    four = (
        [(i, t, 100, 100, 6) for t, i in enumerate((1, 3, 2, 4))],
        [(i, 400 + t, 100, 100, 6) for t, i in enumerate((2, 4, 1, 3))],
        [(i, i) for i in (1, 2, 3, 4)],
    )

    def test_released_last_alone_exchanges_holds_for_ever(self):
        """ "A alternates between a1 and a3, B between b2 and b4" """
        got = run(*self.four, release_order="last", max_time=50_000)
        assert all(outcome.state == "never_started" for outcome in got.values())
        assert {name for name, outcome in got.items() if outcome.holds} == {("A", 1), ("A", 3), ("B", 2), ("B", 4)}
        assert got["A", 1].holds + got["A", 3].holds == 50_000 // 1200 + 1

    def test_wanted_first_ends(self):
        """ "ours ends at 1600 s" """
        got = run(*self.four)
        assert max(outcome.end for outcome in got.values()) == 1600

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
