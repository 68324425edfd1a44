"""One domain alone: order, backfilling and partitions, computed by hand from scheduling.md."""

import math

import pytest

from . import RefDomain, RefJob, blocks, simulate


def starts(jobs, nodes=10, **config):
    outcomes = simulate([RefDomain("A", nodes, [RefJob(*job) for job in jobs], **config)], [])
    return {job_id: outcome.start for (_, job_id), outcome in outcomes.items()}


# Columns: job id, submit, run, requested, nodes.


class TestEasy:
    def test_spare_nodes_are_used_until_they_are_used_up(self):
        # At 10: job 2 is reserved, shadow 100, extra 10 - 6 = 4, 5 nodes free. Job 3 takes 3 of the extra;
        # job 4 needs 2 and finds 1; job 5 takes that.
        got = starts(
            [(1, 0, 100, 100, 5), (2, 1, 50, 50, 6), (3, 10, 900, 900, 3), (4, 10, 900, 900, 2), (5, 10, 900, 900, 1)]
        )
        assert got == {1: 0, 2: 100, 3: 10, 4: 150, 5: 10}

    def test_a_job_may_end_exactly_at_the_shadow_time(self):
        """ "now + requested <= shadow" """
        jobs = [(1, 0, 100, 100, 6), (2, 1, 50, 50, 10)]
        assert starts([*jobs, (3, 10, 90, 90, 4)])[3] == 10
        assert starts([*jobs, (3, 10, 91, 91, 4)])[3] == 150

    def test_extra_counts_all_jobs_expected_to_end_exactly_at_the_shadow_time(self):
        # 2 free; 5 are enough already with the first of the two jobs; extra is 8 - 5 all the same.
        got = starts([(1, 0, 100, 100, 3), (2, 0, 100, 100, 3), (3, 1, 50, 50, 5), (4, 2, 900, 900, 2)], 8)
        assert got == {1: 0, 2: 0, 3: 100, 4: 2}

    def test_ends_are_expected_by_requested_time_and_the_reserved_job_starts_when_it_can(self):
        # Expected at 100, job 1 ends at 40. Job 3 had filled the gap by its request (10 + 90).
        got = starts([(1, 0, 40, 100, 6), (2, 1, 50, 50, 10), (3, 10, 35, 90, 4)])
        assert got == {1: 0, 2: 45, 3: 10}

    def test_only_the_first_that_does_not_fit_has_a_reservation(self):
        # Job 4 takes the 2 spare nodes of job 2 for so long that job 3 has to wait for it.
        jobs = [(1, 0, 100, 100, 6), (2, 1, 100, 100, 8), (3, 2, 200, 200, 10), (4, 3, 400, 400, 2)]
        assert starts(jobs) == {1: 0, 2: 100, 3: 403, 4: 3}


class TestOtherBackfill:
    jobs = ((1, 0, 100, 100, 6), (2, 1, 100, 100, 8), (3, 2, 200, 200, 10), (4, 3, 400, 400, 2))

    def test_conservative_delays_no_job_before(self):
        # Job 2 has [100, 200), job 3 [200, 400): job 4 cannot have [3, 403).
        assert starts(self.jobs, backfill="conservative") == {1: 0, 2: 100, 3: 200, 4: 400}

    def test_conservative_fills_a_gap_that_is_just_long_enough(self):
        assert starts([*self.jobs[:3], (4, 3, 197, 197, 2)], backfill="conservative")[4] == 3
        assert starts([*self.jobs[:3], (4, 3, 198, 198, 2)], backfill="conservative")[4] == 400

    def test_conservative_plans_afresh(self):
        # Job 1 ends at 50 instead of 100: everything moves forward, job 4 into the gap beside job 2.
        jobs = [(1, 0, 50, 100, 6), (2, 1, 100, 100, 8), (3, 2, 200, 200, 10), (4, 3, 190, 190, 5)]
        assert starts(jobs, backfill="conservative") == {1: 0, 2: 50, 3: 150, 4: 350}

    def test_none_stops_at_the_first_that_does_not_fit(self):
        assert starts([*self.jobs[:3], (4, 3, 1, 1, 1)], backfill="none") == {1: 0, 2: 100, 3: 200, 4: 400}


