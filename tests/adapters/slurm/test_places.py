"""Places in the queue, by recorded output of squeue: in main 2, then 8 (also in short), 6 (an array), 3; in short 7."""

from pathlib import Path

from cosched_adapters.slurm import commands
from cosched_adapters.slurm.places import places, waiting_jobs

RECORDED = Path(__file__).with_name("recorded") / "queue-order.txt"


def test_jobs_come_by_priority_in_each_partition() -> None:
    found = list(waiting_jobs(commands.each_row(RECORDED.read_bytes())))
    assert places(found, "123678") == {"2": (1, 4), "6": (2, 4), "3": (4, 4), "8": (1, 2), "7": (2, 2)}


def test_a_job_that_is_held_or_delayed_has_no_place_and_is_in_nobody_s_way() -> None:
    found = list(waiting_jobs(commands.each_row(RECORDED.read_bytes())))
    assert {str(turn.job) for turn in found}.isdisjoint("45")
    assert places(found, "45") == {}
