"""The Slurm manager with real clusters: what is offered, and what becomes of the answers."""

import asyncio
import subprocess
import time
from pathlib import Path

import pytest

from cosched.conformance.adapters.reporting import PATIENCE
from cosched.core.protocol import named_mate
from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import Appeared, Offered, Refused, Relinked, Withdrawn
from cosched_adapters.manager import End, Ended, ManagerError, NoRequeueError
from tests.slurm.managed import BUSY, Counted, Managed, Place, places, rows

made, place = places(nodes=4, cpus=50)


async def test_what_is_reported_of_a_job_and_its_end(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await slurm.hold("exit 3", "--nodes=2")
        row = await slurm.row(job)
        appeared, offered = slurm.reports
        pair = named_mate("", "p")
        said = row.name, row.time_limit
        assert appeared == Appeared(job, row.submitted_at, 2, row.user, pair, *said, queue=row.partitions)
        assert isinstance(offered, Offered)
        assert (offered.nodes, offered.owner, offered.named, offered.can_yield) == (2, row.user, pair, True)
        assert offered.nodelist.startswith("intrepid")
        assert slurm.manager.nodes == 4
        assert await slurm.manager.start(job)
        end = await slurm.wait_for(Ended, job)
        assert (end.how, end.exit_code, end.succeeded) == (End.EXITED, 3, False)
        assert end.started_at is not None
        assert slurm.of(job)[-1] == "Ended"
        assert not await slurm.manager.start(job)


async def test_a_running_job_is_queued_again_and_offered_without_slurms_delay(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await slurm.hold(BUSY.format(go=slurm.cluster.jobs / "never"))
        assert await slurm.manager.start(job)
        await slurm.wait_for_state(job, "RUNNING")
        await slurm.manager.requeue(job)
        await slurm.wait_for(Offered, job, 2)
        assert slurm.of(job)[-2:] == ["Withdrawn", "Offered"]
        assert (await slurm.row(job)).restarts == 1
        await slurm.manager.requeue(job)  # a repetition does nothing to a job that waits
        assert slurm.known[job].phase is Phase.OFFERED
        await slurm.manager.cancel(job)


async def test_a_running_job_that_slurm_would_cancel_is_not_queued_again(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await slurm.hold(BUSY.format(go=slurm.cluster.jobs / "never"), "--no-requeue")
        assert await slurm.manager.start(job)
        await slurm.wait_for_state(job, "RUNNING")
        with pytest.raises(NoRequeueError, match="cannot be queued again by Slurm"):
            await slurm.manager.requeue(job)
        assert (await slurm.row(job)).state == "RUNNING"
        await slurm.manager.cancel(job)


async def test_a_job_that_is_to_begin_later_is_not_hastened(place: Place) -> None:
    async with Managed(*place, try_patience=0.5) as slurm:
        job = await slurm.submit("true", "--begin=now+1hour")
        await slurm.manager.look()
        before = await slurm.row(job)
        assert not await slurm.manager.try_start(job)
        after = await slurm.row(job)
        assert (after.state, after.eligible_at) == ("PENDING", before.eligible_at)
        await slurm.manager.cancel(job)


async def test_a_job_that_yields_leaves_its_nodes_to_others_until_its_mate_wants_it(place: Place) -> None:
    async with Managed(*place, backoff=300) as slurm:
        job = await slurm.hold("true", "--nodes=4", "--exclusive")
        go = slurm.cluster.jobs / "go"
        other = await slurm.submit(BUSY.format(go=go), "--nodes=4", "--exclusive", comment="--comment=none")
        priority = slurm.cluster.squeue("-h", "-j", job, "-o", "%Q")
        assert await slurm.manager.give_back(job)
        row = await slurm.row(job)
        assert row.eligible_at is not None
        assert 200 < row.eligible_at - time.time() <= 301
        await slurm.wait_for_state(other, "RUNNING")
        assert not await slurm.manager.try_start(job, 0.5)
        assert slurm.of(job) == ["Appeared", "Offered"]
        trying = asyncio.create_task(slurm.manager.try_start(job, PATIENCE))
        await asyncio.sleep(0)  # it waits from now on, so that no offer can come before
        go.touch()
        assert await trying
        assert slurm.of(job) == ["Appeared", "Offered"]
        assert slurm.cluster.squeue("-h", "-j", job, "-o", "%Q") == priority
        assert await slurm.manager.start(job)
        assert (await slurm.wait_for(Ended, job)).succeeded


async def test_an_offer_that_comes_too_late_for_a_try_is_reported(place: Place) -> None:
    async with Managed(*place) as slurm:
        other = await slurm.submit("sleep 600", "--nodes=4", "--exclusive", comment="--comment=none")
        await slurm.wait_for_state(other, "RUNNING")
        job = await slurm.submit()
        await slurm.manager.look()
        assert not await slurm.manager.try_start(job)
        await asyncio.to_thread(slurm.cluster.scancel, other)
        await slurm.wait_for(Offered, job)
        assert await slurm.manager.try_start(job)


async def test_a_released_job_without_competitors_is_offered_again_with_its_priority(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await slurm.hold("true", "--nodes=4", "--exclusive", "--nice=7")
        priority = slurm.cluster.squeue("-h", "-j", job, "-o", "%Q %y")
        assert await slurm.manager.release(job)
        await slurm.wait_for(Offered, job, times=2)
        assert slurm.cluster.squeue("-h", "-j", job, "-o", "%Q %y") == priority
        assert slurm.of(job) == ["Appeared", "Offered", "Offered"]


async def test_a_release_ends_when_the_job_is_cancelled_meanwhile(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await slurm.hold()
        released = asyncio.create_task(slurm.manager.release(job))
        while slurm.known[job].phase is not Phase.QUEUED:  # for a second or two: squeue might come too late
            await asyncio.sleep(0)
        await slurm.manager.cancel(job)
        assert await released
        assert (await slurm.wait_for(Ended, job)).how is End.CANCELLED


async def test_a_release_leaves_a_job_held_that_its_user_holds(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await slurm.hold()
        await slurm.scontrol("hold", job)
        assert await slurm.manager.release(job)
        row = await slurm.row(job)
        assert (row.state, row.reason[:7]) == ("PENDING", "JobHeld")  # by its user, or by an operator
        assert not await slurm.manager.try_start(job, 0.5)
        await slurm.scontrol("release", job)
        await slurm.wait_for(Offered, job, times=2)


async def test_a_held_job_that_an_operator_requeues_is_offered_again(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await slurm.hold()
        await slurm.scontrol("requeue", job)
        await slurm.wait_for(Withdrawn, job)
        await slurm.wait_for(Offered, job, times=2)
        assert await slurm.manager.start(job)
        assert (await slurm.wait_for(Ended, job)).succeeded


async def test_a_held_job_may_be_changed_and_its_new_mate_counts_from_its_next_turn_on(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await slurm.hold("true", "--time=9")
        await slurm.scontrol("update", f"jobid={job}", "timelimit=7", "nice=5", "comment=cosched:mate=eureka/5")
        assert await slurm.manager.give_back(job, 1)
        again = await slurm.wait_for(Offered, job, times=2)
        assert again.named == named_mate("eureka", mate="5")
        assert slurm.of(job) == ["Appeared", "Offered", "Relinked", "Offered"]
        await slurm.scontrol("update", f"jobid={job}", "comment=cosched:nothing")
        assert await slurm.manager.give_back(job, 1)
        assert "cosched:pair=NAME" in (await slurm.wait_for(Refused, job)).reason
        assert (await slurm.wait_for(Relinked, job, times=2)).named is None
        assert (await slurm.wait_for(Ended, job)).succeeded


async def test_jobs_that_slurm_would_cancel_can_only_hold(place: Place) -> None:
    async with Managed(*place) as slurm:
        cluster = slurm.cluster
        started = [
            subprocess.Popen(
                [command[0], "--comment=cosched:pair=p", *command[1:]],
                env=cluster.environment,
                cwd=cluster.jobs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command in (("sbatch", "--no-requeue", "--wrap=true"), ("srun", "true"), ("salloc", "true"))
        ]
        await slurm.until(lambda: len(slurm.offers) == 3, "their offers")
        for offered in slurm.offers:
            assert not offered.can_yield
            for give_back in (slurm.manager.give_back, slurm.manager.release):
                with pytest.raises(ManagerError, match="cancel"):
                    await give_back(offered.job_id)
            assert await slurm.manager.start(offered.job_id)
        for offered in slurm.offers:
            assert (await slurm.wait_for(Ended, offered.job_id)).succeeded
        assert [await asyncio.to_thread(process.wait) for process in started] == [0, 0, 0]


async def test_arrays_of_one_mate_and_components_with_others_are_refused_and_start_alone(place: Place) -> None:
    async with Managed(*place) as slurm:
        array = await slurm.submit("true", "--array=1-3", comment="--comment=cosched:mate=eureka/1")
        components = "#!/bin/sh\n#SBATCH --ntasks=1\n#SBATCH hetjob\n#SBATCH --comment=cosched:pair=p\ntrue"
        het = await slurm.submit(components, comment="--ntasks=1")
        for name, kind in ((array, "array"), (het, "heterogeneous")):
            assert kind in (await slurm.wait_for(Refused, name)).reason
            await slurm.wait_for_state(name, "COMPLETED")
        await slurm.manager.look()
        assert {report.job_id for report in slurm.reports} == {array, het}  # refused, and gone


async def test_a_heterogeneous_job_holds_yields_and_starts_as_one(place: Place) -> None:
    async with Managed(*place) as slurm:
        first = await slurm.submit("true", "--nodes=1", ":", "--nodes=2")
        second = str(int(first) + 1)
        offered = await slurm.wait_for(Offered, first)
        assert (offered.nodes, offered.can_yield) == (3, True)
        await slurm.wait_for_state(second, "RUNNING")
        assert (await slurm.row(first)).state == "CONFIGURING"
        assert await slurm.manager.give_back(first)
        for job in (first, second):
            assert (await slurm.wait_for_state(job, "PENDING")).restarts == 1
        await slurm.manager.hasten(first)
        await slurm.wait_for(Offered, first, times=2)
        assert await slurm.manager.start(first)
        assert (await slurm.wait_for(Ended, first)).succeeded
        await slurm.wait_for_state(second, "COMPLETED")
        assert slurm.of(second) == []


async def test_an_order_for_one_task_of_an_array_is_for_no_other(place: Place) -> None:
    """The last task has the array's own id, by which Slurm's commands mean all of its tasks."""
    async with Managed(*place) as slurm:
        array = await slurm.submit("true", "--array=1-3", "--begin=now+1hour")
        assert await slurm.manager.look()
        assert await slurm.manager.look()
        tasks = {known.named: job for job, known in slurm.known.items() if known.task is not None}
        assert tasks.keys() == {named_mate("", f"p[{number}]") for number in (1, 2, 3)}
        assert tasks[named_mate("", "p[3]")] == array
    async with Managed(*place) as slurm:
        assert {*tasks.values()} <= slurm.found.keys()
        assert await slurm.manager.look()
        assert not {*tasks.values()} & {report.job_id for report in slurm.reports if isinstance(report, Ended)}
        with pytest.raises(ValueError, match="a job array names its tasks' mates"):
            await slurm.manager.relink(array, named_mate("eureka", "q"))
        await slurm.manager.relink(array, named_mate("eureka", "q[3]"))
        await slurm.manager.hasten(array)
        comments = {row.job_id: row.comment for row in await slurm.manager._slurm.details([array])}
        assert comments == dict.fromkeys(tasks.values(), "cosched:pair=p") | {array: "cosched:group=q@eureka"}
        await slurm.manager.cancel(array)
        await slurm.wait_for(Ended, array)
        assert {(await slurm.row(job)).state for job in tasks.values() if job != array} == {"PENDING"}


async def test_a_comment_that_cannot_be_read_lets_the_job_start_alone_and_says_so(place: Place) -> None:
    async with Managed(*place) as slurm:
        comments = ("cosched:pair=", "cosched:pair=a cosched:pair=b", "cosched:mate=eureka")
        jobs = await asyncio.gather(*(slurm.submit(comment=f"--comment={comment}") for comment in comments))
        for job in jobs:
            assert "cosched:" in (await slurm.wait_for(Refused, job)).reason
            await slurm.wait_for_state(job, "COMPLETED")
            assert slurm.of(job) == ["Refused"]


async def test_a_forged_comment_says_nothing_of_other_jobs(place: Place) -> None:
    async with Managed(*place) as slurm:
        victim = await slurm.submit("true", "--hold")
        await slurm.manager.look()
        (row,) = rows(slurm.cluster, victim)
        line = f"{victim:<11}{victim:<11}N/A     N/A        CANCELLED"
        forged = f"cosched:pair=q $(exit 1) `\n{line}\nJobId={victim} JobState=CANCELLED é\x01"
        forger = await slurm.hold("true", comment=f"--comment={forged}")
        assert await slurm.manager.look()
        assert slurm.of(victim) == ["Appeared"]
        assert slurm.known[victim].phase is Phase.QUEUED
        assert slurm.known[forger].named == named_mate("", "q")
        assert rows(slurm.cluster, victim) == [row]


async def test_a_turn_that_was_given_back_just_before_the_service_died_is_shortened(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await slurm.hold("true")
        dying = asyncio.create_task(slurm.manager.give_back(job))
        while slurm.known[job].phase is Phase.OFFERED:
            await asyncio.sleep(0)
    assert isinstance((await asyncio.gather(dying, return_exceptions=True))[0], asyncio.CancelledError)
    row = await slurm.wait_for_state(job, "PENDING")
    assert row.eligible_at is not None
    assert 110 < row.eligible_at - row.submitted_at < 125
    async with Managed(*place) as slurm:
        await slurm.until(lambda: rows(slurm.cluster, job)[0].eligible_at < row.submitted_at + 60, "an earlier start")


async def test_two_managers_cannot_serve_the_same_hooks(place: Place) -> None:
    async with Managed(*place):
        with pytest.raises(ManagerError, match=r"the hooks cannot be served at .*hooks\.sock: another process"):
            await Managed(*place).manager.open()


async def test_the_queue_is_looked_at_once_a_second_at_most(place: Place, tmp_path: Path) -> None:
    counted = Counted(tmp_path)
    async with Managed(*place, bin=str(tmp_path)) as slurm:
        await slurm.submit("true", "--hold")
        before, began = len(counted.calls("squeue")), time.monotonic()
        for _ in range(3):
            assert all(await asyncio.gather(*(slurm.manager.look() for _ in range(50))))
        looks = [call for call in counted.calls("squeue")[before:] if " -j " not in call]
        assert 3 <= len(looks) <= 1 + (time.monotonic() - began)
        assert len(counted.calls("squeue")) == before + len(looks) + 1  # what the new job is


@pytest.mark.soak
async def test_a_hundred_jobs_are_offered_at_once_yield_at_once_and_start(place: Place, tmp_path: Path) -> None:
    counted = Counted(tmp_path)
    async with Managed(*place, bin=str(tmp_path)) as slurm:
        await asyncio.to_thread(slurm.cluster.run, "sh", "-c", _A_HUNDRED)
        await slurm.until(lambda: len(slurm.offers) >= 100, "100 offers")
        jobs = list(slurm.known)
        told = [slurm.of(job) for job in jobs if slurm.of(job)]
        assert told == [["Appeared", "Offered"]] * 100
        jobs = [job for job in jobs if slurm.of(job)]
        assert all(await asyncio.gather(*(slurm.manager.give_back(job, 1) for job in jobs)))
        assert len(counted.calls("scontrol update")) <= 150
        await slurm.until(lambda: len(slurm.offers) >= 200, "100 more")
        assert all(await asyncio.gather(*(slurm.manager.start(job) for job in jobs)))
        for job in jobs:
            assert (await slurm.wait_for(Ended, job)).succeeded
        assert len(counted.calls("squeue")) <= 60


_A_HUNDRED = """
printf '#!/bin/sh\\ntrue\\n' > job.sh
for i in $(seq 100); do sbatch --parsable --hold --comment=cosched:pair=$i job.sh; done > ids
scontrol release $(paste -sd, ids)
"""
