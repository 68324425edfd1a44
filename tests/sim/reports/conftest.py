"""A report to look at."""

import pytest

from cosched_sim.reports.of_replay import write_report
from tests.sim.reports.page_examples import two_days


@pytest.fixture(scope="session")
def reported(tmp_path_factory):
    """The folder of a replay of two days of two machines, with its report."""
    folder = two_days(tmp_path_factory.mktemp("run"))
    write_report(folder)
    return folder
