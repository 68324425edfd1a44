"""Pairs and groups that meet, computed by hand; and wrong readings of the rules, each of which a case catches.

Such a reading gives the starts that it must.
"""

import pytest

from . import group_meet_cases, group_meet_mistakes, meet_cases, meet_mistakes

ALL = {
    "pairs": (meet_cases.CASES, meet_mistakes.MISTAKES),
    "groups": (group_meet_cases.CASES, group_meet_mistakes.MISTAKES),
}


@pytest.mark.parametrize(("of", "name"), [(of, name) for of, (cases, _) in ALL.items() for name in cases])
def test_by_hand(of, name):
    case = ALL[of][0][name]
    assert case.simulate() == case.expected()


@pytest.mark.parametrize(("of", "name"), [(of, name) for of, (_, mistakes) in ALL.items() for name in mistakes])
def test_a_case_catches_it(of, name, monkeypatch):
    cases, mistakes = ALL[of]
    case, elsewhen, wrong_code = mistakes[name]
    monkeypatch.setattr(*wrong_code)
    wrong = meet_cases.starts(elsewhen)
    assert wrong
    assert cases[case].simulate() == {**cases[case].expected(), **wrong}


def test_a_slot_is_agreed_on_when_both_mates_have_been_ready():
    """ "b2 ready at 100: slot 420" """
    seen = {}
    case = meet_cases.CASES["slot kept"]
    case.simulate(watch=lambda w: seen.update({w.now: [w.entries["a", 1].slot, w.entries["b", 2].slot]}))
    assert seen[20] == [None, None]
    assert [slot.at for time in (100, 310) for slot in seen[time]] == [420] * 4
