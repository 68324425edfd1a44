"""The tables that are looked up by kinds of messages have all of them."""

from typing import get_args

from cosched.core import protocol
from cosched.core.coscheduling.answers import REFUSED
from cosched.core.effects import Timer
from cosched.core.protocol import GetMateJobId, GetMateStatus, MutatingRequest, Request, TellMember
from cosched.core.timers import TIMER_EVENTS
from cosched.service.domain.late_answers import SUPERSEDED, Late
from cosched.service.peers.outcomes import OF_PAIRS_ONLY
from tests.core.driver import DomainA

OF_ALGORITHM_1 = {GetMateJobId, GetMateStatus, protocol.TryStartMate, protocol.StartJob}  # which all domains know


def test_every_call_that_changes_something_can_be_refused():
    assert set(REFUSED) == set(get_args(MutatingRequest))


def test_it_is_known_what_every_late_call_is_told_when_a_later_one_is_answered():
    assert set(SUPERSEDED) == set(get_args(Late))


def test_it_is_known_what_a_domain_means_by_not_knowing_a_call():
    told_once = {TellMember}  # PeerClient
    assert set(OF_PAIRS_ONLY) == set(get_args(Request)) - OF_ALGORITHM_1 - told_once


def test_every_timer_tells_an_event():
    assert set(TIMER_EVENTS) == set(Timer)


def test_every_answer_is_looked_up():
    assert set(DomainA().core._of_answers) == set(get_args(Request)) - {TellMember}, "that is acknowledged: Telling"
