"""Fixtures for the tests with real Slurm clusters."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.slurm.lab import Cluster
from deploy.slurm.lab.programs import missing_programs
from tests.live.forked_labs import forked_services
from tests.slurm.hooks import Held, Hooks

__all__ = ["forked_services"]


@pytest.fixture(scope="session", autouse=True)
def _slurm_installed() -> None:
    if missing := missing_programs():
        pytest.skip(f"Slurm is not installed here (Debian: slurm-wlm): there is no {', '.join(missing)}")


@pytest.fixture(scope="session")
def hooks() -> Iterator[Hooks]:
    """The hooks of all clusters here, in a folder that every user can reach, as pytest's are not."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-hooks-"))
    yield Hooks(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def cluster(hooks: Hooks) -> Iterator[Cluster]:
    """A cluster with all hooks: 4 nodes of 50 CPUs, for tests that leave it as it was."""
    with hooks.lab(nodes=4, cpus=50) as lab:
        for folder in (lab.directory, lab["intrepid"].directory):
            folder.chmod(0o755)  # jobs of other users
        yield lab["intrepid"]


@pytest.fixture
def hold(cluster: Cluster, hooks: Hooks) -> Iterator[Callable[..., Held]]:
    """Submits a job to the cluster and returns it held; what is left of it at the end is cancelled."""
    jobs: list[Held] = []

    def hold(script: str = "true", *options: str) -> Held:
        jobs.append(Held(cluster, hooks, script, *options))
        return jobs[-1]

    yield hold
    cluster.scancel(*(job.id for job in jobs))
