"""Fixtures: services that are taken down whatever happens."""

import pytest

from tests.live.services import Pair, Service


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


@pytest.fixture
def make_service(tmp_path):
    """Makes single services, not started yet; the keywords are settings of [coscheduling]."""
    made = []

    def make(name: str, **coscheduling) -> Service:
        made.append(Service(tmp_path / name, name))
        made[-1].config["coscheduling"].update(coscheduling)
        return made[-1]

    yield make
    for service in made:
        service.clear()
