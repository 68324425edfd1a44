"""The transitions as data: what is not in the table is illegal and changes nothing; what is in it obeys TRANSITIONS."""

import copy
from dataclasses import replace
from typing import get_args

import pytest

from cosched.core import events, protocol
from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.incoming import STATUS
from cosched.core.coscheduling.ledger import IllegalEvent
from cosched.core.domain import PolicyDomain
from cosched.core.effects import ForScheduler, Record
from cosched.core.events import Answered, CallFailed, Event, Finished, Ready, Tried
from cosched.core.job import TRANSITIONS, JobState, may_become
from cosched.core.protocol import FOREVER, Failure, Found, GetMateStatus, MateTried, Request, Status, named_mate
from cosched.core.settings import CoschedulingSettings

from . import golden
from .driver import DomainA, parts

CORE = DomainA().core
TABLE = CORE.table
KINDS = (
    Ready, Answered, CallFailed, events.RetryDue, events.TellDue, Tried, events.TriedReady, events.LeaseOver,
    events.CheckDue, events.SuccessorDue, events.ReleaseDue, events.NodesLost, events.PatienceOver, events.MateHeardOf,
    events.StartedUnasked, events.Requeued, events.RunsOn, Finished, events.Linked, events.Unlinked,
    events.MayBeEarlier, events.Quoted, events.Booked, events.Claimed, events.SlotDue, events.SlotLapsed,
)  # fmt: skip
CASES = [(state, kind) for state in JobState for kind in KINDS]


def in_state(state: JobState) -> DomainA:
    """Domain A with job j in this state, whatever led to it."""
    a = DomainA(mate_patience=500)
    if state is JobState.HOLDING:
        a.hold_or_yield()
    elif state is JobState.READY:
        a.run_job(Status.QUEUING)
    else:
        a.submit()
        a.asked_id()
        a.job().state = state
    return a


def event_of(kind: type, a: DomainA) -> Event:
    found = protocol.MateJobId(Found.MATE, "k")
    answers = {
        protocol.GetMateJobId: found,
        GetMateStatus: protocol.MateStatus(Status.QUEUING, 0, None),
        protocol.TryStartMate: MateTried(True),
    }
    asked = a.awaited() or GetMateStatus("k", "j")
    plain = {
        Answered: Answered("j", asked, answers[type(asked)]),
        events.TriedReady: events.TriedReady("j", None),
        Ready: Ready("j", Allocation(4), FOREVER),
        CallFailed: CallFailed("j", asked, Failure.UNREACHABLE),
        Tried: Tried("j", Allocation(4)),
        Finished: Finished("j", JobState.CANCELLED),
        events.Quoted: events.Quoted("j", None, False),
        events.Booked: events.Booked("j", 5, 1, None, False),
        events.Claimed: events.Claimed("j", None, False),
        events.MateHeardOf: events.MateHeardOf("j", found),
        events.Linked: events.Linked("j", named_mate("B", "other")),
    }
    return plain.get(kind) or kind("j")


def snapshot(core: Coscheduler) -> object:
    return copy.deepcopy(parts(core))


def raises_and_changes_nothing(a: DomainA, event: Event) -> None:
    before = snapshot(a.core)
    with pytest.raises(IllegalEvent):
        a.feed(event)
    assert parts(a.core) == before


def test_every_kind_of_event_of_a_job_is_looked_up():
    assert set(KINDS) == {kind for _, kind in TABLE}
    of_a_job = set(KINDS)
    of_all = {kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event)}
    assert of_all - {events.JobEvent, events.PeerEvent} == of_a_job | set(CORE.others)


@pytest.mark.parametrize(("state", "kind"), [case for case in CASES if case not in TABLE])
def test_an_event_that_is_not_in_the_table_raises_and_changes_nothing(state, kind):
    """ "An event that has no row raises an error and changes nothing." (architecture.md)"""
    a = in_state(state)
    raises_and_changes_nothing(a, event_of(kind, a))


