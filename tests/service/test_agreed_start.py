"""The instants at which mates start: proposed, answered and heard, with the clocks of two domains apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.core.protocol import FOREVER
from cosched.service.peers.agreed_start import AHEAD, MAX_AHEAD, AgreedStart
from cosched.service.peers.clock_offset import Offset

NOW = 1_800_000_000.0
KNOWN = Offset(0.25, 0.001)


def agreed(lead: float | None = 0.3, offset: Offset | None = KNOWN, most: float = 0.5, now: float = NOW) -> AgreedStart:
    return AgreedStart(None if lead is None else lambda: lead, {"eureka": offset}.get, most, lambda: now)


def test_the_caller_proposes_the_earliest_instant_that_it_can_keep_to_by_the_other_s_clock():
    assert agreed().proposal("eureka", "j") == pytest.approx(NOW + 0.3 + 0.25 + 2 * 0.001, abs=1e-6)


@pytest.mark.parametrize(
    ("offset", "proposes"),
    [
        (None, False), (Offset(0.5, 0.5), True), (Offset(-0.5, 0.0), True), (Offset(0.501, 0.0), False),
        (Offset(-0.501, 0.0), False), (Offset(0.0, 0.501), False),
    ],
)  # fmt: skip
def test_nothing_is_proposed_if_the_clocks_are_not_known_to_be_near(offset, proposes):
    assert (agreed(offset=offset).proposal("eureka", "j") is not None) == proposes


@pytest.mark.parametrize("never", [agreed(lead=None), agreed(most=0.0), agreed(most=0.0, offset=Offset(0.0, 0.0))])
def test_a_domain_that_cannot_or_may_not_start_at_an_instant_never_agrees_on_one(never):
    assert never.proposal("eureka", "j") is None
    assert never.accepted(NOW + 1, "j") is None
    assert never.heard("eureka", NOW + 1) is None


def launcher(notice: float = 0.0, *, peer_waits: bool = True, most: float = 0.5) -> AgreedStart:
    """A domain that launches jobs itself; the nodes of job j are others' for so many seconds from its start."""
    made = AgreedStart(None, {"eureka": KNOWN}.get, most, lambda: NOW, waits=True, peer_waits=lambda _: peer_waits)
    made.notice = lambda job: notice if job == "j" else 0.0
    return made


def test_a_domain_that_launches_jobs_proposes_an_instant_only_where_others_must_end_first():
    assert launcher().proposal("eureka", "j") is None
    assert launcher(6).proposal("eureka", "j") == pytest.approx(NOW + 6 + 0.25 + 2 * 0.001)
    assert launcher(6).proposal("eureka", "k") is None
    assert launcher(6, most=0).proposal("eureka", "j") is None


def test_it_waits_for_an_instant_that_lies_ahead():
    assert launcher().accepted(NOW + 5, "k") == launcher().settled(NOW + 5) == NOW + 5
    assert launcher().accepted(NOW + AHEAD / 2, "k") is None, "it starts at once"
    assert launcher().accepted(NOW + MAX_AHEAD + 1, "k") is None
    assert launcher(most=0).accepted(NOW + 5, "k") is None
    assert launcher().heard("eureka", NOW + 5 + KNOWN.ahead) == NOW + 5


def test_a_job_whose_nodes_others_have_starts_later_also_if_its_mate_asks_first():
    assert launcher(6).accepted(None, "j") == NOW + 6
    assert launcher(6).accepted(NOW + 7, "j") == NOW + 7
    assert launcher(6).accepted(None, "k") is None


@pytest.mark.parametrize(("seconds", "peer_waits", "may"), [(8, True, True), (9.1, True, False), (8, False, False)])
def test_others_are_ended_later_only_if_the_peer_waits_so_long(seconds, peer_waits, may):
    assert launcher(peer_waits=peer_waits).can_be_ahead("eureka", seconds) is may
    assert not launcher(most=0).can_be_ahead("eureka", seconds)
    assert not launcher().can_be_ahead("mira", seconds)


def test_nothing_is_proposed_to_a_domain_that_is_no_peer():
    assert agreed().proposal("mira", "j") is None
    assert agreed().heard("mira", NOW) is None


def test_the_called_domain_keeps_to_the_proposal_if_it_can():
    assert agreed().accepted(NOW + 1, "j") == NOW + 1
    assert agreed().accepted(NOW + 0.1, "j") == NOW + 0.3
    assert agreed().accepted(NOW - 100, "j") == NOW + 0.3
    assert agreed(offset=None).accepted(NOW + 1, "j") == NOW + 1  # it is by its own clock
    assert agreed().accepted(None, "j") is None


