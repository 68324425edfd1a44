"""Pairs and groups that meet, computed by hand."""

import pytest

from . import group_meet_cases, meet_cases

CASES = {"pairs": meet_cases.CASES, "groups": group_meet_cases.CASES}


@pytest.mark.parametrize(("of", "name"), [(of, name) for of, cases in CASES.items() for name in cases])
def test_by_hand(of, name):
    case = CASES[of][name]
    assert case.simulate() == case.expected()


def test_a_slot_is_agreed_on_when_both_mates_have_been_ready():
    """ "b2 ready at 100: slot 420" """
    seen = {}
    case = meet_cases.CASES["slot kept"]
    case.simulate(watch=lambda w: seen.update({w.now: [w.entries["a", 1].slot, w.entries["b", 2].slot]}))
    assert seen[20] == [None, None]
    assert [slot.at for time in (100, 310) for slot in seen[time]] == [420] * 4
