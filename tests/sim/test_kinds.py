"""Kinds of schedulers are found by entry points; what is wrong with one is told in one line."""

from importlib.metadata import EntryPoint

import pytest

from cosched.errors import InputError
from cosched.schedulers import loading

OURS = {"batch": "cosched.schedulers.batch:BATCH", "fluid": "cosched.schedulers.fluid:FLUID"}


def found(monkeypatch, installed):
    entries = [EntryPoint(name, value, loading.GROUP) for name, value in installed.items()]
    monkeypatch.setattr(loading, "entry_points", lambda **_: entries)
    return loading.installed.__wrapped__()


def test_ours(monkeypatch):
    assert list(found(monkeypatch, OURS)) == ["batch", "fluid"]


@pytest.mark.parametrize(
    ("installed", "said"),
    [
        ({}, "cosched.schedulers:batch: is no installed entry point: install this version of cosched again"),
        ({**OURS, "gone": "no_such_module:KIND"}, "scheduler gone: cannot be loaded: No module named 'no_such_module'"),
        ({**OURS, "mine": OURS["fluid"]}, "scheduler mine: cosched.schedulers.fluid:FLUID is no SchedulerKind"),
    ],
)
def test_mistakes_are_one_line(monkeypatch, installed, said):
    with pytest.raises(InputError) as caught:
        found(monkeypatch, installed)
    assert str(caught.value).startswith(said)


def test_two_kinds_with_the_same_key(monkeypatch):
    from cosched.schedulers.fluid import FLUID, FluidKind

    class Other(FluidKind):
        name = "other"

    monkeypatch.setattr("cosched.schedulers.fluid.OTHER", Other(), raising=False)
    with pytest.raises(InputError, match="scheduler other:benefit: is a key of fluid, too: give it another name"):
        found(monkeypatch, {**OURS, "other": "cosched.schedulers.fluid:OTHER"})
    assert FLUID.keys is Other.keys
