"""Whether what a laboratory with Grid Engine needs is installed; else its tests are skipped."""

from __future__ import annotations

import pytest

from deploy.gridengine.lab import is_installed
from deploy.slurm.lab.programs import missing_programs
from tests.slurm.cosched_hooks import check_for_compiler


def check(*kinds: str) -> None:
    """Skip the test if a batch system of these kinds is not there."""
    if "gridengine" in kinds and not is_installed():
        pytest.skip("Grid Engine is not installed here, or we are not root")
    if "slurm" in kinds:
        if missing_programs():
            pytest.skip("Slurm is not installed here")
        check_for_compiler()
