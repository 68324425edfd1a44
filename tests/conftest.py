"""Fixtures for all tests."""

import gc
import os
import signal
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from cosched.installation.compilation import use_kernel_cache
from cosched.schedulers.loading import OF_PAPERS
from deploy.slurm.lab.programs import search_path
from tests import tiers
from tests.installed import PAPERS, SIMULATOR

use_kernel_cache()  # before any test imports a kernel

# Before tests of any folder import them, so that their assertions tell what they have seen.
pytest.register_assert_rewrite(
    "cosched.conformance.adapters",
    "cosched.conformance.schedulers",
    "tests.live.coupled",
    "tests.live.coupled_labs",
    "tests.service.group_histories",
    "tests.slurm.coupled_checks",
)

# A shell that runs the tests in the background has them ignore an interrupt. The commands that they start must not.
signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["PATH"] = search_path(os.environ["PATH"])  # for tests that call Slurm's commands without a laboratory's help

# The same examples at every run, so that what passes here passes elsewhere; others: --hypothesis-profile=default.
# None fails because the machine is slow just now.
settings.register_profile(
    "recorded", max_examples=50, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("recorded")

# The public job logs lie beside the project, not in it: its own page says where they come from.
TRACES = Path(__file__).resolve().parents[1].parent / "shared" / "traces"


@pytest.fixture(autouse=True)
def kernel_cache(monkeypatch):
    """That of this process, also after a test in which a command took another user's."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.environ["NUMBA_CACHE_DIR"])


# What is imported and collected stays to the end of the run: no collection of garbage need look at it.
gc.disable()


def pytest_collection_finish() -> None:
    """From here on there is garbage."""
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Before modules of tests ask for their seeds."""
    tiers.configure(config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the simulator and of papers' schedulers are skipped where these are not installed."""
    for item in items:
        if not SIMULATOR and item.get_closest_marker("sim"):
            item.add_marker(pytest.mark.skip(reason="the simulator is not installed"))
        if not PAPERS and (item.get_closest_marker("papers") or _names_a_scheduler_of_papers(item)):
            item.add_marker(pytest.mark.skip(reason="the schedulers of papers are not installed"))


def _names_a_scheduler_of_papers(item: pytest.Item) -> bool:
    """Whether it is one of them, or several in a tuple, for which this test is."""
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    named = chain.from_iterable(each if isinstance(each, tuple) else [each] for each in given)
    return any(isinstance(each, str) and each in OF_PAPERS for each in named)


def pytest_report_header() -> str:
    """What repeats this run of soak."""
    return f"soak seed: {tiers.SEED}"


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder with the public job logs; tests that need it are skipped where it is not."""
    if not TRACES.is_dir():
        pytest.skip(f"no job logs to test with: {TRACES} is missing")
    return TRACES


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder for Unix sockets, whose paths have at most 107 bytes: that of `tmp_path` takes most of these."""
    with TemporaryDirectory(prefix="cosched-") as folder:
        yield Path(folder)


@pytest.fixture
def pki(tmp_path):
    """A certificate authority of its own."""
    from tests.service.pki import Pki

    return Pki(tmp_path / "pki")


@pytest.fixture
def cosched(tmp_path, monkeypatch):
    """Run a command in this process, in a folder of its own."""
    from click.testing import CliRunner

    from cosched.cli.main import main

    monkeypatch.chdir(tmp_path)

    def run(*args, exit_code=0, **options):
        result = CliRunner().invoke(main, [str(arg) for arg in args], prog_name="cosched", **options)
        assert result.exit_code == exit_code, (result.output, result.exception)
        return result

    return run
