"""One domain alone, computed by hand from scheduling.md: what the workloads of the reference suite do not have."""

import math

import pytest

from . import RefDomain, RefJob, blocks, simulate


def starts(jobs, nodes=10, **config):
    outcomes = simulate([RefDomain("A", nodes, [RefJob(*job) for job in jobs], **config)], [])
    return {job_id: outcome.start for (_, job_id), outcome in outcomes.items()}


# Columns: job id, submit, run, requested, nodes.


class TestPolicies:
    # At 100: job 2 has waited 90 of 90 s (r = 1, WFP 10), job 3 80 of 40 s (r = 2, WFP 8 * 5 = 40).
    jobs = ((1, 0, 100, 100, 10), (2, 10, 90, 90, 10), (3, 20, 40, 40, 5))

    @pytest.mark.parametrize(
        ("policy", "second", "third"),
        [
            (lambda wait, requested, _nodes: wait / requested, 140, 100),
            (lambda *job: math.nan if job[2] == 10 else -1e9, 140, 100),
        ],
    )
    def test_order(self, policy, second, third):
        assert starts(self.jobs, policy=policy) == {1: 0, 2: second, 3: third}


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

    def test_easy_spares_the_reserved_block(self):
        # Workload 27 with a job that is a second too long: it cannot be on unit 1 for 39 s from 62.
        jobs = [*self.fragmented, (4, 60, 30, 30, 20), (5, 61, 900, 900, 1), (6, 62, 39, 39, 1)]
        assert starts(jobs, 40, layout=(4, 10))[6] == 130

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
