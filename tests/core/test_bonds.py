"""Which jobs end with which: what is said of it, and that nobody ends with itself by way of others (life.md)."""

from __future__ import annotations

import pytest

from cosched.core import protocol
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.membership import Bond
from cosched.core.effects import Answer
from cosched.core.events import Asked, Linked, Submitted
from cosched.core.job import JobState
from cosched.core.protocol import NO_TERMS, Found, GetMateJobId, GetMember, MateJobId, Terms, named_group, named_mate
from cosched.core.settings import CoschedulingSettings

from .driver import DomainA, answered, called, of

CIRCLE = MateJobId(Found.NO_PAIR, None, protocol.MateProblem.CIRCLE)
WITH_B = Terms(ends_with=("B",), fail_together=True)


def submitted(terms: Terms = NO_TERMS) -> DomainA:
    """Domain A with job j, which has these terms."""
    a = DomainA()
    a.feed(Submitted("j", named_mate("B", "run7")._replace(terms=terms)))
    return a


def test_a_question_says_when_the_job_ends_with_others():
    """ "whose link says ends-with or fail-together (GetMateJobId and GetMember say so)" """
    a = submitted(WITH_B)
    assert called(a.ready()) == GetMateJobId("j", "run7", None, "", ("B",), True)
    a.feed(Submitted("g", named_group("g", ("B",))._replace(terms=WITH_B)))
    assert called(a.ready("g")) == GetMember("g", "g", ("A", "B"), "", ends_with=("B",), fail_together=True)


def test_what_is_said_is_on_record_before_the_answer_leaves():
    """What the domain may answer without a record, it does not say then."""
    a = submitted()
    question = GetMateJobId("k", "run7", None, "")
    for bond, request in (
        (None, question),
        (Bond(("A",), False), question._replace(ends_with=("A",))),
        (None, question),
    ):
        changes = bond is not None or a.job().mate is None or bool(a.job().group.bonds)
        assert (a.core.incoming.known("B", request) is None) is changes
        a.core.ledger.changed.clear()
        assert answered(a.ask(request)) == MateJobId(Found.MATE, "j")
        assert a.core.ledger.changed == {"j": None}
        assert a.job().group.bonds.get("B") == bond
        assert a.core.incoming.known("B", request) == MateJobId(Found.MATE, "j")


def test_it_is_known_again_of_one_that_is_linked_in_another_way():
    """Its mate need not say it once more."""
    a = submitted()
    a.ask(GetMateJobId("k", "run7", None, "", ("A",)))
    a.feed(Linked("j", named_mate("B", "run7", or_alone=True)))
    assert a.job().group.bonds == {"B": Bond(("A",), False)}
    a.feed(Linked("j", named_mate("B", "run8")))
    assert not a.job().group.bonds


@pytest.mark.parametrize("known", [False, True])
def test_two_that_would_end_with_each_other_are_no_pair(known):
    """ "No circle among members: when joining by name shows it, the second is refused by the answer." """
    a = submitted(Terms(ends_with=("B",)))
    question = GetMateJobId("k", "run7", None, "", ("A",))
    if known:
        a.ask(question._replace(ends_with=()))
    assert answered(a.ask(question)) == CIRCLE
    assert answered(a.ask(question._replace(ends_with=(), fail_together=True))).found is Found.MATE


def test_jobs_that_fail_together_are_no_circle():
    a = submitted(Terms(fail_together=True))
    assert answered(a.ask(GetMateJobId("k", "run7", None, "", (), True))) == MateJobId(Found.MATE, "j")


@pytest.mark.parametrize(
    ("ends", "refused"),
    [
        ({"A": "B", "B": "C", "C": "A"}, "C"),
        ({"A": "B", "B": "A"}, "B"),
        ({"A": "BC", "B": "C"}, ""),
        ({"B": "C", "C": "B"}, "C"),
    ],
)
def test_a_group_has_no_circle(ends, refused):
    """ "(in a group of three a and b alone are one)" """
    cores = {name: Coscheduler(name, 10, CoschedulingSettings()) for name in "ABC"}
    said = {}
    for name, core in cores.items():  # each is submitted, and asks all others
        others = tuple("ABC".replace(name, ""))
        terms = Terms(ends_with=tuple(ends.get(name, "")))
        core.handle(Submitted("j", named_group("g", others)._replace(terms=terms)), 0)
        for other in others:
            question = core.jobs["j"].group.lookup("j", "", other)
            [answer] = of(cores[other].handle(Asked(name, question), 0), Answer)
            said[name, other] = answer.answer
    assert {name for (name, _), answer in said.items() if answer == CIRCLE} == {*refused}


def test_a_job_ends_only_with_those_that_it_names(a):
    with pytest.raises(ValueError, match="it is to end with a job on C, and names none there"):
        a.feed(Submitted("j", named_mate("B", "run7")._replace(terms=Terms(ends_with=("C",)))))


def test_who_takes_the_place_of_a_mate_says_it_anew():
    a = submitted()
    a.ask(GetMateJobId("k", "run7", None, "", ("A",)))
    assert a.state() is JobState.QUEUED
    a.job().group.know("B", "l")
    assert not a.job().group.bonds
