"""Arrays that name mates beside Slurm 25.11 and later: recorded from 26.05.3.

Job 2 is such an array, whose tasks were made jobs of their own: its last task, 3, and jobs 4 and 5. The array of job 3
names no mate, job 1 is no array.
"""

from __future__ import annotations

from pathlib import Path

from cosched_adapters.slurm import commands
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.wants import WHOLE
from tests.adapters.slurm.test_calls import RECORDED, slurm

TASKS = {"2": 3, "4": 1, "5": 2}
SCRIPT = f"""echo "$@" >> {{log}}
case "$(basename $0) $*" in
    *'show config') sed 's/ 22.05.8/ 26.05.3/' {RECORDED}/config.txt ;;
    *scontrol*|*sinfo*) ;;
    *'-r -j 2 '*Comment*) cat {RECORDED}/array-details-tasks-26.05.txt ;;
    *'-r -j 2 -O'*Account*) cat {RECORDED}/array-queue-tasks-26.05.txt ;;
    *'-r -j 2 -O'*Exclusive*) cat {RECORDED}/array-counts-tasks-26.05.txt ;;
    *'-r -j 2 -o'*) cat {RECORDED}/array-machine-tasks-26.05.txt ;;
    *'-j 2 '*) cat {RECORDED}/array-details-26.05.txt ;;
    *-O*Account*) cat {RECORDED}/array-queue-26.05.txt ;;
    *-O*Exclusive*) cat {RECORDED}/array-counts-26.05.txt ;;
    *-o*) cat {RECORDED}/array-machine-26.05.txt ;;
esac
"""


def replayed(folder: Path) -> Slurm:
    return slurm(folder, SCRIPT.format(log=folder / "log"))


async def test_tasks_that_are_jobs_have_rows_of_their_own_where_squeue_shows_one_for_all(tmp_path: Path) -> None:
    here = replayed(tmp_path)
    assert {row.job_id: row.task for row in await here.queue()} == {"1": None, "2": None, "3": None}
    found = await here.details(["2"])  # as after a restart: nobody knows the array yet
    assert {row.job_id: row.task for row in found} == TASKS
    assert {row.comment for row in found} == {"cosched:pair=p"}
    assert {row.job_id: row.task for row in await here.queue()} == {"1": None, "3": None} | TASKS


async def test_a_change_of_the_last_task_is_for_no_other(tmp_path: Path) -> None:
    here = replayed(tmp_path)
    await here.details(["2"])
    await here.cancel("2")
    assert (tmp_path / "log").read_text().splitlines()[-1] == "2_3"


async def test_each_of_them_is_in_the_profile_with_what_it_asks_for(tmp_path: Path) -> None:
    here = replayed(tmp_path)
    await here.config()
    await here.part("2", [1, 2, 3], "cosched:pair=p")
    await here.queue()
    asked = {job.job_id: job.wants.asks for job in (await here.plan(0)).queue}  # job 1 is held
    assert asked.keys() == {"3"} | TASKS.keys()
    assert WHOLE not in asked.values()


async def test_an_array_that_is_one_job_stays_one(tmp_path: Path) -> None:
    rows = commands.parted(commands.each_row((RECORDED / "array-before-26.05.txt").read_bytes(), comments=True))
    assert [(row.job_id, row.task) for row in rows] == [("2", None)]
    without_mates = slurm(tmp_path, f"echo $* >> {tmp_path}/log; cat {RECORDED}/array-queue-26.05.txt")
    for _ in range(2):
        await without_mates.queue()
    assert " -r " not in (tmp_path / "log").read_text()
