"""Mutations of the slow simulator: each wrong reading of meet.md is caught by a case, and gives the starts it must."""

import pytest

from .meet_cases import CASES, starts
from .meet_mistakes import MISTAKES


@pytest.mark.parametrize("name", MISTAKES)
def test_a_case_catches_it(name, monkeypatch):
    case, elsewhen, wrong_code = MISTAKES[name]
    monkeypatch.setattr(*wrong_code)
    assert starts(elsewhen)
    assert CASES[case].simulate() == {**CASES[case].expected(), **starts(elsewhen)}
