"""Worlds of live domains."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.conformance.schedulers.histories import new_world
from tests.conformance.schedulers.worlds import WORLDS
from tests.service.offered_world import SlurmNode


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Makes worlds, with a scheduler of this kind. Hooks of batch systems are patient with a domain that is away."""
    monkeypatch.setattr(SlurmNode, "hook_patience", 1000)
    with ExitStack() as made:

        def make(kind: str, *arguments, **settings):
            new = new_world(tmp_path, *arguments, WORLDS[kind], **settings)
            made.callback(new.close)
            return new

        yield make
