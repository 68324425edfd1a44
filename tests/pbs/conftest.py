"""Fixtures for the tests with real OpenPBS clusters."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.pbs.lab import PbsCluster, is_installed


@pytest.fixture(scope="session", autouse=True)
def _pbs_installed() -> None:
    if not is_installed():
        pytest.skip("needs root, and OpenPBS in /opt/pbs (or where COSCHED_LAB_PBS says)")


@pytest.fixture(scope="module")
def cluster() -> Iterator[PbsCluster]:
    """A cluster of four nodes, mira1 to mira4."""
    with tempfile.TemporaryDirectory(prefix="pbs-") as folder, PbsCluster("mira", Path(folder)) as cluster:
        yield cluster
