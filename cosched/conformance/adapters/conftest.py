"""The batch system that the option names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
import pytest_asyncio

from cosched.conformance.adapters.worlds import World, serving
from cosched.conformance.named import named


@pytest.fixture(scope="module")
def system(request: pytest.FixtureRequest) -> Iterator[World]:
    """Yield the batch system, for all tests of a file: what is named makes a World, or a context with one."""
    made = named("cosched.worlds", request.config.getoption("cosched_adapter"))()
    opened: AbstractContextManager[World] = nullcontext(made) if isinstance(made, World) else made
    with opened as world:
        yield world


@pytest_asyncio.fixture
async def world(system: World) -> AsyncIterator[World]:
    """Yield a batch system whose nodes are all free, and are all free again at the end."""
    yield system
    async with serving(system):
        await system.clear()
