"""The options of pytest: they add a suite to what is asked for, or stand for it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("cosched.conformance.adapters", "cosched.conformance.schedulers")

SUITES = {"cosched_scheduler": "schedulers", "cosched_adapter": "adapters"}  # by option


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("cosched", "promises of schedulers and batch systems of cosched")
    scheduler = "test this scheduler: its entry point of the group cosched.schedulers, or MODULE:KIND"
    adapter = "test this batch system: its entry point of the group cosched.worlds, or MODULE:WORLD"
    seeds = "random histories of a scheduler (default: 50)"
    group.addoption("--cosched-scheduler", metavar="NAME", help=scheduler)
    group.addoption("--cosched-adapter", metavar="NAME", help=adapter)
    group.addoption("--cosched-seeds", metavar="COUNT", type=int, default=50, help=seeds)


def pytest_configure(config: pytest.Config) -> None:
    """Collect the suites of these options; without other arguments, only them."""
    folder = Path(__file__).parent
    suites = [str(folder / suite) for option, suite in SUITES.items() if config.getoption(option, None)]
    if suites:
        given = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
        config.args = [*given, *suites]
