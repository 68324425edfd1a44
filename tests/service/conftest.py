"""The worlds of a test are closed after it."""

from collections.abc import Iterator

import pytest

from tests.service import world


@pytest.fixture(autouse=True)
def _closed_worlds() -> Iterator[None]:
    before = len(world.OPEN)  # those of several tests
    yield
    while len(world.OPEN) > before:
        world.OPEN[-1].close()
