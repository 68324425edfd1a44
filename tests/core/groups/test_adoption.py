"""Members that are named by their ids join the group (coscheduling.md, Mates); the quotes are of that page."""

import pytest

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Answer, Call, Effect, HasMate, Record, SetTimer, Timer
from cosched.core.events import Asked, Finished, Linked, Ready, Submitted, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Found, GetMember, MateJobId, MateProblem, named_group, named_mate
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.core.story import What
from tests.core.groups.world import World, settle

QUESTION = GetMember("a1", "g", ("A", "B", "C"), "ann", member="j")
JOINED = MateJobId(Found.MATE, "j")


@pytest.fixture
def b() -> Coscheduler:
    """Domain B with job j, which names nobody."""
    core = Coscheduler("B", 10, CoschedulingSettings(mate_patience=500))
    core.handle(Submitted("j", named_mate(""), "ann", adoptable=True), 0)
    return core


def asked(b: Coscheduler, question: GetMember = QUESTION) -> list[Effect]:
    return b.handle(Asked("A", question), 5)


def answered(b: Coscheduler, question: GetMember = QUESTION) -> MateJobId:
    [answer] = [effect.answer for effect in asked(b, question) if type(effect) is Answer]
    return answer


def refused(problem: MateProblem) -> MateJobId:
    return MateJobId(Found.NO_PAIR, None, problem)


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
def test_one_job_that_names_all_others_by_their_ids_is_enough(scheme):
    """ "In a group, too, one job may name others by their ids" """
    world = World(dict.fromkeys("ABC", scheme), fits="BC", named_by="A")
    for name in "ABC":
        world.pending.append((name, Ready("j", Allocation(4), FOREVER)))
        settle(world)
    assert sorted(world.started) == ["A", "B", "C"]
    assert [world.job(name).group.name for name in "ABC"] == ["g"] * 3
    assert world.job("A").group.jobs == {"B": "j", "C": "j"}


def test_the_job_joins_at_the_first_question_and_its_story_says_so_once(b):
    effects = asked(b)
    assert [effect.detail for effect in effects if type(effect) is Record] == [
        {"group": "g", "others": ["A", "C"]},
        {"mate": "a1", "peer": "A", "adopted": True},
    ]
    assert {effect.what for effect in effects if type(effect) is Record} == {What.LINKED}
    assert effects[2:] == [HasMate("j"), SetTimer("j", Timer.PATIENCE, 505), Answer("A", QUESTION, JOINED)]
    assert asked(b) == [Answer("A", QUESTION, JOINED)]
    assert b.handle(Asked("C", GetMember("c1", "g", ("A", "B", "C"), "ann")), 6)[-1].answer == JOINED


def test_a_job_that_is_there_no_more_or_is_anothers_is_not_had(b):
    assert answered(b, QUESTION._replace(member="x")) == refused(MateProblem.UNKNOWN)
    assert answered(b, QUESTION._replace(owner="eve")) == refused(MateProblem.UNKNOWN)
    b.handle(Ready("j", Allocation(4), FOREVER), 1)
    assert answered(b) == refused(MateProblem.RUNNING)
    b.handle(Finished("j", JobState.FAILED), 2)
    assert answered(b) == refused(MateProblem.FAILED)


def test_a_job_whose_owner_has_not_said_so_is_not_had(b):
    b.handle(Submitted("k", named_mate(""), "ann"), 0)
    assert answered(b, QUESTION._replace(member="k")) == refused(MateProblem.UNKNOWN)
    assert b.jobs["k"].group is None


@pytest.mark.parametrize("named", [named_mate("A", "p"), named_group("h", ("A", "C"))])
def test_a_job_that_names_others_is_not_had(b, named):
    b.handle(Linked("j", named), 1)
    assert answered(b) == refused(MateProblem.TAKEN)


def test_another_job_that_carries_the_name_is_not_the_one_that_is_named(b):
    b.handle(Submitted("k", named_group("g", ("A", "C")), owner="ann"), 1)
    assert answered(b) == refused(MateProblem.TAKEN)
    assert answered(b, QUESTION._replace(member="k")).job == "k"


@pytest.mark.parametrize("domains", [("A", "C"), ("B", "C")])
def test_a_group_without_one_of_the_two_domains_is_none(b, domains):
    assert answered(b, QUESTION._replace(domains=domains)) == refused(MateProblem.OTHER_DOMAINS)
    assert b.jobs["j"].group is None


def test_a_member_that_was_heard_of_is_asked_for_by_the_name_of_the_group(b):
    """So it is not had again, once its owner has unlinked it."""
    a = Coscheduler("A", 10, CoschedulingSettings())
    a.handle(Submitted("a1", named_group("g", ("B", "C"), ids=(("B", "j"),)), owner="ann"), 0)
    ready = a.handle(Ready("a1", Allocation(4), FOREVER), 1)
    first, of_c = [effect.request for effect in ready if type(effect) is Call]
    assert (first, of_c) == (QUESTION, QUESTION._replace(member=None))
    a.jobs["a1"].group.know("B", "j")
    assert not a.jobs["a1"].group.ids
    answered(b)
    b.handle(Unlinked("j"), 6)
    assert answered(b, of_c) == MateJobId(Found.UNSUBMITTED, None)
