"""Live replays whose services share a loop."""

from collections.abc import Iterator

import pytest

from tests.live.loop import Loop
from tests.sim.live.replays import ThreadedReplay


@pytest.fixture(scope="module")
def threaded() -> Iterator[type[ThreadedReplay]]:
    class Here(ThreadedReplay):
        loop = Loop()

    yield Here
    Here.loop.close()
