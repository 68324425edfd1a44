"""Mates (coscheduling.md): pair names, links by id and their adoption, owners."""

from dataclasses import replace

import pytest

from cosched.core.coscheduling.owners import Owners
from cosched.core.job import JobState
from cosched.core.protocol import Found, GetMateJobId, GetMateStatus, MateJobId, MateProblem, MateStatus, Status
from cosched.core.settings import Scheme

from .driver import MATE_IS_K, DomainA, called

MATE_IS_J = MateJobId(Found.MATE, "j")
UNSUBMITTED = MateJobId(Found.UNSUBMITTED, None)
NO_PAIR = MateJobId(Found.NO_PAIR, None)
NOBODYS = MateJobId(Found.NO_PAIR, None, MateProblem.UNKNOWN)


# Pair names


def test_the_first_can_be_submitted_before_the_second_exists(a):
    """ "a pair name that both submissions carry"; "With a pair name the first job can be submitted before the second
    exists"; " "unsubmitted" j names a pair of which that domain knows no job yet" """
    assert a.asked_id("k", pair="p") == UNSUBMITTED
    a.submit("j", pair="p")
    assert a.asked_id("k", pair="p") == MATE_IS_J


def test_a_pair_name_joins_two_jobs_and_no_third(a):
    """ "A job has one mate per other domain." """
    a.submit("j", pair="p")
    assert a.asked_id("k", pair="p") == MATE_IS_J
    assert a.claimed_by("k2", pair="p").found is Found.NO_PAIR


def test_a_pair_name_belongs_to_a_peer(a):
    a.submit("j", pair="p")
    assert a.asked_id("k", pair="p", peer="C") == UNSUBMITTED


def test_a_pair_name_joins_jobs_of_one_owner_only(a):
    """ "A pair name joins jobs of one user only." """
    a.submit("j", pair="p", owner="alice")
    assert a.asked_id("k", pair="p", owner="mallory") == UNSUBMITTED
    assert a.asked_status() == MateStatus(Status.UNKNOWN, 0, None)
    assert a.asked_id("k", pair="p", owner="alice") == MATE_IS_J


def test_a_pair_name_is_each_owners_own(a):
    a.submit("j", pair="p", owner="mallory")
    a.submit("i", pair="p", owner="alice")
    assert a.asked_id("k", pair="p", owner="alice") == MateJobId(Found.MATE, "i")
    assert a.asked_id("h", pair="p", owner="mallory") == MateJobId(Found.MATE, "j")


def test_a_pair_name_finds_a_job_that_runs_already(a):
    """ "running, ended | it started before": the caller is told, not refused."""
    a.submit("j", pair="p")
    a.run_job(Status.UNKNOWN)
    assert a.job().mate == "k"
    assert a.asked_id("k", pair="p") == MATE_IS_J._replace(problem=MateProblem.RUNNING)
    assert a.asked_status().status is Status.RUNNING


def test_a_pair_name_finds_a_job_that_started_alone():
    a = DomainA(mate_patience=10)
    a.ready()
    a.reply(NO_PAIR)
    assert a.state() is JobState.RUNNING
    assert a.asked_id() == MATE_IS_J._replace(problem=MateProblem.RUNNING)
    assert a.asked_status().status is Status.RUNNING


def test_an_ended_job_of_another_owner_does_not_keep_the_name_of_a_pair(a):
    a.submit("j", pair="p", owner="mallory")
    a.ready()
    a.reply(NO_PAIR)
    a.finish()
    assert a.asked_id("k", pair="p", owner="alice") == UNSUBMITTED
    assert a.asked_id("k", pair="p", owner="mallory") == MATE_IS_J._replace(problem=MateProblem.COMPLETED)


# Links by id


def test_one_side_that_names_the_others_id_is_enough(a):
    """ "With an id one side is enough: the submission is announced to the peer, which adopts the link" """
    a.submit("j", mate="k")
    a.ready()
    assert a.awaited() == GetMateJobId("j", None, "k", "")
    b = DomainA()
    b.submit("k", mate=None)  # names no mate
    assert b.asked_id("j", pair=None, mate="k") == MATE_IS_K
    assert called(b.ready("k")) == GetMateJobId("k", None, "j", "")


@pytest.mark.parametrize("mate", [None, "j"])
def test_the_one_that_is_named_may_name_the_other_or_nobody(a, mate):
    a.submit("j", mate="k")
    assert a.asked_id("k", pair=None, mate=mate) == MATE_IS_J


def test_a_job_that_has_another_mate_is_not_adopted(a):
    """ "if its job has no other mate" """
    a.submit("j", mate="other")
    assert a.claimed_by("k", pair=None, mate="j").found is Found.NO_PAIR
    assert a.job().mate == "other"


def test_a_job_that_waits_for_the_other_of_its_pair_is_not_adopted(a):
    """ "if its job has no other mate": a pair name names one."""
    a.submit("j", pair="p")
    assert a.asked_id("x", pair=None, mate="j").found is Found.NO_PAIR
    assert a.asked_id("k", pair="p") == MATE_IS_J