def test_both_keep_to_the_later_proposal_if_they_ask_each_other_at_the_same_time():
    ours = agreed()
    proposed = ours.proposal("eureka", "j") - KNOWN.ahead
    assert ours.accepted(NOW, "j") == proposed
    assert ours.accepted(NOW, "another") == NOW + 0.3
    ours.over("j")
    assert ours.accepted(NOW, "j") == NOW + 0.3


def test_an_instant_that_is_too_far_off_is_none():
    assert agreed().accepted(NOW + MAX_AHEAD, "j") == NOW + MAX_AHEAD
    assert agreed().accepted(NOW + MAX_AHEAD + 0.001, "j") is None
    assert agreed(lead=MAX_AHEAD + 1).accepted(NOW, "j") is None
    assert agreed().heard("eureka", NOW + MAX_AHEAD + 0.25) == NOW + MAX_AHEAD
    assert agreed().heard("eureka", NOW + MAX_AHEAD + 0.251) is None


def test_holds_of_peers_are_read_by_our_clock_as_far_as_theirs_is_known():
    ahead, behind = agreed(offset=Offset(600.2, 0.01)), agreed(offset=Offset(-600.2, 0.01))
    assert (ahead.here("eureka", 10_700), behind.here("eureka", 9_500)) == (10_100, 10_100)
    assert agreed(offset=None).here("eureka", 10_100) == 10_100
    assert agreed(lead=None, most=0.0).here("eureka", 10_100) == 10_100  # it differs by less than a second
    assert [ahead.here("eureka", never) for never in (0, FOREVER)] == [0, FOREVER]


@given(ahead=st.floats(-1e6, 1e6), instant=st.integers(2**30, 2**32))
def test_instants_of_slots_are_proposed_by_the_other_s_clock_and_as_far_apart_as_ours(ahead, instant):
    ours = agreed(offset=Offset(ahead, 0.01))
    there = ours.there("eureka", instant)
    assert abs(there - ahead - instant) <= 0.5 + 1e-6
    assert ours.there("eureka", instant + 60) == there + 60


def test_instants_of_slots_stay_if_there_is_none_or_the_clock_is_not_known():
    assert [agreed().there("eureka", never) for never in (0, FOREVER)] == [0, FOREVER]
    assert agreed(offset=None).there("eureka", 10_100) == 10_100
    assert agreed(offset=None).wait("eureka", 10_100) == 0


@given(ahead=st.floats(-1e6, 1e6), wrong=st.floats(-1, 1))
def test_a_slot_is_waited_for_until_it_has_come_by_both_clocks(ahead, wrong):
    ours = agreed(offset=Offset(ahead, 0.02))
    wait = ours.wait("eureka", 1_800_000_000)
    assert 0 <= wait <= 0.53
    assert 1_800_000_000 + wait + ahead + 0.02 * wrong >= ours.there("eureka", 1_800_000_000) - 1e-6


def test_what_is_heard_is_by_our_clock():
    """Also an instant that has passed, and one that is answered when the clocks seem far apart by now."""
    assert agreed().heard("eureka", NOW + 1) == NOW + 0.75
    assert agreed().heard("eureka", NOW - 50) == NOW - 50.25
    assert agreed(offset=Offset(3.0, 0.1)).heard("eureka", NOW + 4) == NOW + 1
    assert agreed().heard("eureka", None) is agreed(offset=None).heard("eureka", NOW + 1) is None


@given(
    st.floats(-0.4, 0.4), st.tuples(st.floats(0, 0.1), st.floats(0, 0.1)), st.tuples(st.floats(0, 2), st.floats(0, 2))
)
def test_both_start_at_one_moment_that_both_can_keep_to(ahead, delays, leads):
    """Times below are the caller's; the offset is as wrong as it can be with these delays."""
    (there, back), (ours, theirs) = delays, leads
    offset = Offset(ahead + (there - back) / 2, (there + back) / 2)
    start_at = agreed(ours, offset).proposal("eureka", "j")
    received, heard = NOW + there, NOW + there + back
    answered = agreed(theirs, now=received + ahead).accepted(start_at, "j")
    instant = agreed(ours, offset, now=heard).heard("eureka", answered)
    assert abs((answered - ahead) - instant) <= offset.uncertainty + 1e-6
    assert answered - ahead >= received + theirs - 1e-6
    if answered == start_at:
        assert instant >= heard + ours - 1e-6
