"""What an event costs in each kind of scheduler: see `cosched.conformance`."""

from __future__ import annotations

import pytest

from cosched.conformance.schedulers.test_budgets import test_twice_the_jobs_cost_in_proportion
from tests.conformance.schedulers.kinds import SUBJECTS

__all__ = ["test_twice_the_jobs_cost_in_proportion"]
ALIKE = ("batch-easy-part", "batch-cons", "batch-none", "fluid-")  # settings of kernels alone: one of each will do
ONE = ("fluid-even", "fluid-even-slots")
KINDS = [name for name in SUBJECTS if not name.startswith(ALIKE) or name in ONE]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Leave out settings that are alike."""
    if "subject" in metafunc.fixturenames:
        metafunc.parametrize("subject", [SUBJECTS[name] for name in KINDS], ids=KINDS)
