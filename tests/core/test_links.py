"""Linking after submission, unlinking, adoption of jobs that name no mate (coscheduling.md, Mates)."""

import pytest

from cosched.core import effects, events, protocol
from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.names import UNSUBMITTED, no_pair
from cosched.core.effects import Answer, Call, Effect, HasMate, Record, Reschedule, SetTimer, Start, Timer, Want
from cosched.core.events import Answered, Asked, CallFailed, Event, Finished, Linked, Ready, Submitted, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Found, MateJobId, MateProblem, MateStatus, Status, TellMember, named_mate
from cosched.core.settings import CoschedulingSettings
from cosched.core.story import What

MATE = MateJobId(Found.MATE, "j")
UNKNOWN = no_pair(MateProblem.UNKNOWN)
CANCELLED_MATE = MateJobId(Found.MATE, "j", MateProblem.CANCELLED)


HELD = set[str]()  # jobs that their users hold back


@pytest.fixture
def a() -> Coscheduler:
    HELD.clear()
    return domain()


def domain(**allows: object) -> Coscheduler:
    return Coscheduler("A", 10, CoschedulingSettings(mate_patience=500), held_back=HELD.__contains__, **allows)


def submit(a: Coscheduler, job: str = "j", adoptable: bool = False, **names: str) -> None:
    a.handle(Submitted(job, named_mate("B" if names else "", **names), "ann", adoptable), 0)


def answer(a: Coscheduler, caller: str = "k", *, pair=None, mate=None, peer="B", owner="ann"):
    happens = a.handle(Asked(peer, protocol.GetMateJobId(caller, pair, mate, owner)), 5)
    return next(effect.answer for effect in happens if type(effect) is Answer)


def done(a: Coscheduler, event: Event) -> list[Effect]:
    return [effect for effect in a.handle(event, 7) if type(effect) is not Record]


def test_a_job_without_a_mate_starts_at_once(a):
    """ "If coscheduling is off here, or j has no mate, j starts." (RunJob, 1)"""
    submit(a)
    assert Start("j") in a.handle(Ready("j", Allocation(4), FOREVER), 1)


def test_a_job_that_names_no_mate_is_adopted_by_the_one_that_names_it(a):
    """ "which adopts the link if its job names nobody, waits, has the same owner" """
    submit(a, adoptable=True)
    assert answer(a, mate="j", owner="eve") == UNKNOWN
    assert answer(a, mate="j") == MATE
    assert answer(a, mate="j", owner="eve") == UNKNOWN
    assert (a.jobs["j"].peer, a.jobs["j"].mate) == ("B", "k")
    assert answer(a, "other", mate="j") == MateJobId(Found.BUSY, None)
    a.handle(Answered("j", protocol.GetMateStatus("k", "j"), MateStatus(Status.QUEUING, 0, None), "B"), 5)
    assert answer(a, "other", mate="j") == no_pair(MateProblem.TAKEN)
    assert answer(a, "k", mate="j", peer="C") == no_pair(MateProblem.TAKEN)


def test_no_job_is_adopted_without_the_consent_of_its_owner_or_of_its_domain(a):
    """ "only if its owner has said so (`--adoptable`), or if its domain lets all jobs of that peer adopt" """
    submit(a)
    assert answer(a, mate="j") == UNKNOWN
    assert a.jobs["j"].group is None
    trusting = domain(adopting="B")
    submit(trusting)
    assert answer(trusting, mate="j", peer="C") == UNKNOWN
    assert answer(trusting, mate="j") == MATE


def test_a_job_that_its_user_holds_back_is_adopted_once_it_is_released(a):
    """ "never while its user holds it back" """
    submit(a, adoptable=True)
    HELD.add("j")
    assert answer(a, mate="j") == UNKNOWN
    HELD.clear()
    assert answer(a, mate="j") == MATE


def test_who_unlinks_or_links_a_job_takes_the_consent_back(a):
    """ "Whoever links or unlinks a job takes that back" """
    submit(a, adoptable=True)
    assert answer(a, mate="j") == MATE
    a.handle(Unlinked("j"), 1)
    assert answer(a, "other", mate="j") == UNKNOWN
    submit(a, "i", adoptable=True)
    a.handle(Linked("i", named_mate("B", "p")), 2)
    a.handle(Unlinked("i"), 3)
    assert answer(a, "other", mate="i") == UNKNOWN