@pytest.mark.parametrize("how", [None, JobState.COMPLETED, JobState.CANCELLED])
def test_a_job_that_has_started_or_ended_is_not_adopted(how):
    """ "if its job [...] has not started" """
    a = DomainA(scheme=Scheme.OFF)
    a.submit("j", mate=None)
    if how is not JobState.CANCELLED:
        a.ready()
    if how is not None:
        a.finish(how)
    a.configure(scheme=Scheme.HOLD)
    assert a.asked_id("k", pair=None, mate="j").found is Found.NO_PAIR
    assert a.job().mate is None


@pytest.mark.parametrize("state", ["ready", "holding"])
def test_a_job_that_waits_with_nodes_is_adopted(state):
    a = DomainA()
    a.submit("j", mate=None)
    a.ready()
    if state == "holding":
        a.reply(UNSUBMITTED)
    assert a.asked_id("k", pair=None, mate="j") == MATE_IS_J
    assert a.asked_status().status is Status.HOLDING


def test_an_id_that_is_named_goes_before_a_job_that_names_the_caller(a):
    """ "A job has one mate per other domain.": k names j, so i, which names k, is not its mate."""
    a.submit("i", mate="k")
    a.submit("j", mate=None)
    assert a.asked_id("k", pair=None, mate="j") == MATE_IS_J


PAIR, MATE = {"pair": "p"}, {"mate": "k"}


@pytest.mark.parametrize(("first", "second"), [(PAIR, PAIR), (MATE, MATE), (PAIR, PAIR | MATE)])
def test_two_jobs_here_cannot_name_one_pair_or_one_mate(a, first, second):
    a.submit("j", **first)
    with pytest.raises(ValueError, match="job i: its pair is that of job j already"):
        a.submit("i", **second)
    assert list(a.core.jobs) == ["j"]


def test_a_mate_that_was_adopted_cannot_be_named_by_another_job(a):
    a.submit("j", mate=None)
    a.asked_id("k", pair=None, mate="j")
    with pytest.raises(ValueError, match="its pair is that of job j already"):
        a.submit("i", mate="k")


# Owners


def test_a_table_maps_owners_between_domains():
    """ "A table (`owners`) maps users between domains; by default names are equal" """
    a = DomainA(owners=Owners({("B", "asmith"): "alice", ("C", "mallory"): "alice"}))
    a.submit("j", pair="p", owner="alice")
    assert a.asked_id("k", pair="p", owner="mallory") == UNSUBMITTED  # that is C's mallory
    assert a.asked_id("k", pair="p", owner="asmith") == MATE_IS_J


def test_a_mapped_owner_is_not_the_one_of_the_same_name():
    a = DomainA(owners=Owners({("B", "alice"): "alice2"}))
    a.submit("j", pair="p", owner="alice")
    assert a.asked_id("k", pair="p", owner="alice") == UNSUBMITTED


RESERVED = Owners(reserved=frozenset({"root"}))


def test_a_closed_table_leaves_all_other_users_of_the_peer_without_jobs():
    """ "With `other_owners = "nobody"` all other users of that peer are nobody here." """
    a = DomainA(owners=Owners({("B", "ann.there"): "ann"}, closed=frozenset("B")))
    a.submit("j", pair="p", owner="ann")
    assert a.asked_id("k", pair="p", owner="ann") == NOBODYS
    assert a.asked_id("k", pair="q", owner="ann") == NOBODYS, "whatever the name is"
    assert a.asked_id("k", pair="p", owner="ann.there") == MATE_IS_J


def test_root_of_a_peer_is_nobody_here_unless_the_table_names_it():
    """ "By the same name nobody here are root and the service's own user, unless `owners` names them." """
    for owners, found in ((RESERVED, NOBODYS), (replace(RESERVED, mapped={("B", "root"): "root"}), MATE_IS_J)):
        a = DomainA(owners=owners)
        a.submit("j", pair="p", owner="root")
        assert a.asked_id("k", pair="p", owner="root") == found
        assert a.asked_id("k", pair="q", owner="ann") == UNSUBMITTED


# Coscheduling off


def test_with_coscheduling_off_there_is_no_pair():
    """ "no such pair, also if coscheduling is off there: then j starts" """
    a = DomainA(scheme=Scheme.OFF)
    a.submit("j", pair="p")
    assert a.asked_id("k", pair="p") == MateJobId(Found.NO_PAIR, None, MateProblem.OFF)
    assert a.job().mate is None


# What is asked


def test_the_question_names_what_the_submission_named(a):
    a.submit("j", pair="p", owner="alice")
    assert called(a.ready()) == GetMateJobId("j", "p", None, "alice")
    assert called(a.reply(MATE_IS_K)) == GetMateStatus("k", "j")
    assert a.job().mate == "k"
