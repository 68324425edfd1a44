"""What the trace tool reads from slurmctld's log: lines as Slurm 22.05.8 and 26.05.3 write them."""

from deploy.slurm.trace.controller_log import read_stories

LOG = """\
[2026-11-22T11:00:00.100] _slurm_rpc_submit_batch_job: JobId=1 InitPrio=4294901759 usec=959
[2026-11-22T11:00:00.200] _slurm_rpc_submit_batch_job: JobId=2 SLUID=sF7XM81FCV4A00 InitPrio=1 usec=760
[2026-11-22T11:00:01.000] sched/backfill: _start_job: Started JobId=1 in main on intrepid1
[2026-11-22T11:00:01.500] sched/backfill: _start_job: HETJOB: Started JobId=2 in main on intrepid2
[2026-11-22T11:00:02.000] Requeuing JobId=2
[2026-11-22T11:00:03.000] sched: Allocate JobId=2 NodeList=intrepid[1-2] #CPUs=2 Partition=main
[2026-11-22T11:00:04.000] _job_complete: JobId=1 WEXITSTATUS 0
[2026-11-22T11:00:04.001] _job_complete: JobId=1 done
"""


def test_starts_are_found_whichever_scheduler_and_version_notes_them() -> None:
    stories = read_stories(LOG)
    start = stories["1"].submitted - 0.1
    first, second = stories["1"], stories["2"]
    assert [round(at - start, 3) for at in (*first.selected, first.ended)] == [1.0, 4.001]
    assert [round(at - start, 3) for at in (*second.selected, *second.requeued)] == [1.5, 3.0, 2.0]
    assert round(second.allocated(start + 5), 3) == 0.5 + 2.0
