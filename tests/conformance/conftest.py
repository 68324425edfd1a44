"""The batch systems under test: the example in memory and a recorded PBS always, real ones in the long tier."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from cosched.conformance.adapters.conftest import world
from cosched_adapters import root_hooks, watch
from cosched_adapters.pbs import held_nodes, manager
from deploy.gridengine.lab import is_installed as is_gridengine_installed
from deploy.pbs.lab import is_installed
from deploy.slurm.lab.programs import missing_programs
from tests.conformance.recorded_pbs import RecordedServer
from tests.conformance.worlds import (
    NODES,
    Memory,
    RealGridEngine,
    RealPbs,
    RealSlurm,
    RecordedPbs,
    World,
    gridengine_site,
    pbs_site,
    slurm,
)

__all__ = ["world"]


@pytest.fixture(
    scope="module",
    params=[
        "memory",
        "pbs-recorded",
        pytest.param("slurm", marks=pytest.mark.soak),
        pytest.param("pbs", marks=pytest.mark.soak),
        pytest.param("gridengine", marks=pytest.mark.soak),
    ],
)
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A batch system, for all tests of a file."""
    if request.param == "memory":
        yield Memory()
    elif request.param == "pbs-recorded":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(root_hooks, "_ROOT", os.geteuid())  # we stand for the server
            patch.setattr(watch, "PACE", 0.05)
            patch.setattr(manager, "OTHERS_TURN", 0.3)
            patch.setattr(held_nodes, "LOST_AFTER", 0.2)
            yield RecordedPbs(RecordedServer(tmp_path_factory.mktemp("pbs"), patch, NODES))
    elif request.param == "slurm":
        if missing_programs():
            pytest.skip("Slurm is not installed here")
        with slurm() as clusters:
            yield RealSlurm(*clusters["intrepid"])
    elif request.param == "gridengine":
        if not is_gridengine_installed():
            pytest.skip("Grid Engine is not installed here, or we are not root")
        with gridengine_site() as cluster:
            yield RealGridEngine(cluster)
    else:
        if not is_installed():
            pytest.skip("no OpenPBS here, or we are not root: only its recorded double was asked (pbs-recorded)")
        with pytest.MonkeyPatch.context() as patch, pbs_site() as cluster:
            patch.setattr(held_nodes, "LOST_AFTER", 5.0)
            yield RealPbs(cluster)
