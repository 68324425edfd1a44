"""Fixtures: services that are taken down whatever happens."""

from collections.abc import Sequence

import pytest

from tests.live.services import Federation, Pair, Service


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
def make_federation(tmp_path):
    """Makes services that are all peers, not started yet."""
    made = []

    def make(names: Sequence[str], **coscheduling) -> Federation:
        made.append(Federation(tmp_path / f"federation{len(made)}", names, **coscheduling))
        return made[-1]

    yield make
    for federation in made:
        federation.clear()


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
