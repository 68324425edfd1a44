"""Pairs that meet, computed by hand from meet.md. Columns of a job: submit, run, requested, nodes."""

import pytest

from . import RefDomain, RefJob, simulate


def run(a, b, pairs, a_only=None, b_only=None, watch=None, **config):
    """Two machines of 10 nodes, FCFS and EASY; jobs are numbered as they are called, a4 is job 4 of A."""
    config = {"scheme": "meet", "release_jitter": "0", "max_held_fraction": "1", **config}
    domains = [
        RefDomain(name, 10, [RefJob(n, *job) for n, job in jobs.items()], **{**config, **(own or {})})
        for name, jobs, own in (("A", a, a_only), ("B", b, b_only))
    ]
    return simulate(domains, [(("A", x), ("B", y)) for x, y in pairs], watch=watch)


def starts(outcomes):
    return {f"{domain.lower()}{number}": outcome.start for (domain, number), outcome in outcomes.items()}


class TestWantedJobs:
    """Hand-worked cases 1 and 2"""

    def test_a_wanted_job_starts_before_others_and_the_first_job_loses_nothing(self):
        a = {0: (0, 40, 40, 4), 1: (0, 100, 100, 6), 2: (10, 100, 100, 6), 3: (20, 100, 100, 4), 4: (30, 50, 50, 4)}
        b = {1: (5, 50, 50, 4)}
        got = starts(run(a, b, [(4, 1)]))
        assert got == {"a0": 0, "a1": 0, "a4": 40, "b1": 40, "a3": 90, "a2": 100}
        got = starts(run(a, b, [(4, 1)], scheme="yield"))
        assert got == {"a0": 0, "a1": 0, "a3": 40, "a2": 100, "a4": 140, "b1": 140}

    @staticmethod
    def with_guard(length, second=False, **config):
        a = {0: (0, 40, 40, 4), 1: (0, 100, 100, 6), 2: (10, 100, 100, 10), 4: (30, length, length, 4)}
        b = {1: (5, 50, 50, 4)}
        if second:
            a[5], b[2] = (31, 60, 60, 6), (6, 50, 50, 4)
        return run(a, b, [(4, 1), (5, 2)][: 1 + second], **config)

    def test_the_first_job_may_lose_so_much(self):
        """ "guard 145 [...] L = 105: pair at 40, a2 at 145; L = 106: a2 at 100, pair at 200" """
        assert starts(self.with_guard(105)) == {"a0": 0, "a1": 0, "a4": 40, "b1": 40, "a2": 145}
        assert starts(self.with_guard(106)) == {"a0": 0, "a1": 0, "a4": 200, "b1": 200, "a2": 100}

    def test_the_budget_is_one_sum(self):
        """ "With L = 105 and a second pair [...]: a5 at 245" """
        got = starts(self.with_guard(105, second=True))
        assert got == {"a0": 0, "a1": 0, "a4": 40, "b1": 40, "a2": 145, "a5": 245, "b2": 245}


class TestSlots:
    """Hand-worked case 3"""

    @staticmethod
    def at(run_5, b3=310, a5=220, b6=False, **config):
        a = {1: (10, 100, 100, 6), 2: (20, 150, 400, 8), 5: (200, run_5, a5, 8)}
        b = {1: (0, 100, 300, 6), 2: (10, 100, 100, 6), 3: (110, 200, b3, 6)}
        if b6:
            b[6] = (300, 500, 500, 8)
        return run(a, b, [(1, 2)], **config)

    def test_jobs_backfill_up_to_the_slot_and_any_earlier_chance_is_taken(self):
        """ "b2 ready at 100: slot 420. R = 50: b3 at 110, a5 at 200, pair at 310, early." """
        slots = {}
        got = self.at(50, watch=lambda w: slots.update({w.now: w.entries["A", 1].slot}))
        assert slots[20] is None
        assert slots[100].at == slots[200].at == 420
        assert starts(got) == {"a1": 310, "a2": 20, "a5": 200, "b1": 0, "b2": 310, "b3": 110}

    def test_the_slot_is_kept(self):
        """ "R = 220 and b6: pair at its slot, 420; b6 at 520 (yield/yield: b6 at 310, pair at 810)" """
        got = starts(self.at(220, b6=True))
        assert got == {"a1": 420, "a2": 20, "a5": 200, "b1": 0, "b2": 420, "b3": 110, "b6": 520}
        got = starts(self.at(220, b6=True, scheme="yield"))
        assert (got["b6"], got["a1"], got["b2"]) == (310, 810, 810)

    def test_a_job_that_would_outlast_the_slot_may_not_start(self):
        """ "b3 requested 311 and a5 requested 221: neither may start; pair at 170, early; both at 270" """
        got = starts(self.at(220, b3=311, a5=221))
        assert got == {"a1": 170, "a2": 20, "a5": 270, "b1": 0, "b2": 170, "b3": 270}


class TestFigure2:
    """Hand-worked case 4: a1 of 6 of 10 nodes waits for b1, b2 waits for a2"""

    a, b = {1: (0, 100, 100, 6), 2: (5, 100, 100, 6)}, {2: (0, 100, 100, 6), 1: (5, 100, 100, 6)}

    @pytest.mark.parametrize(
        ("b_only", "first", "second"), [({}, 5, 105), ({"scheme": "hold", "mate_budget": "0", "slots": False}, 105, 5)]
    )
    def test_all_four_start(self, b_only, first, second):
        """ "all four start, at 5 and 105 s; with a holding B at 105 and 5" """
        got = starts(run(self.a, self.b, [(1, 1), (2, 2)], b_only=b_only))
        assert got == {"a1": first, "b1": first, "a2": second, "b2": second}
