"""The scheduler that the option names, with each of its settings."""

from __future__ import annotations

import pytest

from cosched.conformance.named import named
from cosched.conformance.schedulers.subject import subjects_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test the scheduler, and each history a seed."""
    name = metafunc.config.getoption("cosched_scheduler")
    found = dict(subjects_of(name, named("cosched.schedulers", name)))
    metafunc.parametrize("subject", found.values(), ids=found)
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("cosched_seeds")))
