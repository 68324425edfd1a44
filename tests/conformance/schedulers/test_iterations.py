"""Iterations of each kind of scheduler: see `cosched.conformance`."""

from __future__ import annotations

import pytest

from cosched.conformance.schedulers.test_iterations import *  # noqa: F403
from tests.conformance.schedulers.kinds import SUBJECTS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give them each scheduler."""
    metafunc.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
