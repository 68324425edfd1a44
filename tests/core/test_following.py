"""Running jobs follow others: they are queued again with them, end with them, or fail with them (life.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.core import protocol
from cosched.core.job import JobState
from cosched.core.protocol import NO_TERMS, EndedBy, MateStatus, Named, TellMember, Terms, named_group, named_mate
from cosched.core.settings import OnMemberLost, OnMemberRequeued

from .lives import Lives

REQUEUE, END, CONTINUE = OnMemberRequeued.REQUEUE, OnMemberRequeued.END, OnMemberRequeued.CONTINUE
A, B = "a:1", "b:1"
LONG = 5000


def mate(peer: str, **terms: object) -> Named:
    """The mate there, of a job with these terms."""
    return named_mate(peer, "run7")._replace(terms=Terms(**terms))


def case_5(terms: Terms = NO_TERMS, other: Terms = NO_TERMS, *, times: int = 1, **settings: object) -> Lives:
    """ "a:1 and b:1 run from 0; b:1 is queued again at 60 and ready again at 70", and so on every 100 s"""
    lives = Lives("ab", **settings)
    lives.submit(0, A, 8, LONG, named_mate("b", "run7")._replace(terms=terms))
    lives.submit(0, B, 8, LONG, named_mate("a", "run7")._replace(terms=other))
    for time in range(times):
        lives.submit(5 + 100 * time, f"b:{time + 2}", 8, 10)
        lives.requeue(60 + 100 * time, B)
    return lives


def status(lives: Lives, job: str, caller: str) -> MateStatus:
    """How a job stands, as its domain says to that of the caller."""
    (name, id), (peer, other) = job.split(":"), caller.split(":")
    return lives.domains[name].core.incoming.mate_status(peer, protocol.GetMateStatus(id, other))


def why(lives: Lives, job: str) -> list[tuple[str, str]]:
    """The last of a job's story that has a reason."""
    name, id = job.split(":")
    return [(what, reason) for what, of, reason in lives.domains[name].reasons if of == id and reason][-1]


# A member that is queued again


@pytest.mark.parametrize(("grace", "start"), [(0, 70), (10, 70), (30, 90)])
@pytest.mark.parametrize("by", ["owner", "site"])
def test_case_5_requeue_both_start_again_together(by, grace, start):
    """ "a says queuing from 60, its nodes are free at 60 + grace; both start at 70 if grace is at most 10, else at 60 +
    grace" """
    of_owner, of_site = (REQUEUE, CONTINUE) if by == "owner" else (None, REQUEUE)
    lives = case_5(Terms(if_requeued=of_owner), on_member_requeued=of_site)
    lives.grace = grace
    lives.run(60)
    if grace:
        assert status(lives, A, B) == MateStatus(protocol.Status.QUEUING, 0, None, runs=1)
    starts = lives.run(1000).starts()
    assert (starts[A], starts[B]) == (start, start)
    assert lives.state(A) is lives.state(B) is JobState.RUNNING
    assert status(lives, A, B).runs == status(lives, B, A).runs == 2


def test_case_5_continue():
    """ "a runs on, b:1 starts alone at 70" """
    lives = case_5().run(59)
    asked = len(lives.domains["a"].calls)
    lives.run(1000)
    assert (lives.starts()[A], lives.starts()[B]) == (0, 70)
    assert len(lives.domains["a"].calls) == asked


def test_case_5_end():
    """ "end: a ends at 60": "cancelled, 'its mate was queued again'" """
    lives = case_5(Terms(if_requeued=END)).run(1000)
    assert (lives.state(A), lives.domains["a"].core.jobs["1"].ended_at) == (JobState.CANCELLED, 60)
    assert why(lives, A) == ("cancelled", "its mate was queued again")
    assert status(lives, A, B).ended_by is EndedBy.MATE
    assert lives.starts()[B] == 70  # "`end` keeps from half pairs only with `on_member_lost = "cancel"`"


def test_a_job_that_would_be_half_a_pair_after_the_end_of_its_mate_is_cancelled():
    """ "`end` keeps from half pairs only with `on_member_lost = "cancel"` on the other side" """
    lives = case_5(on_member_requeued=END, on_member_lost=OnMemberLost.CANCEL).run(1000)
    assert (lives.state(A), lives.state(B)) == (JobState.CANCELLED, JobState.CANCELLED)
    assert lives.starts()[B] == 0


@pytest.mark.parametrize(("seconds", "start"), [(30, 0), (59, 0), (60, 70)])
def test_case_5_together_for(seconds, start):
    """ "together-for 30: continue": "`requeue` counts only within that time from the start" """
    lives = case_5(Terms(if_requeued=REQUEUE, together_for=seconds)).run(1000)
    assert (lives.starts()[A], lives.starts()[B]) == (start, 70)
    assert (why(lives, A) == ("runs on without its mate", "its mate was queued again")) is (start == 0)


def test_together_for_counts_anew_with_each_run():
    """ "within that time from the start" """
    lives = case_5(Terms(if_requeued=REQUEUE, together_for=95), times=3).run(1000)
    assert lives.starts()[A] == lives.starts()[B] == 270


