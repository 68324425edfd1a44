"""What is known of jobs, told by rows of squeue and words of hooks in every order."""

import asyncio
import time
from dataclasses import replace

import pytest

from cosched.core.protocol import named_mate
from cosched_adapters import slices
from cosched_adapters.batch_job import SECOND, Phase
from cosched_adapters.batch_system import JobOutlook, Offered, Resized
from cosched_adapters.manager import End, Ended, Started
from cosched_adapters.slurm.commands import JobRow
from tests.adapters.slurm.desk import END, OFFER, ROW, RUNNING, Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.look(ROW)
    return desk


def test_a_job_appears_with_its_partitions_and_is_offered_with_that_in_which_it_was_chosen() -> None:
    desk = Desk()
    desk.look(replace(ROW, partitions="debug,batch"))
    desk.look(replace(ROW, partitions="batch"))
    desk.book.offered(OFFER)
    assert [report.queue for report in desk.reports] == ["debug,batch", "batch"]


def test_others_have_their_turn_while_a_look_goes_through_many_jobs_which_may_go_meanwhile(monkeypatch) -> None:
    monkeypatch.setattr(slices, "SLICE", -1)
    desk, jobs = Desk(), [str(number) for number in range(1, 101)]
    desk.look(*(replace(ROW, job_id=job) for job in jobs))
    desk.now += 1

    async def look() -> int:
        seen = asyncio.create_task(desk.book.see([replace(RUNNING, job_id=job) for job in jobs], desk.now))
        turns = 0
        while not seen.done():
            turns += 1
            await asyncio.sleep(0)
            desk.book.jobs.pop("100", None)
        return turns

    assert asyncio.run(look()) >= len(jobs)
    assert sum(type(report) is Started for report in desk.reports) == 99


def test_an_offer_of_an_unknown_job_waits_until_it_is_known() -> None:
    desk = Desk()
    assert not desk.book.offered(OFFER)
    assert desk.reports == []
    desk.book.learn(ROW)
    assert desk.kinds == ["Appeared", "Offered"]


def test_an_offer_that_is_withdrawn_before_it_was_known_is_none() -> None:
    desk = Desk()
    desk.book.offered(OFFER)
    desk.book.withdrawn("7")
    desk.book.learn(replace(ROW, state="CANCELLED"))
    assert desk.kinds == ["Appeared", "Ended"]


def test_rows_that_are_older_than_a_hooks_word_say_nothing(desk: Desk) -> None:
    began = desk.now = 5.0
    desk.now = 6.0
    desk.book.offered(OFFER)
    assert asyncio.run(desk.book.see([ROW], began)) == []
    assert desk.book.jobs["7"].phase is Phase.OFFERED
    assert desk.told == []


def test_a_job_that_was_requeued_behind_its_hook_is_withdrawn_and_the_hook_ended(desk: Desk) -> None:
    desk.book.offered(OFFER)
    requeued = replace(ROW, restarts=1, submitted_at=1005, reason="Cleaning")
    assert desk.look(requeued) == [requeued]
    assert desk.told == [("end", "7", None)]
    desk.book.offered(replace(OFFER, restarts=1))
    assert desk.kinds == ["Appeared", "Offered", "Withdrawn", "Offered"]


def test_a_job_that_was_requeued_before_its_hook_was_killed_is_to_be_told_to_begin(desk: Desk) -> None:
    """As by `scontrol requeue` and then a restart of slurmctld: else it would wait for two minutes."""
    desk.book.offered(OFFER)
    desk.kill(OFFER)
    assert desk.look(replace(ROW, state="CONFIGURING")) == []
    requeued = replace(ROW, restarts=1, submitted_at=1005, reason="BeginTime")
    assert desk.look(requeued) == [requeued]
    assert desk.look(requeued) == []
    assert desk.kinds == ["Appeared", "Offered", "Withdrawn"]


def test_a_job_that_was_found_chosen_keeps_its_nodes_until_it_is_queued() -> None:
    desk = Desk()
    chosen = replace(ROW, state="CONFIGURING", reason="None")
    desk.look(chosen)
    desk.look(chosen)
    assert desk.book.jobs["7"].phase is Phase.CHOSEN
    requeued = replace(ROW, restarts=1, submitted_at=1005)
    assert desk.look(requeued) == [requeued]
    assert desk.look(requeued) == []
    assert desk.kinds == ["Appeared", "Withdrawn"]
    assert desk.told == []


