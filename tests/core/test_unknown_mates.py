"""A mate of which there is none: the paper's job starts alone; one of a live domain waits, unless it said otherwise."""

import pytest

from cosched.core.events import MateHeardOf, PatienceOver
from cosched.core.job import JobState
from cosched.core.protocol import Found, MateJobId, MateProblem, MateStatus, Status
from cosched.core.settings import CoschedulingSettings, OnMateUnknown, Scheme

from .driver import MATE_IS_K, DomainA, called, detail, told

WAITS = {"on_mate_unknown": OnMateUnknown.WAIT, "mate_patience": 500}


def no_pair(problem: MateProblem | None = MateProblem.UNKNOWN) -> MateJobId:
    return MateJobId(Found.NO_PAIR, None, problem)


def ready(problem: MateProblem | None = MateProblem.UNKNOWN, *, or_alone: bool = False, **settings: object):
    """j names job 999 of B, and is ready; what comes of B's answer."""
    a = DomainA(**settings)
    a.submit(mate="999", or_alone=or_alone)
    a.ready()
    return a, a.reply(no_pair(problem))


def test_the_papers_rule_is_the_core_s_own():
    assert CoschedulingSettings().on_mate_unknown is OnMateUnknown.START
    _, effects = ready()
    assert told(effects) == ["started: its mate's domain knows no such pair"]
    assert detail(effects, "started") == {"why": "its mate's domain knows no such pair"}, "as it was before"


@pytest.mark.parametrize("problem", [MateProblem.UNKNOWN, MateProblem.COMPLETED, MateProblem.TAKEN, None])
@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
def test_a_job_whose_mate_is_unknown_waits_without_nodes_and_says_why(problem, scheme):
    a, effects = ready(problem, scheme=scheme, **WAITS)
    assert told(effects) == ["yields: MateUnknown"]
    assert detail(effects, "yields")["problem"] == (problem or "")
    assert a.state() is JobState.QUEUED


def test_a_job_that_was_submitted_so_starts_alone():
    a, effects = ready(or_alone=True, **WAITS)
    assert a.state() is JobState.RUNNING
    assert detail(effects, "started")["problem"] is MateProblem.UNKNOWN


@pytest.mark.parametrize(("settings", "wrong"), [(WAITS, ["names a wrong mate"]), ({}, [])], ids=["waits", "starts"])
def test_what_is_said_of_a_mate_to_others_is_kept(settings, wrong):
    a = DomainA(**settings)
    a.submit()
    assert told(a.feed(MateHeardOf("j", no_pair(MateProblem.TAKEN)))) == wrong
    assert a.job().problem is MateProblem.TAKEN
    assert a.feed(MateHeardOf("j", MATE_IS_K)) == []
    assert (a.job().mate, [*a.core.ledger.changed]) == ("k", ["j"])


@pytest.mark.parametrize("problem", [MateProblem.OFF, MateProblem.UNLINKED])
def test_what_somebody_there_has_decided_is_followed(problem):
    """Coscheduling was switched off there, or the owner has unlinked the mate from the job: both then start alone."""
    a, _ = ready(problem, **WAITS)
    assert a.state() is JobState.RUNNING


def test_patience_with_an_unknown_mate_ends():
    a, _ = ready(**WAITS)
    a.now = 500
    a.feed(PatienceOver("j"))
    a.ready()
    assert told(a.reply(no_pair())) == ["started: patience ended"]


def test_a_job_that_keeps_its_nodes_asks_once_more_when_its_patience_ends():
    a = DomainA(**WAITS)
    a.submit(mate="999")
    a.feed_ready_that_cannot_yield()
    a.reply(no_pair())
    assert a.state() is JobState.HOLDING
    a.now = 500
    called(a.feed(PatienceOver("j")))
    assert told(a.reply(no_pair())) == ["started: patience ended"]


def test_a_mate_that_turns_up_after_all_is_asked():
    a, _ = ready(**WAITS)
    a.now = 10
    a.ready()
    a.reply(MATE_IS_K)
    assert a.job().problem == ""
    assert told(a.reply(MateStatus(Status.RUNNING, 0, 5))) == ["started: its mate started before it: desynchronised"]
