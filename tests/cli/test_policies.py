"""Policies that other packages give names, by entry points."""

from importlib.metadata import EntryPoint

import pytest

from cosched.sim.configuration import Domain
from cosched.validation import policies

EXPRESSION = "wait / requested"


@pytest.fixture
def installed(monkeypatch):
    """Put the entry points of a package there."""

    def install(name: str, target: str) -> None:
        found = EntryPoint(name, target, policies.GROUP)
        monkeypatch.setattr(
            policies, "entry_points", lambda group, name: [found] if (group, name) == (found.group, found.name) else []
        )

    return install


def policy(name: str) -> str:
    return Domain(name="a", trace="a.swf", policy=name).policy


def test_a_name_stands_for_its_expression(installed):
    installed("patient", f"{__name__}:EXPRESSION")
    assert policy("patient") == EXPRESSION


def test_ours_and_expressions_stay_as_they_are(installed):
    installed("wfp", f"{__name__}:EXPRESSION")
    assert policy("wfp") == "wfp"
    assert policy("min(wait, 9)") == "min(wait, 9)"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("no.such.module:POLICY", "the policy 'site' cannot be loaded: No module named 'no'"),
        (f"{__name__}:policy", "the policy 'site' is not the text of an expression"),
        (f"{__name__}:__name__", "unexpected"),
    ],
)
def test_one_that_cannot_be_used(installed, target, reason):
    installed("site", target)
    with pytest.raises(ValueError, match=reason):
        policy("site")