def test_a_job_that_was_found_chosen_is_offered_when_its_hook_comes() -> None:
    desk = Desk()
    desk.look(replace(ROW, state="CONFIGURING"))
    desk.book.offered(OFFER)
    assert desk.kinds == ["Appeared", "Offered"]


def test_only_a_job_that_should_have_waited_is_warned_of_when_it_starts(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.book.jobs["7"].named = None  # unlinked
    desk.look(RUNNING, replace(RUNNING, job_id="8"))
    assert desk.kinds == ["Appeared", "Appeared", "Started", "Started"]
    assert caplog.messages == ["job 8 has started without permission"]


def test_a_job_whose_hook_was_killed_is_requeued_where_slurm_takes_it_for_running(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """Slurm 26.05, when slurmctld is restarted: the job shows RUNNING, though no node was ever told of it."""
    desk.book.offered(OFFER)
    desk.kill(OFFER)
    assert desk.requeued(RUNNING) == ["7"]
    assert desk.requeued(RUNNING) == []
    assert desk.kinds == ["Appeared", "Offered", "Withdrawn"]
    assert caplog.messages == ["job 7 is requeued: Slurm has killed its hook (a restart of slurmctld?)"]
    requeued = replace(ROW, restarts=1, submitted_at=1020)
    assert desk.look(requeued) == [requeued]  # to be told to begin now
    desk.book.offered(replace(OFFER, restarts=1))
    assert desk.kinds == ["Appeared", "Offered", "Withdrawn", "Offered"]
    desk.let_go()
    assert desk.requeued(replace(RUNNING, restarts=1)) == []
    assert desk.kinds[-1] == "Started"


def test_a_job_that_was_let_go_and_whose_hook_was_killed_before_it_heard_is_requeued(desk: Desk) -> None:
    desk.book.offered(OFFER)
    desk.let_go()
    assert desk.requeued(RUNNING) == []
    desk.kill(OFFER)  # noticed late
    assert desk.requeued(RUNNING) == ["7"]
    desk.look(replace(ROW, restarts=1, submitted_at=1020))
    assert desk.kinds == ["Appeared", "Offered", "Started", "Withdrawn"]


def test_a_job_that_gave_its_turn_up_and_runs_is_requeued(desk: Desk) -> None:
    desk.book.offered(OFFER)
    desk.book.jobs["7"].phase = Phase.GIVING_BACK
    assert desk.requeued(RUNNING) == ["7"]
    desk.look(replace(ROW, restarts=1, submitted_at=1020))
    assert desk.kinds == ["Appeared", "Offered"]


def test_a_job_whose_hook_says_that_it_lets_it_start_has_started(desk: Desk) -> None:
    """Told by an operator, or out of patience: whichever of both is heard first."""
    desk.book.offered(OFFER)
    desk.kill(OFFER)
    desk.book.starting("7", 0)
    assert desk.requeued(RUNNING) == []
    assert desk.kinds == ["Appeared", "Offered", "Withdrawn", "Started"]


def test_a_job_begins_when_its_hook_lets_it_start_or_later_if_slurm_says_so(desk: Desk) -> None:
    desk.book.offered(OFFER)
    desk.let_go()
    assert desk.kinds[-1] == "Offered"
    desk.book.jobs["7"].started = told = time.time() + 60  # the agreed instant, until which it waits at its gate
    desk.book.starting("7", 0)
    desk.look(replace(RUNNING, started_at=int(told) + 1))
    desk.look(replace(RUNNING, started_at=int(told) + 1))
    begins = [report.at / SECOND for report in desk.reports if isinstance(report, Started)]
    assert begins == pytest.approx([told, told])
    late = Desk()
    late.look(ROW)
    late.book.offered(OFFER)
    late.let_go()
    late.look(replace(RUNNING, started_at=1015))
    assert late.reports[-1] == Started("7", 1015 * SECOND)


def test_a_job_whose_hook_was_killed_and_called_again_is_offered_again(desk: Desk) -> None:
    """Slurm 22.05, when slurmctld is restarted."""
    desk.book.offered(OFFER)
    desk.kill(OFFER)
    assert desk.requeued(replace(ROW, state="CONFIGURING")) == []
    desk.book.offered(OFFER)
    desk.let_go()
    assert desk.requeued(RUNNING) == []
    assert desk.kinds == ["Appeared", "Offered", "Withdrawn", "Offered", "Started"]


@pytest.mark.parametrize("first_seen", ["CONFIGURING", "RUNNING"])
def test_a_job_is_requeued_whose_hook_was_killed_before_the_service_came(first_seen: str) -> None:
    """The host was booted again: slurmctld was ended in order while no service ran."""
    desk = Desk()
    desk.noted = ("7", 0)
    desk.look(replace(RUNNING, state=first_seen))
    assert desk.requeued(RUNNING) == ["7"]
    requeued = replace(ROW, restarts=1, submitted_at=1020)
    assert desk.look(requeued) == [requeued]
    desk.book.offered(replace(OFFER, restarts=1))
    desk.let_go()
    assert desk.requeued(replace(RUNNING, restarts=1)) == []
    lost = ["Withdrawn"] if first_seen == "CONFIGURING" else []  # it had its nodes when the service came
    assert desk.kinds == ["Appeared", *lost, "Offered", "Started"]


@pytest.mark.parametrize("noted", [None, ("7", 1)])
def test_a_job_has_started_whose_hook_let_it_start_before_the_service_came(noted: tuple[str, int] | None) -> None:
    """Out of patience, say: it has removed its note. One of another turn says nothing."""
    desk = Desk()
    desk.noted = noted
    assert desk.requeued(RUNNING) == []
    assert desk.kinds == ["Appeared", "Started"]


def test_a_note_says_nothing_of_a_job_that_is_known_to_run(desk: Desk) -> None:
    desk.look(RUNNING)
    desk.noted = ("7", 0)
    assert desk.requeued(RUNNING) == []


def test_a_job_that_slurm_cannot_requeue_has_started(desk: Desk) -> None:
    desk.book.offered(OFFER)
    desk.kill(OFFER)
    assert desk.requeued(replace(RUNNING, can_yield=False)) == []
    assert desk.kinds[-1] == "Started"


def test_a_job_that_runs_before_the_end_of_its_hook_is_noticed_has_not_started_yet(desk: Desk) -> None:
    desk.book.offered(OFFER)
    assert desk.requeued(RUNNING) == []
    assert desk.kinds == ["Appeared", "Offered"]
    desk.kill(OFFER)
    assert desk.requeued(RUNNING) == ["7"]


def test_an_offer_that_comes_again_after_the_start_is_started_again(desk: Desk) -> None:
    desk.book.offered(OFFER)
    desk.let_go()
    desk.book.offered(OFFER)
    assert desk.told == [("start", "7", 1010.0)]
    assert desk.kinds == ["Appeared", "Offered"]


def test_a_job_that_was_requeued_after_its_start_is_withdrawn_and_offered_anew(desk: Desk) -> None:
    desk.book.offered(OFFER)
    desk.let_go()
    desk.book.offered(replace(OFFER, restarts=1))
    assert desk.kinds == ["Appeared", "Offered", "Withdrawn", "Offered"]
    assert desk.told == []


def test_a_late_word_of_an_earlier_requeue_withdraws_nothing(desk: Desk) -> None:
    desk.book.offered(OFFER)
    assert desk.book.ended(replace(END, state="PENDING"))
    desk.let_go()
    assert desk.book.ended(replace(END, state="PENDING", ended_at=1009))
    assert desk.kinds == ["Appeared", "Offered"]
    assert not desk.book.ended(replace(END, state="PENDING", ended_at=1012))
    assert desk.kinds == ["Appeared", "Offered", "Withdrawn"]


@pytest.mark.parametrize("state", ["NODE_FAIL", "PREEMPTED", "BOOT_FAIL"])
def test_an_end_that_may_be_a_requeue_is_left_to_squeue(desk: Desk, state: str) -> None:
    assert desk.book.ended(replace(END, state=state))
    assert desk.kinds == ["Appeared"]
    desk.look(replace(ROW, state=state, ended_at=1020))
    assert desk.kinds == ["Appeared", "Ended"]


def test_a_change_of_its_size_is_no_end(desk: Desk) -> None:
    """Slurm calls JobCompLoc for each size that a job had, with JOBSTATE=RESIZING."""
    desk.look(RUNNING)
    assert desk.book.ended(replace(END, state="RESIZING"))
    desk.look(replace(RUNNING, nodes=1))
    desk.look(replace(RUNNING, nodes=1))
    assert desk.kinds == ["Appeared", "Started", "Resized"]
    assert desk.reports[-1] == Resized("7", 1)


def test_a_size_that_changed_while_a_job_held_is_told_when_it_runs(desk: Desk) -> None:
    desk.book.offered(OFFER)
    desk.look(replace(ROW, state="CONFIGURING", nodes=1))
    desk.let_go()
    desk.look(replace(RUNNING, nodes=1))
    assert desk.kinds == ["Appeared", "Offered", "Started", "Resized"]


def test_an_end_is_reported_once_whoever_tells_it(desk: Desk) -> None:
    desk.look(RUNNING)
    desk.book.ended(END)
    desk.book.ended(END)
    desk.look(replace(RUNNING, state="COMPLETED"))
    assert desk.kinds == ["Appeared", "Started", "Ended"]
    (end,) = (report for report in desk.reports if isinstance(report, Ended))
    assert (end.started_at, end.at, end.succeeded) == (1010 * 10**9, 1020 * 10**9, True)
    desk.look()
    assert desk.book.jobs == {}


@pytest.mark.parametrize(
    ("state", "exit_code", "how", "code", "signal"),
    [
        ("COMPLETED", "0:0", End.EXITED, 0, None), ("FAILED", "3:0", End.EXITED, 3, None),
        ("FAILED", "0:9", End.SIGNALLED, None, 9), ("OUT_OF_MEMORY", "0:125", End.SIGNALLED, None, 125),
        ("TIMEOUT", "0:15", End.TIMEOUT, None, None), ("DEADLINE", "0:0", End.TIMEOUT, None, None),
        ("CANCELLED", "0:15", End.CANCELLED, None, None), ("SOMETHING_NEW", "", End.LOST, None, None),
    ],
)  # fmt: skip
def test_ends(desk: Desk, state: str, exit_code: str, how: End, code: int | None, signal: int | None) -> None:
    desk.look(RUNNING)
    desk.book.ended(replace(END, state=state, exit_code=exit_code))
    end = desk.reports[-1]
    assert isinstance(end, Ended)
    assert (end.how, end.exit_code, end.signal) == (how, code, signal)


@pytest.mark.parametrize("by_hook", [True, False])
def test_a_hook_that_outlives_its_job_is_ended_and_not_as_one_that_fails(desk: Desk, by_hook: bool) -> None:
    """Slurm does not kill a hook that it is just about to call as the job is cancelled, and requeues if it fails."""
    desk.book.offered(OFFER)
    if by_hook:
        desk.book.ended(replace(END, state="CANCELLED", started_at=None))
    desk.look(replace(ROW, state="CANCELLED"))
    assert desk.told == [("start", "7", None)]
    assert desk.kinds == ["Appeared", "Offered", "Ended"]


@pytest.mark.parametrize("late", [True, False])
def test_a_job_that_was_cancelled_as_it_gave_its_turn_up_and_comes_back_is_cancelled_again(
    desk: Desk, late: bool
) -> None:
    """Slurm requeues a job whose hook has failed, whatever has become of the job; the word of its end may come late."""
    requeued, cancelled = replace(ROW, restarts=1, submitted_at=1005), replace(END, state="CANCELLED", started_at=None)
    desk.book.offered(OFFER)
    desk.book.jobs["7"].phase, desk.book.jobs["7"].given_back = Phase.GIVING_BACK, 0
    if late:
        desk.look(requeued)
    desk.book.ended(cancelled)
    assert desk.requeued(replace(ROW, state="CANCELLED")) == []
    assert desk.requeued(requeued) == ["7"]
    assert desk.requeued(requeued) == []
    assert desk.kinds == ["Appeared", "Offered", "Ended"]


def test_a_job_that_was_cancelled_and_that_its_user_has_queued_again_is_left_alone(desk: Desk) -> None:
    desk.book.jobs["7"].given_back = 0
    desk.look(replace(ROW, restarts=1, submitted_at=1005))
    desk.book.ended(replace(END, state="CANCELLED", started_at=None))
    assert desk.requeued(replace(ROW, restarts=2, submitted_at=1010)) == []


@pytest.mark.parametrize("rows", [[], [replace(ROW, submitted_at=1001)]])
def test_a_hook_of_a_job_that_is_lost_or_of_another_with_its_id_is_called_again(desk: Desk, rows: list[JobRow]) -> None:
    desk.book.offered(OFFER)
    desk.look(*rows)
    assert desk.told == [("end", "7", None)]


def test_a_job_that_slurm_does_not_know_any_more_is_lost(desk: Desk) -> None:
    desk.look()
    end = desk.reports[-1]
    assert isinstance(end, Ended)
    assert (end.how, end.started_at) == (End.LOST, None)


def test_an_id_that_slurm_gives_to_another_job_is_another_job(desk: Desk) -> None:
    desk.look(replace(ROW, submitted_at=1001, comment="cosched:pair=q"))
    assert desk.kinds == ["Appeared", "Ended", "Appeared"]
    assert desk.book.ended(replace(END, submitted_at=1000)) is False
    assert desk.kinds[-1] == "Appeared"


def test_a_job_that_is_seen_between_its_run_and_its_requeue_is_the_same_job(desk: Desk) -> None:
    """As Slurm 22.05 shows it: the restart counted, the new time of submission not there yet."""
    desk.look(RUNNING)
    desk.look(replace(RUNNING, state="COMPLETING", restarts=1))
    desk.look(replace(ROW, submitted_at=1020, eligible_at=1141, restarts=1))
    assert desk.kinds == ["Appeared", "Started", "Withdrawn"]


def test_a_job_that_slurm_has_set_back_is_the_same_job(desk: Desk) -> None:
    desk.look(replace(ROW, restarts=2, submitted_at=1005))
    desk.look(replace(ROW, restarts=1, submitted_at=1003))
    assert desk.kinds == ["Appeared"]


def test_a_job_without_a_mate_is_asked_about_once() -> None:
    desk = Desk()
    plain = replace(ROW, comment="words")
    assert asyncio.run(desk.book.unknown([plain])) == ["7"]
    desk.look(plain)
    assert asyncio.run(desk.book.unknown([plain])) == []
    assert asyncio.run(desk.book.unknown([replace(plain, submitted_at=1001)])) == ["7"]
    desk.book.offered(OFFER)
    desk.book.learn(plain)
    assert desk.told == [("start", "7", None)]
    assert desk.reports == []


def test_a_job_that_runs_again_after_its_end_starts_alone(desk: Desk) -> None:
    desk.book.ended(END)
    desk.book.offered(replace(OFFER, restarts=1))
    assert desk.told == [("start", "7", None)]
    assert desk.kinds == ["Appeared", "Ended"]


def test_the_comment_of_the_offer_counts(desk: Desk) -> None:
    desk.book.offered(replace(OFFER, comment="cosched:mate=eureka/5"))
    offered = desk.reports[-1]
    assert isinstance(offered, Offered)
    assert (desk.kinds, offered.named) == (["Appeared", "Relinked", "Offered"], named_mate("eureka", mate="5"))


def test_what_slurm_expects_of_jobs_that_wait(desk: Desk) -> None:
    desk.look(replace(ROW, started_at=5000, reason="Resources"))
    assert desk.book.outlooks() == {"7": JobOutlook(5000, "Resources")}
    desk.look(replace(ROW, reason="None"))
    assert desk.book.outlooks() == {"7": JobOutlook()}
    desk.look(replace(ROW, priority=10, partitions="main"), replace(ROW, job_id="9", priority=20, partitions="main"))
    assert desk.book.outlooks()["7"] == JobOutlook(None, "Priority", 2, 2)
    desk.look(RUNNING)
    assert desk.book.outlooks() == {}


def test_an_offer_names_the_account_that_slurm_charges_at_that_time(desk: Desk) -> None:
    desk.look(replace(ROW, account="climate"))
    desk.look(replace(ROW, account="fusion"))
    desk.book.offered(OFFER)
    offered = desk.reports[-1]
    assert isinstance(offered, Offered)
    assert offered.account == "fusion"