@pytest.mark.parametrize("how", [None, JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED])
def test_a_peer_that_tries_all_numbers_learns_of_no_job_that_is_none_of_its_business(a, how):
    """ "hears the same as of an id that no job has" """
    submit(a, "alone")
    a.handle(Submitted("of_c", named_mate("C", "p"), "ann"), 0)
    a.handle(Submitted("in_group", protocol.named_group("g", ("C", "D")), "ann"), 0)
    for job in list(a.jobs) if how is not None else ():
        if how is not JobState.CANCELLED:
            a.handle(events.StartedUnasked(job, Allocation(1)), 1)
        a.handle(Finished(job, how), 2)
    for job in ("alone", "of_c", "in_group", "nothing"):
        for owner in ("ann", "eve"):
            assert answer(a, mate=job, owner=owner) == UNKNOWN
            member = protocol.GetMember("k", "h", ("A", "B"), owner, member=job)
            assert a.handle(Asked("B", member), 5) == [Answer("B", member, UNKNOWN)]


def test_the_adoption_is_told_in_the_story_once(a):
    submit(a, adoptable=True)
    question = Asked("B", protocol.GetMateJobId("k", None, "j", "ann"))
    assert Record("j", What.LINKED, None, {"mate": "k", "peer": "B", "adopted": True}) in a.handle(question, 1)
    assert [type(effect) for effect in a.handle(question, 1)] == [Answer]


def test_a_running_job_is_not_adopted(a):
    submit(a, adoptable=True)
    a.handle(Ready("j", Allocation(4), FOREVER), 1)
    assert answer(a, mate="j") == no_pair(MateProblem.RUNNING)


def test_a_job_can_be_linked_after_its_submission(a):
    """ "Jobs can be linked and unlinked while neither runs." """
    submit(a)
    follows = done(a, Linked("j", named_mate("B", "p")))
    assert follows == [HasMate("j"), SetTimer("j", Timer.PATIENCE, 507), Reschedule("j")]
    assert [type(effect) for effect in done(a, Ready("j", Allocation(4), FOREVER))] == [Call]
    assert answer(a, pair="p") == MATE


def test_a_link_to_what_another_job_has_is_refused(a):
    submit(a)
    submit(a, "i", pair="p")
    submit(a, "h", mate="k")
    for names in ({"pair": "p"}, {"mate": "k"}):
        with pytest.raises(ValueError, match=r"is that of job [ih] already"):
            a.handle(Linked("j", named_mate("B", **names)), 1)
    assert a.jobs["j"].peer == ""


def test_an_unlinked_job_is_alone_and_its_mate_learns_of_it(a):
    submit(a, pair="p")
    assert answer(a, pair="p") == MATE
    alone = [Want("j", False), HasMate("j"), effects.ClearTimer("j", Timer.PATIENCE), Reschedule("j")]
    assert done(a, Unlinked("j")) == [*alone, Call("B", "j", TellMember("k", "j", 1))]
    assert answer(a, pair="p") == no_pair(MateProblem.UNLINKED)
    assert answer(a, mate="j") == no_pair(MateProblem.UNLINKED)
    assert Start("j") in done(a, Ready("j", Allocation(4), FOREVER))


def test_an_unlinked_job_that_waits_for_its_mate_with_nodes_starts(a):
    submit(a, pair="p")
    a.handle(Ready("j", Allocation(4), FOREVER), 1)
    assert Start("j") in done(a, Unlinked("j"))


def test_an_unlinked_job_may_be_linked_again(a):
    submit(a, mate="k")
    assert answer(a, mate="j") == MATE
    a.handle(Unlinked("j"), 1)
    a.handle(Linked("j", named_mate("B", None, "k")), 2)
    assert answer(a, mate="j") == MATE


def test_a_job_may_name_the_mate_that_another_was_unlinked_from(a):
    submit(a, mate="k")
    a.handle(Unlinked("j"), 1)
    submit(a, "j2", mate="k")
    assert answer(a, mate="j") == no_pair(MateProblem.UNLINKED)
    assert answer(a, mate="j2") == MateJobId(Found.MATE, "j2")


def unlinked(a: Coscheduler, **names: str) -> None:
    """Job j was linked with B's job k, which had asked for it, and is unlinked."""
    submit(a, **names)
    assert answer(a, pair=names.get("pair"), mate="j" if "mate" in names else None) == MATE
    a.handle(Unlinked("j"), 1)


@pytest.mark.parametrize("names", [{"pair": "p"}, {"mate": "k"}])
def test_a_mate_may_be_linked_with_another_job_than_that_from_which_it_was_unlinked(a, names):
    """ "A job that was unlinked from a mate is not adopted by it": others are."""
    unlinked(a, **names)
    submit(a, "i", adoptable=True)
    assert answer(a, mate="j") == no_pair(MateProblem.UNLINKED)
    assert answer(a, pair="another") == UNSUBMITTED
    assert answer(a, mate="i") == MateJobId(Found.MATE, "i")