class TestPolicies:
    # At 100: job 2 has waited 90 of 90 s (r = 1, WFP 10), job 3 80 of 40 s (r = 2, WFP 8 * 5 = 40).
    jobs = ((1, 0, 100, 100, 10), (2, 10, 90, 90, 10), (3, 20, 40, 40, 5))

    @pytest.mark.parametrize(
        ("policy", "second", "third"),
        [
            ("fcfs", 100, 190),
            ("wfp", 140, 100),
            ("sjf", 140, 100),
            ("largest", 100, 190),
            (lambda wait, requested, _nodes: wait / requested, 140, 100),
            (lambda *job: math.nan if job[2] == 10 else -1e9, 140, 100),
        ],
    )
    def test_order(self, policy, second, third):
        assert starts(self.jobs, policy=policy) == {1: 0, 2: second, 3: third}

    def test_equal_scores_go_by_submit_time_then_trace_order(self):
        jobs = [(1, 5, 10, 10, 10), (7, 9, 10, 10, 10), (4, 8, 10, 10, 10), (3, 9, 10, 10, 10)]
        assert starts(jobs, policy=lambda *_: 0.0) == {1: 5, 4: 15, 7: 25, 3: 35}


class TestPartitions:
    def test_sizes_and_blocks_of_intrepid(self):
        """ "its blocks are 1, 2, 4, 8 or 16 midplanes aligned within a row, 2 rows, 4 rows, or the whole machine" """
        assert blocks.sizes(80) == [1, 2, 4, 8, 16, 32, 64, 80]
        assert blocks.all_blocks(32, 80) == [(0, 32), (32, 32)]
        assert blocks.all_blocks(64, 80) == [(0, 64)]
        assert blocks.all_blocks(16, 80)[-1] == (64, 16)
        assert blocks.rounded_up(513, 80, 512) == 1024
        assert blocks.rounded_up(65 * 512, 80, 512) == 40960

    # Four units of 10 nodes. Jobs 1, 2, 3 get the units 0, 1, 2; job 2 (8 nodes: a whole unit) ends at 50.
    # From then on the units 1 and 3 are free: 20 nodes, but no block of 2 units.
    fragmented = ((1, 0, 100, 100, 10), (2, 0, 50, 50, 8), (3, 0, 200, 200, 10))

    def test_a_fragmented_machine_has_no_block_for_nodes_that_are_free(self):
        assert starts([*self.fragmented, (4, 60, 30, 30, 20)], 40, layout=(4, 10))[4] == 100
        assert starts([*self.fragmented, (4, 60, 30, 30, 20)], 40)[4] == 60

    def test_easy_spares_the_reserved_block(self):
        # Job 4's blocks are free at 100 and at 200: the first, units 0 and 1, is reserved. Job 5 goes to unit
        # 3 although 1 is lower. Job 6 cannot be on unit 1 for 39 s from 62, but for 38.
        jobs = [*self.fragmented, (4, 60, 30, 30, 20), (5, 61, 900, 900, 1)]
        assert starts([*jobs, (6, 62, 38, 38, 1)], 40, layout=(4, 10)) == {1: 0, 2: 0, 3: 0, 4: 100, 5: 61, 6: 62}
        assert starts([*jobs, (6, 62, 39, 39, 1)], 40, layout=(4, 10))[6] == 130

    def test_blocks_free_at_the_same_time_the_lowest_is_reserved(self):
        # Units 0 and 2 end at 100: job 4 is to have 0 and 1, so a long job gets unit 3.
        jobs = [(1, 0, 100, 100, 1), (2, 0, 50, 50, 1), (3, 0, 100, 100, 1), (4, 60, 9, 9, 20)]
        got = starts([*jobs, (5, 61, 900, 900, 10), (6, 62, 900, 900, 10)], 40, layout=(4, 10))
        assert got == {1: 0, 2: 0, 3: 0, 4: 100, 5: 61, 6: 100}  # 6: on unit 2, which is free as well

    def test_conservative_takes_the_earliest_block(self):
        # Job 4 has units 0 and 1 in [100, 130), job 5 the same in [130, 160). Unit 3 is beside; unit 1 has 40
        # s.
        jobs = [*self.fragmented, (4, 60, 30, 30, 20), (5, 60, 30, 30, 20), (6, 60, 40, 40, 10)]
        got = starts([*jobs, (7, 60, 41, 41, 10)], 40, layout=(4, 10), backfill="conservative")
        assert got == {1: 0, 2: 0, 3: 0, 4: 100, 5: 130, 6: 60, 7: 60}
        got = starts([*jobs, (7, 60, 41, 41, 10), (8, 61, 1, 1, 40)], 40, layout=(4, 10), backfill="conservative")
        assert got[8] == 200
