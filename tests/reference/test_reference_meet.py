"""Pairs that meet, computed by hand from meet.md."""

import pytest

from .meet_cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_by_hand(name):
    assert CASES[name].simulate() == CASES[name].expected()


def test_a_slot_is_agreed_on_when_both_mates_have_been_ready():
    """ "b2 ready at 100: slot 420" """
    seen = {}
    CASES["slot kept"].simulate(watch=lambda w: seen.update({w.now: [w.entries["a", 1].slot, w.entries["b", 2].slot]}))
    assert seen[20] == [None, None]
    assert [slot.at for time in (100, 310) for slot in seen[time]] == [420] * 4
