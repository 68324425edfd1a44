"""Fixtures: services that are taken down whatever happens."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count

import pytest

from tests.live.services import Federation, Pair, Service


@pytest.fixture
def made() -> Iterator[ExitStack]:
    """What is made for a test, and taken down after it."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def make_pair(tmp_path, made) -> Callable[..., Pair]:
    """Makes pairs of services, not started yet."""
    numbers = count()
    return lambda **coscheduling: made.enter_context(Pair(tmp_path / f"pair{next(numbers)}", **coscheduling))


@pytest.fixture
def make_federation(tmp_path, made) -> Callable[..., Federation]:
    """Makes services that are all peers, not started yet; once in a test."""
    return lambda names, **coscheduling: made.enter_context(Federation(tmp_path / "federation", names, **coscheduling))


@pytest.fixture
def make_service(tmp_path, made) -> Callable[..., Service]:
    """Makes single services, not started yet; the keywords are settings of [coscheduling]."""

    def make(name: str, **coscheduling) -> Service:
        service = made.enter_context(Service(tmp_path / name, name))
        service.config["coscheduling"].update(coscheduling)
        return service

    return make
