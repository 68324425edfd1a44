"""What Grid Engine 8.1.9 has printed, as the adapter reads it."""

from dataclasses import replace

import pytest

from cosched_adapters.gridengine import commands
from cosched_adapters.gridengine.batch_job import BatchJob
from cosched_adapters.gridengine.commands import Record
from cosched_adapters.gridengine.ends import ended
from cosched_adapters.manager import End

STATES = b"""<?xml version='1.0'?>
<job_info><queue_info><job_list state="running"><JB_job_number>1</JB_job_number><state>dr</state><slots>2</slots>
</job_list><job_list state="running"><JB_job_number>2</JB_job_number><state>r</state><slots>1</slots><tasks>1</tasks>
<JAT_start_time>2026-11-29T02:44:05</JAT_start_time>
</job_list></queue_info><job_info><job_list state="pending"><JB_job_number>3</JB_job_number><state>hqw</state>
<slots>1</slots></job_list></job_info></job_info>"""
DETAILS = b"""==============================================================
job_number:                 1
submission_time:            Sun Nov 29 02:44:01 2026
owner:                      ann
account:                    climate
hard resource_list:         h_rt=600
job_name:                   job
parallel environment:  nodes range: 2
context:                    x=1,pair=run7,or_alone=true
scheduling info:            queue instance "main.q@localhost" dropped because it is full
==============================================================
job_number:                 2
owner:                      ann
account:                    sge
job-array tasks:            1-2:1
context:                    pair=x
==============================================================
job_number:                 3
owner:                      bob
account:                    sge
parallel environment:  nodes range: 3
"""
KEPT = BatchJob(
    job_id="1", owner="ann", named=None, words={}, nodes=2, submitted=0, time_limit=600, run="a", started=1000.5
)


def test_jobs_are_read_with_their_words_limits_and_states() -> None:
    known = {job["job_number"]: job for job in commands.each_known(DETAILS)}
    held, array, queued = commands.each_job(STATES, known)
    assert (held.owner, held.slots, held.time_limit, held.account) == ("ann", 2, 600, "climate")
    assert (held.words, held.deleted, held.pending) == ({"pair": "run7", "or_alone": "true"}, True, False)
    assert (array.array, array.account, array.turn) == (True, "", "2026-11-29T02:44:05")
    assert (queued.state, queued.pending, queued.words) == ("hqw", True, {})


def test_words_are_added_before_others_are_removed_since_the_other_order_ends_the_qmaster() -> None:
    changed = commands.change("7", {"pair": "", "mate": "eureka:17", "group": ""})
    assert changed == ["qalter", "-ac", "mate=eureka:17", "-dc", "pair,group", "7"]


def test_a_requeue_is_no_end() -> None:
    assert ended(KEPT, [Record(commands.RESCHEDULED, "rescheduling", 0, None, None)]) is None


@pytest.mark.parametrize(
    ("failed", "status", "ran", "deleted", "how"),
    [
        (0, 0, 5, False, End.EXITED), (0, 7, 5, False, End.EXITED), (100, 137, 5, True, End.CANCELLED),
        (100, 137, 5, False, End.SIGNALLED), (100, 137, 600, False, End.TIMEOUT), (26, 0, 5, False, End.LOST),
    ],
)  # fmt: skip
def test_ends_are_told_apart(failed: int, status: int, ran: int, deleted: bool, how: End) -> None:
    kept = replace(KEPT, deleted=deleted)
    end = ended(kept, [Record(25, "rescheduling", 0, None, None), Record(failed, "", status, 1000, 1000 + ran)])
    assert end is not None
    assert end.how is how
    assert end.started_at == 1_000_500_000_000


def test_a_silent_qmaster_is_told_from_a_refusal() -> None:
    silent = commands.failure("qstat", 1, b"error: commlib error: got select error (Connection refused)")
    assert isinstance(silent, commands.UnavailableError)
    assert isinstance(commands.failure("qdel", 1, b""), commands.RefusedError)


def test_a_job_that_is_not_restartable_is_refused_with_the_exit_code_0() -> None:
    assert commands.is_not_restartable(b"root - job 7 is not restartable\n")
    assert not commands.is_not_restartable(b"Pushed rescheduling of job 7 on host localhost\n")