@pytest.mark.parametrize(("bound", "start"), [(0, 0), (1, 70), (3, 270)])
def test_max_requeues(bound, start):
    """ "At most 3 times per pair or group (`max_requeues`), then `continue`." """
    lives = case_5(on_member_requeued=REQUEUE, max_requeues=bound, times=5).run(1000)
    assert (lives.starts()[A], lives.starts()[B]) == (start, 470)
    assert lives.state(A) is JobState.RUNNING


def test_both_sides_need_not_agree():
    """ "Both sides need not agree: each job has its own." """
    for terms, other in ((Terms(if_requeued=REQUEUE), Terms()), (Terms(), Terms(if_requeued=REQUEUE))):
        lives = case_5(terms, other).run(1000)
        assert (lives.starts()[A], lives.starts()[B]) == (70 if terms.if_requeued else 0, 70)


def test_news_that_comes_late_does_nothing():
    """ "A running job is queued again ... only if the mate waits *now* ... So news that comes a day late does nothing."

    The other one has gone on alone, since this domain could not be reached.
    """
    lives = case_5(on_member_requeued=REQUEUE, peer_grace=5)
    lives.cut(50, "a", "b", until=200)
    starts = lives.run(1000).starts()
    assert (starts[A], starts[B]) == (0, 90)
    assert TellMember in {type(request) for request in lives.domains["b"].calls}
    assert lives.state(A) is lives.state(B) is JobState.RUNNING


def test_who_is_not_known_to_be_away_is_waited_for_until_patience_ends():
    """ "No ping-pong: a job that was queued again asks for nodes only when its news is acknowledged, or its peer is
    unreachable." """
    for back, together in ((85, True), (200, False)):
        lives = case_5(on_member_requeued=REQUEUE, peer_patience=30)
        lives.cut(50, "a", "b", until=back)
        starts = lives.run(1000).starts()
        assert (starts[A] == starts[B]) is together
        assert starts[B] in ((85, 86) if together else (90, 91))


def test_all_of_a_group_start_again_together():
    """ "the others are queued again, too, and all start together again" """
    lives = group_of_three(on_member_requeued=REQUEUE)
    lives.grace = 20
    assert set(lives.run(1000).starts().items()) == {(A, 80), (B, 80), ("c:1", 80), ("b:2", 60)}
    told = [request for each in lives.domains.values() for request in each.calls if isinstance(request, TellMember)]
    assert {request.caller for request in told} == {"1"}
    assert len(told) == 6  # each tells both others


def group_of_three(**settings: object) -> Lives:
    """As case 5, with c:1."""
    lives = Lives("abc", **settings)
    for name in "abc":
        lives.submit(0, f"{name}:1", 8, LONG, named_group("g", tuple(other for other in "abc" if other != name)))
    lives.submit(5, "b:2", 8, 10)
    lives.requeue(60, B)
    return lives


@pytest.mark.parametrize(("choice", "start"), [(REQUEUE, 90), (CONTINUE, 0)])
def test_a_third_member_that_has_not_heard_yet_is_waited_for(choice, start):
    """It still runs, but not alone: "all start again together"; one that runs on has said so when it has heard."""
    lives = group_of_three(on_member_requeued=REQUEUE)
    lives.domains["c"].core.ledger.configure(replace(lives.domains["c"].core.settings, on_member_requeued=choice))
    lives.slow_news["b", "c"] = 30
    starts = lives.run(1000).starts()
    assert starts["c:1"] == start
    assert starts[B] == 90
    assert starts[A] in ({90} if choice is REQUEUE else {60, 61})


def test_a_job_that_ends_before_it_can_be_queued_again_is_waited_for_no_longer():
    """Its mate holds for it, since it says queuing."""
    lives = case_5(on_member_requeued=REQUEUE)
    lives.grace = 100
    lives.at(65, lambda world: world.domains["a"].ends.update({"1": 80}))
    lives.run(1000)
    assert lives.state(A) is JobState.COMPLETED
    assert lives.starts()[B] == 80


# Ends with


def case_6(how: JobState, *, vis_first: bool = False, vis_runs: int = LONG, **terms: object) -> Lives:
    """ "vis:1 `--ends-with sim`: sim:1 ends at 900, fails or not" """
    lives = Lives("sv", peer_grace=120)
    lives.submit(10 if vis_first else 0, "s:1", 8, LONG, mate("v"))
    lives.submit(0 if vis_first else 10, "v:1", 8, vis_runs, mate("s", **(terms or {"ends_with": ("s",)})))
    lives.cancel(900, "s:1", EndedBy.OWNER, how)
    return lives


@pytest.mark.parametrize("vis_first", [True, False])
@pytest.mark.parametrize("how", [JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED])
def test_case_6_it_ends_with_the_other_whoever_of_them_was_ready_first(how, vis_first):
    """ "vis:1 ends at 900": "its state is completed, its reason 'ended with its mate'" """
    lives = case_6(how, vis_first=vis_first).run(2000)
    job = lives.domains["v"].core.jobs["1"]
    assert (lives.starts()["v:1"], job.ended_at, job.state) == (10, 900, JobState.COMPLETED)
    assert why(lives, "v:1") == ("completed", "its mate has ended")
    assert job.ended_by is EndedBy.MATE


