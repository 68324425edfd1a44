"""The suites as a package outside this repository has them: by an option of pytest, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cosched.conformance.named import named

ROOT = Path(__file__).resolve().parents[2]
WRONG = """
from example_scheduler import EXPRESS, Express

class Forgets(Express):
    def kept(self, job):
        return {}

    def hold(self, job, now, deadline):
        super().hold(job, now, deadline)
        self.free += 1

class Kind(type(EXPRESS)):
    def open(self, settings):
        return Forgets(settings.nodes, settings.express)

WRONG = Kind()
"""


def ran(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in an empty folder with the plugin, which an installed package brings by its entry point."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "cosched.conformance.plugin", "-p", "no:cacheprovider"]
    paths = map(str, (folder, ROOT / "docs" / "examples", ROOT))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [*command, *options], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_scheduler_of_another_package_is_tested(tmp_path: Path) -> None:
    done = ran(tmp_path, "--cosched-scheduler", "example_scheduler:EXPRESS", "--cosched-seeds", "2")
    assert done.returncode == 0, done.stdout
    assert "24 passed" in done.stdout  # with slots, and without


def test_a_wrong_scheduler_fails(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    done = ran(tmp_path, "--cosched-scheduler", "wrong:WRONG", "--cosched-seeds", "3", "-x")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout


def test_a_batch_system_of_another_package_is_tested(tmp_path: Path) -> None:
    done = ran(tmp_path, "--cosched-adapter", "tests.conformance.worlds:Memory", "-k", "starts or finds")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.parametrize(
    ("name", "said"), [("nowhere", "no entry point nowhere"), ("no_module:KIND", "No module named")]
)
def test_a_name_that_means_nothing_is_told(name: str, said: str) -> None:
    with pytest.raises(pytest.UsageError, match=said):
        named("cosched.schedulers", name)
