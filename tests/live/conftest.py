"""Fixtures: services that are taken down whatever happens."""

from __future__ import annotations

import pytest

from tests.live.services import Pair


@pytest.fixture
def make_pair(tmp_path):
    """Makes pairs of services, not started yet."""
    made = []

    def make(**coscheduling) -> Pair:
        made.append(Pair(tmp_path / f"pair{len(made)}", **coscheduling))
        return made[-1]

    yield make
    for pair in made:
        pair.clear()
