"""Jobs that name others and can have no mate, arrays and heterogeneous ones: who waits for them hears that at once."""

from __future__ import annotations

import pytest

from cosched.core.coscheduling.mateless import Mateless
from cosched.core.coscheduling.names import UNSUBMITTED, no_pair
from cosched.core.effects import Answer, Call
from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import GetMateJobId, GetMember, MateProblem, MemberTold, TellMember
from cosched.core.settings import OnMateUnknown, Scheme

from .driver import DomainA, called, detail, of

ARRAY = no_pair(MateProblem.ARRAY)
PAIR = Mateless("ann", ("B",), "p", of_group=False, problem=MateProblem.ARRAY)
GROUP = Mateless("ann", ("B", "C"), "p", of_group=True, problem=MateProblem.HETEROGENEOUS)
OF_PAIR = GetMateJobId("k", "p", None, "ann")
OF_GROUP = GetMember("k", "p", ("A", "B", "C"), "ann")


def answer(a: DomainA, question: GetMateJobId | GetMember, peer: str = "B") -> object:
    """What a peer hears, whom the domain answers without a turn."""
    return a.core.incoming.known(peer, question) or of(a.feed(Asked(peer, question)), Answer)[0].answer


@pytest.mark.parametrize(
    ("job", "question"), [(PAIR, OF_PAIR), (GROUP, OF_GROUP), (PAIR, OF_PAIR._replace(pair=None, mate="7"))]
)
def test_who_asks_for_it_hears_why_there_is_no_mate_as_long_as_it_exists(a, job, question):
    before = answer(a, question)
    a.core.names.mateless.add("7", job)
    assert answer(a, question) == no_pair(job.problem)
    assert answer(a, question._replace(owner="bob")) == before
    assert answer(a, question, "D") == before, "it names nobody there"
    a.core.names.mateless.drop("7")
    assert answer(a, question) == before
    assert not a.core.names.mateless


def test_a_plain_job_of_its_name_is_the_mate(a):
    a.core.names.mateless.add("7", PAIR)
    a.submit("j", "p", owner="ann")
    assert answer(a, OF_PAIR).job == "j"


@pytest.mark.parametrize(("job", "question"), [(PAIR, OF_PAIR), (GROUP, OF_GROUP)])
def test_those_are_found_who_have_asked_before_it_came(a, job, question):
    assert answer(a, question) == UNSUBMITTED
    assert a.core.names.mateless.add("7", job._replace(owner="bob")) == []
    assert a.core.names.mateless.add("8", job) == [("B", "k")]


def test_the_tasks_of_an_array_are_jobs_and_its_own_name_and_other_tasks_are_none(a):
    asked = {name: OF_PAIR._replace(caller=f"k{name}", pair=name) for name in ("p", "p[1]", "p[2]", "p[9]")}
    assert {answer(a, question) for question in asked.values()} == {UNSUBMITTED}
    tasks = PAIR._replace(tasks=frozenset({1, 2}))
    assert a.core.names.mateless.add("7", tasks) == [("B", "kp"), ("B", "kp[9]")]
    a.submit("j", "p[1]", owner="ann")
    assert answer(a, asked["p[1]"]).job == "j"
    assert answer(a, asked["p[2]"]) == UNSUBMITTED, "it is about to come"
    assert answer(a, asked["p"]) == answer(a, asked["p[9]"]) == ARRAY


def test_a_plain_job_of_the_name_of_an_array_is_no_task_s_mate(a):
    a.submit("j", "p", owner="ann")
    assert answer(a, OF_PAIR._replace(pair="p[1]")) == ARRAY
    assert answer(a, OF_PAIR._replace(pair="q[1]")) == UNSUBMITTED


@pytest.mark.parametrize("holds", [False, True])
def test_who_waits_for_it_asks_when_told_and_waits_with_the_reason(holds):
    """With its nodes or without: as for any other that it may not have."""
    a = DomainA(scheme=Scheme.HOLD, release_interval=1200, on_mate_unknown=OnMateUnknown.WAIT)
    a.submit("j", "p", owner="ann")
    if holds:
        a.ready()
        a.reply(UNSUBMITTED)
        assert a.state() is JobState.HOLDING
    a.now = 10
    effects = a.feed(Asked("B", TellMember("j", "7", 1)))
    assert [each.answer for each in of(effects, Answer)] == [MemberTold(True)]
    assert called(effects) == GetMateJobId("j", "p", None, "ann")
    effects = a.reply(ARRAY)
    assert (a.state(), a.job().problem) == (JobState.QUEUED, "array")
    assert detail(effects, "yields" if holds else "names a wrong mate")["problem"] == "array"
    assert of(a.feed(Asked("B", TellMember("j", "7", 1))), Call) == [], "a copy"
