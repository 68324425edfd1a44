"""Fixtures for the tests with real Slurm clusters."""

import pytest

from deploy.slurm.lab.programs import missing_programs
from tests.live.forked_labs import forked_services

__all__ = ["forked_services"]


@pytest.fixture(scope="session", autouse=True)
def _slurm_installed() -> None:
    if missing := missing_programs():
        pytest.skip(f"Slurm is not installed here (Debian: slurm-wlm): there is no {', '.join(missing)}")
