"""Groups that meet, with windows and without, computed by hand; and wrong readings, each of which a case catches."""

import pytest

from .group_meet_cases import CASES
from .group_meet_mistakes import MISTAKES
from .meet_cases import starts


@pytest.mark.parametrize("name", CASES)
def test_by_hand(name):
    assert CASES[name].simulate() == CASES[name].expected()


@pytest.mark.parametrize("name", MISTAKES)
def test_a_case_catches_it(name, monkeypatch):
    case, elsewhen, wrong_code = MISTAKES[name]
    monkeypatch.setattr(*wrong_code)
    assert starts(elsewhen)
    assert CASES[case].simulate() == {**CASES[case].expected(), **starts(elsewhen)}
