"""The batch systems under test: the example in memory always, real ones in the long tier, where they are installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from deploy.pbs.lab import is_installed
from deploy.slurm.lab.programs import missing_programs
from tests.conformance.worlds import Memory, PbsSite, RealPbs, RealSlurm, World, serving, slurm


@pytest.fixture(
    scope="module",
    params=["memory", pytest.param("slurm", marks=pytest.mark.soak), pytest.param("pbs", marks=pytest.mark.soak)],
)
def system(request: pytest.FixtureRequest) -> Iterator[World]:
    """A batch system, for all tests of a file."""
    if request.param == "memory":
        yield Memory()
    elif request.param == "slurm":
        if missing_programs():
            pytest.skip("Slurm is not installed here")
        with slurm() as clusters:
            yield RealSlurm(*clusters["intrepid"])
    else:
        if not is_installed():
            pytest.skip("OpenPBS is not installed here, or we are not root")
        with PbsSite() as cluster:
            yield RealPbs(cluster)


@pytest.fixture
async def world(system: World) -> AsyncIterator[World]:
    """A batch system whose nodes are all free, and are all free again at the end."""
    yield system
    async with serving(system):
        await system.clear()
