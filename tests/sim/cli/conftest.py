"""The fixtures of all commands; kernels are compiled, so that no message about it is among what a command says."""

import numpy as np
import pytest

from cosched_sim.warm_up import run_all_kernels
from tests.cli.conftest import console, logs, refused, silence  # noqa: F401


@pytest.fixture(scope="session", autouse=True)
def kernels():
    """Compiled once."""
    run_all_kernels()


@pytest.fixture
def undrawn(monkeypatch):
    """Figures of reports are empty, but their numbers are written; tests/sim/reports has those that are drawn."""
    nothing = "", '<svg height="1" viewBox="1"></svg>', np.zeros((1, 1, 4), np.uint8)
    monkeypatch.setattr("cosched_sim.reports.figures.figure._drawn", lambda _: nothing)
