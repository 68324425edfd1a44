"""What is known of jobs, and whether the server may run one, without a server."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from cosched.conformance.instructions import instructions
from cosched.core.protocol import MateProblem, named_mate
from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import Appeared, BatchReport, Gone, JobOutlook, Offered, Refused
from cosched_adapters.manager import End, Ended
from cosched_adapters.pbs.batch_job import BatchJob
from cosched_adapters.pbs.commands import JobRow
from cosched_adapters.pbs.hook_server import Asked
from cosched_adapters.pbs.register import NAMESAKE, TAKEN, WAITS, Register

HERE, THERE = "(a1:ncpus=1)+(a2:ncpus=1)", "(a3:ncpus=1)+(a4:ncpus=1)"
ASKED = Asked("7", array=False, vnodes=HERE, owner="ann", name="", requestor="Scheduler", resources={"pair": "p"})
ROW = JobRow("7", "", "ann", "Q", 10, 2, 60, 0, {"pair": "p"}, array=False)


@pytest.fixture
def reports() -> list[BatchReport]:
    return []


@pytest.fixture
def book(reports: list[BatchReport]) -> Register:
    return Register(reports.append, lambda: 100.0, lambda _: None, lambda: None, lambda: None)


def look(book: Register, rows: Sequence[JobRow], began: float) -> None:
    asyncio.run(book.see(rows, began))


@pytest.fixture
def offered(book: Register) -> BatchJob:
    assert book.asked(ASKED) == WAITS
    return book.jobs["7"]


def test_a_job_that_we_start_runs_on_the_nodes_that_it_was_offered_and_on_no_others(
    book: Register, offered: BatchJob
) -> None:
    offered.admitted = True
    assert book.asked(replace(ASKED, vnodes=THERE)) == WAITS  # the scheduler's doing, while qrun is under way
    assert book.asked(ASKED) is None


def test_others_get_none_of_the_nodes_that_are_kept(book: Register, offered: BatchJob) -> None:
    other = replace(ASKED, job_id="8", resources={}, vnodes="(a2:ncpus=1)+(a3:ncpus=1)")
    assert book.asked(other) == f"its nodes are kept for job {offered.job_id} (cosched)"
    assert book.asked(replace(other, vnodes=THERE)) is None


def test_a_cycle_that_began_before_we_started_a_job_offers_nobody_its_nodes(book: Register, offered: BatchJob) -> None:
    other = replace(ASKED, job_id="8", vnodes="(a2:ncpus=1)+(a3:ncpus=1)", resources={"pair": "q"})
    offered.admitted = True
    book.runs(offered, 50.0)
    assert book.asked(replace(other, vnodes=THERE)) == WAITS
    book.withdraw(book.jobs["8"])
    assert book.asked(other) == TAKEN
    assert book.asked(other) == WAITS  # a cycle asks once for each job: they are to share the nodes


def test_nodes_of_a_job_that_pbs_has_started_are_pbs_s_affair(book: Register, offered: BatchJob) -> None:
    book.runs(offered, 50.0)
    assert book.asked(replace(ASKED, job_id="8", resources={"pair": "q"})) == WAITS


def test_a_new_job_with_the_name_of_one_that_was_perhaps_deleted_waits_for_a_look(
    book: Register, offered: BatchJob, reports: list[BatchReport]
) -> None:
    """PBS tells nobody of queued jobs that are deleted. Two jobs have one mate: the second would start alone."""
    second = replace(ASKED, job_id="8", vnodes=THERE)
    assert book.asked(second) == NAMESAKE
    assert book.asked(replace(second, job_id="10", resources={"group": "p@b+c"})) == NAMESAKE
    assert book.asked(replace(second, job_id="9", owner="bob")) == WAITS
    assert [job.job_id for job in book.missing({"8"}, 101.0)] == ["7", "9"]
    book.note_end(offered, Ended("7", End.CANCELLED, 0))
    look(book, [replace(ROW, job_id="8")], 101.0)
    assert [report.job_id for report in reports if isinstance(report, Appeared | Ended)] == ["7", "9", "7", "8"]


def test_a_question_of_the_hook_costs_the_same_however_many_jobs_are_known(book: Register) -> None:
    def ask(first: int) -> int:
        other = replace(ASKED, job_id=str(first), vnodes=f"(n{first}:ncpus=1)", resources={"pair": f"q{first}"})
        taken = replace(other, job_id=str(first + 1), resources={})
        asked = [other, taken, replace(other, job_id=str(first + 2), vnodes=THERE)]
        return instructions(lambda: [(book.asked(one), book.keeps_nodes()) for one in asked])

    for number in range(100, 120):
        book.learn(replace(ROW, job_id=str(number), owner="bob", resources={"pair": f"p{number}"}))
    for _ in range(2):
        few = ask(7)
        book.withdraw(book.jobs["7"])
    for number in range(120, 320):
        job = book.learn(replace(ROW, job_id=str(number), owner="ann", resources={"pair": f"p{number}"}))
        assert job is not None
        book.note_offer(job, f"(m{number}:ncpus=1)+(k{number}:ncpus=1)")
    assert ask(7) <= 1.1 * few


def test_what_was_refused_is_forgotten_with_its_job(book: Register, reports: list[BatchReport]) -> None:
    wrong = replace(ROW, resources={"pair": "p", "mate": "b:1"})
    for _ in range(2):
        look(book, [wrong], 101.0)
    assert [type(report) for report in reports] == [Refused]
    look(book, [], 101.0)
    assert book._refused == {}
    assert reports[1:] == [Gone("7")]


def test_a_job_is_forgotten_when_its_end_is_on_record_and_not_before(book: Register, offered: BatchJob) -> None:
    book.forget("7")
    assert book.jobs == {"7": offered}
    book.note_end(offered, Ended("7", End.CANCELLED, 0))
    assert book.jobs == {"7": offered}
    book.forget("7")
    book.forget("7")
    assert book.jobs == {}


def test_an_offered_job_that_its_user_holds_back_is_found(book: Register, offered: BatchJob) -> None:
    held = replace(ROW, state="H")
    assert book.held_back([ROW], 101.0) == []
    assert book.held_back([held], 101.0) == [offered]
    assert book.held_back([held], 99.0) == []  # seen before the offer


def test_a_job_array_is_refused_once(book: Register, reports: list[BatchReport]) -> None:
    for _ in range(2):
        assert book.asked(replace(ASKED, array=True)) is None
    (refused,) = reports
    assert isinstance(refused, Refused)
    assert (refused.named, refused.problem) == (named_mate("", "p"), MateProblem.ARRAY)


def test_an_older_look_does_not_undo_what_the_hook_has_seen(book: Register, offered: BatchJob) -> None:
    look(book, [replace(ROW, state="R", started_at=50)], 99.0)
    assert offered.phase is Phase.OFFERED
    assert book.missing([], 99.0) == []
    assert book.missing([], 101.0) == [offered]


def test_what_pbs_expects_of_jobs_that_wait(book: Register) -> None:
    book.learn(replace(ROW, expected=5000, comment="Not Running: no nodes"))
    assert book.outlooks() == {"7": JobOutlook(5000, "Not Running: no nodes")}


def test_a_place_is_that_among_the_jobs_of_its_queue_that_wait_as_qstat_lists_them(book: Register) -> None:
    others = [replace(ROW, job_id=str(id), resources={}, queue="workq") for id in (3, 9)]
    runs, held = (replace(others[0], job_id=id, state=state) for id, state in (("4", "R"), ("5", "H")))
    elsewhere = replace(others[0], job_id="6", queue="express")
    look(book, [others[0], runs, held, elsewhere, replace(ROW, queue="workq"), others[1]], 99.0)
    assert book.outlooks() == {"7": JobOutlook(place=2, queued=3)}


def test_a_job_appears_with_its_queue_and_is_offered_with_that_in_which_it_waits_now(
    book: Register, reports: list[BatchReport]
) -> None:
    book.learn(replace(ROW, queue="workq"))
    look(book, [replace(ROW, queue="express")], 99.0)
    book.asked(ASKED)
    assert [report.queue for report in reports if isinstance(report, Appeared | Offered)] == ["workq", "express"]
    assert book.jobs["7"].known().queue == "express"


def test_an_offer_names_the_account_by_the_hook_s_word_or_else_by_qstat_s(
    book: Register, reports: list[BatchReport]
) -> None:
    book.learn(replace(ROW, account="climate"))
    book.asked(ASKED)
    assert [report.account for report in reports if isinstance(report, Appeared | Offered)] == ["climate", "climate"]
    book.withdraw(book.jobs["7"])
    book.asked(replace(ASKED, account="fusion"))
    assert isinstance(reports[-1], Offered)
    assert reports[-1].account == "fusion"
