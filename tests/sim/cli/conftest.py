"""The fixtures of all commands; kernels are compiled, so that no message about it is among what a command says."""

import pytest

from cosched_sim.warm_up import run_all_kernels
from tests.cli.conftest import console, logs, refused, silence  # noqa: F401


@pytest.fixture(scope="session", autouse=True)
def kernels():
    """Compiled once."""
    run_all_kernels()