def test_a_pair_whose_job_was_unlinked_may_have_another_one(a):
    unlinked(a, pair="p")
    submit(a, "i", pair="p")
    assert answer(a, pair="p") == MateJobId(Found.MATE, "i")


def test_that_a_job_was_unlinked_is_forgotten_with_it(a):
    unlinked(a, pair="p")
    a.handle(Finished("j", JobState.CANCELLED), 2)
    assert answer(a, pair="p") == no_pair(MateProblem.UNLINKED)
    a.forget(a.jobs["j"])
    assert answer(a, pair="p") == UNSUBMITTED
    assert not a.names._parted


def test_two_jobs_may_be_unlinked_from_one_mate_one_after_the_other(a):
    unlinked(a, pair="p")
    submit(a, "i", pair="q")
    assert answer(a, pair="q") == MateJobId(Found.MATE, "i")
    a.handle(Unlinked("i"), 2)
    assert answer(a, pair="p") == answer(a, pair="q") == no_pair(MateProblem.UNLINKED)
    a.handle(Finished("i", JobState.CANCELLED), 3)
    a.forget(a.jobs["i"])
    assert (answer(a, pair="p"), answer(a, pair="q")) == (no_pair(MateProblem.UNLINKED), UNSUBMITTED)


@pytest.mark.parametrize("pair", ["p", None])
def test_that_a_job_was_unlinked_outlives_a_restart(a, pair):
    """An earlier version did not keep the name of the pair."""
    unlinked(a, pair="p")
    job = a.jobs["j"]
    job.parted = job.parted._replace(pair=pair)
    again = Coscheduler("A", 10, CoschedulingSettings())
    again.recover(job, 0, 9)
    assert answer(again, pair="p") == answer(again, mate="j") == no_pair(MateProblem.UNLINKED)
    assert answer(again, pair="q") == (UNSUBMITTED if pair else no_pair(MateProblem.UNLINKED))


def test_the_name_of_a_pair_that_has_ended_can_be_used_again(a):
    submit(a, pair="nightly")
    assert answer(a, pair="nightly") == MATE
    a.handle(Finished("j", JobState.CANCELLED), 1)
    assert answer(a, pair="nightly") == CANCELLED_MATE, "the mate of the first job asks for that job still"
    assert answer(a, "k2", pair="nightly") == UNSUBMITTED
    submit(a, "j2", pair="nightly")
    assert answer(a, "k2", pair="nightly") == MateJobId(Found.MATE, "j2")


def test_a_restarted_domain_goes_on_where_it_was(a):
    submit(a, pair="p")
    (call,) = done(a, Ready("j", Allocation(4), FOREVER))
    again = Coscheduler("A", 10, CoschedulingSettings(mate_patience=500))
    assert again.recover(a.jobs["j"], 0, 9) == [SetTimer("j", Timer.PATIENCE, 500), call]
    assert answer(again, pair="p") == MATE


def test_a_forgotten_job_is_unknown_until_it_is_recovered(a):
    submit(a, pair="p")
    assert answer(a, pair="p") == MATE
    a.handle(Finished("j", JobState.CANCELLED), 1)
    job = a.jobs["j"]
    a.forget(job)
    assert answer(a, pair="p") == UNSUBMITTED
    assert a.recover(job, 0, 9) == [Call("B", "j", TellMember("k", "j", 1))]
    assert answer(a, pair="p") == CANCELLED_MATE


def test_a_call_that_may_have_been_carried_out_before_a_restart_has_an_unknown_outcome(a):
    """ "TryStartMate or StartJob timed out | The outcome is unknown." """
    submit(a, pair="p")
    (asked,) = done(a, Ready("j", Allocation(4), FOREVER))
    (asked,) = done(a, Answered("j", asked.request, MateJobId(Found.MATE, "k")))
    (tried,) = done(a, Answered("j", asked.request, MateStatus(Status.QUEUING, 0, None)))
    again = Coscheduler("A", 10, CoschedulingSettings(peer_patience=30))
    assert again.recover(a.jobs["j"], 0, 100) == [tried]
    unreachable = CallFailed("j", tried.request, protocol.Failure.UNREACHABLE)
    assert again.handle(unreachable, 129) == [SetTimer("j", Timer.RETRY, 130)]
    assert Start("j") in again.handle(unreachable, 130)
