"""Fixtures that many tests here have; the worlds of a test are closed after it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service import world
from tests.service.configured import read, refusal
from tests.service.offered_site import site, store
from tests.service.outside import Outside
from tests.service.pki import intrepid

__all__ = ["intrepid", "read", "refusal", "site", "store"]


@pytest.fixture(autouse=True)
def _closed_worlds() -> Iterator[None]:
    before = len(world.OPEN)  # those of several tests
    yield
    while len(world.OPEN) > before:
        world.OPEN[-1].close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database of a domain is, or will be."""
    return tmp_path / "intrepid.db"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What domains of worlds would send: nothing is."""
    sent: list[Any] = []
    monkeypatch.setattr(Outside, "call", lambda _, call: sent.append(call))
    return sent