@pytest.mark.parametrize(("state", "kind"), sorted(TABLE, key=lambda row: (row[0], KINDS.index(row[1]))))
def test_an_event_that_is_in_the_table_leads_to_a_legal_state(state, kind):
    a = in_state(state)
    if kind is Tried:
        a = in_state(JobState.QUEUED)
        a.asked_try()
        a.job().state = state
    if kind is events.Linked and state is JobState.READY:
        a = in_state(JobState.QUEUED)
        a.ready()  # it asks for its mate, and does not try to start it yet
    a.feed(event_of(kind, a))
    assert a.state() is state or may_become(state, a.state())


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not Finished])
def test_an_event_of_an_unknown_job_raises_and_changes_nothing(kind):
    raises_and_changes_nothing(DomainA(), replace(event_of(kind, in_state(JobState.QUEUED)), job="x"))


@pytest.mark.parametrize("state", [state for state in JobState if (state, Finished) in TABLE])
@pytest.mark.parametrize("how", JobState)
def test_a_job_ends_in_a_final_state_that_may_follow(state, how):
    a = in_state(state)
    if how.final and how in TRANSITIONS[state]:
        a.finish(how)
        assert a.state() is how
    else:
        raises_and_changes_nothing(a, Finished("j", how))


def test_the_outcome_of_a_try_that_nobody_asked_for_is_illegal():
    raises_and_changes_nothing(in_state(JobState.QUEUED), Tried("j", Allocation(4)))


def test_another_mate_while_the_mate_may_be_starting_and_the_end_of_no_link_are_illegal():
    raises_and_changes_nothing(in_state(JobState.READY), events.Linked("j", named_mate("B", "other")))
    a = in_state(JobState.QUEUED)
    a.feed(events.Unlinked("j"))
    raises_and_changes_nothing(a, events.Unlinked("j"))


def test_a_submission_that_is_refused_changes_nothing():
    a = in_state(JobState.QUEUED)
    before = snapshot(a.core)
    for job, pair in (("j", "other"), ("i", "j")):
        with pytest.raises(ValueError, match="its pair is that of job j already"):
            a.submit(job, pair=pair)
    assert parts(a.core) == before


def test_records_are_made_only_where_they_are_wanted():
    told, untold = (Coscheduler("A", 10, CoschedulingSettings(), **wanted) for wanted in ({}, {"story": False}))
    event = events.Submitted("j", named_mate("B", "p"))
    assert [type(effect) for effect in told.handle(event, 0)] == [Record]
    assert untold.handle(event, 0) == []


def test_every_state_has_a_status_and_transitions():
    assert set(STATUS) == set(TRANSITIONS) == set(JobState)
    assert [state for state in JobState if not TRANSITIONS[state]] == [state for state in JobState if state.final]


def as_text() -> str:
    """The table for a reader: a row per event, a column per state; `.` is ignored, an empty cell illegal."""
    states = [state for state in JobState if any(state == s for s, _ in TABLE)]
    lines = [["", *(state.name for state in states)]]
    for kind in KINDS:
        lines.append([kind.__name__, *(_cell(state, kind) for state in states)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join("  ".join(map(str.ljust, line, widths)).rstrip() + "\n" for line in lines)


def _cell(state: JobState, kind: type) -> str:
    if (state, kind) not in TABLE:
        return ""
    transition = TABLE[state, kind]
    name = getattr(transition, "__name__", None) or transition.args[0].__name__  # or a part of one
    name = name.lstrip("_")
    return "." if name == "ignore" else name


def test_every_request_and_every_effect_on_the_scheduler_is_carried_out():
    def members(union: object) -> set[object]:
        return {each for part in get_args(union) for each in (members(part) or {part})}

    assert CORE.incoming.requests().keys() == members(Request)
    assert PolicyDomain._CARRY_OUT.keys() == members(ForScheduler)


def test_the_table_can_be_printed():
    golden.check("transition_table.txt", as_text())