@pytest.mark.parametrize(("runs", "ended_at"), [(LONG, 1000), (940, 950)])
def test_case_6_a_mate_that_gives_no_answer_ends_nobody(runs, ended_at):
    """ "sim unreachable from 800 and back at 1000: vis hears then and ends at 1000, if it still runs." """
    lives = case_6(JobState.COMPLETED, vis_runs=runs)
    lives.cut(800, "s", "v", until=1000)
    lives.run(3000)
    assert lives.domains["v"].core.jobs["1"].ended_at == ended_at
    assert lives.state("v:1") is JobState.COMPLETED


def test_the_main_job_is_not_touched_if_this_one_ends_first():
    lives = case_6(JobState.COMPLETED, vis_runs=100).run(500)
    assert (lives.state("v:1"), lives.state("s:1")) == (JobState.COMPLETED, JobState.RUNNING)


def test_to_be_queued_again_is_no_end():
    """ "Queued again is no end." """
    lives = case_6(JobState.COMPLETED)
    lives.requeue(500, "s:1")
    lives.run(600)
    assert lives.state("v:1") is JobState.RUNNING


def test_a_job_whose_mate_has_ended_before_it_starts_is_cancelled():
    """ "Ended before this job starts: this one is cancelled ("its mate has ended"), not started." """
    lives = Lives("sv", peer_grace=5)
    lives.submit(0, "v:0", 8, 500)
    lives.submit(0, "v:1", 8, 100, mate("s", ends_with=("s",)))
    lives.cut(1, "s", "v", until=300)
    lives.submit(10, "s:1", 8, 100, mate("v"))
    lives.run(1000)
    assert lives.starts()["s:1"] == 10
    assert lives.starts().get("v:1") is None
    assert lives.state("v:1") is JobState.CANCELLED
    assert why(lives, "v:1") == ("cancelled", "its mate has ended")


def test_a_mate_that_is_cancelled_before_it_has_started_is_lost_as_ever_and_the_option_void():
    """ "Cancelled or lost before its own start: `on_member_lost`, and if this job goes on, the option is void." """
    lives = Lives("sv")
    lives.submit(0, "s:0", 8, 500)
    lives.submit(0, "s:1", 8, 100, mate("v"))
    lives.submit(0, "v:1", 8, 1000, mate("s", ends_with=("s",)))
    lives.cancel(100, "s:1")
    lives.run(2000)
    job = lives.domains["v"].core.jobs["1"]
    assert (job.started_at, job.ended_at, job.ended_by) == (100, 1100, EndedBy.ITSELF)


# Fails together


@pytest.mark.parametrize(
    ("how", "by", "state"),
    [
        (JobState.FAILED, EndedBy.ITSELF, JobState.FAILED),
        (JobState.CANCELLED, EndedBy.OWNER, JobState.FAILED),
        (JobState.CANCELLED, EndedBy.MATE, JobState.RUNNING),
        (JobState.COMPLETED, EndedBy.ITSELF, JobState.RUNNING),
    ],
)
def test_fail_together(how, by, state):
    """ "if a member fails, or is cancelled while it runs, this one is ended, state failed, "its mate failed". ... A
    member that was ended by its mate's news is no failure and no owner's cancel: it moves nobody else." """
    lives = case_6(JobState.COMPLETED, fail_together=True)
    lives.cancel(500, "s:1", by, how)
    lives.run(600)
    assert lives.state("v:1") is state
    if state is JobState.FAILED:
        assert why(lives, "v:1") == ("failed", "its mate failed")


def test_a_group_fails_together_and_each_ends_once():
    lives = Lives("abc")
    for name in "abc":
        named = named_group("g", tuple(other for other in "abc" if other != name))
        lives.submit(0, f"{name}:1", 8, LONG, named._replace(terms=Terms(fail_together=True)))
    lives.cancel(100, "c:1", EndedBy.ITSELF, JobState.FAILED)
    lives.run(1000)
    assert [lives.state(f"{name}:1") for name in "abc"] == [JobState.FAILED] * 3
    ended = [what for name in "ab" for _, _, what in lives.domains[name].story if what == "its run is ended"]
    assert len(ended) == 2


def test_the_end_of_a_member_that_has_ended_with_another_moves_nobody_who_fails_together():
    """ "it moves nobody else" """
    lives = Lives("abc")
    for name, terms in (("a", Terms()), ("b", Terms(if_requeued=END)), ("c", Terms(fail_together=True))):
        named = named_group("g", tuple(other for other in "abc" if other != name))
        lives.submit(0, f"{name}:1", 8, LONG, named._replace(terms=terms))
    lives.requeue(100, "a:1")
    lives.run(1000)
    assert [lives.state(f"{name}:1") for name in "abc"] == [JobState.RUNNING, JobState.CANCELLED, JobState.RUNNING]


def test_by_default_nobody_ends_with_another():
    """ "Default off." """
    assert case_6(JobState.FAILED, ends_with=()).run(1000).state("v:1") is JobState.RUNNING
