"""Each kind of scheduler keeps its promises: see `cosched.conformance`."""

from __future__ import annotations

import pytest

from cosched.conformance.schedulers.test_calls import test_answers_may_be_late_and_anything_happens_meanwhile
from tests.conformance.schedulers.kinds import SUBJECTS
from tests.tiers import seeds

__all__ = ["test_answers_may_be_late_and_anything_happens_meanwhile"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give it each scheduler, with its seeds."""
    metafunc.parametrize("seed", seeds(1, 200))
    metafunc.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
