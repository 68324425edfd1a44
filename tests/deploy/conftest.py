"""What is handed out, built once, and fresh environments that have nothing else of the tree."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
# Of another process: one that inherits nothing from this one's environment.
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA", "COSCHED"))}


def run(folder: Path, *command: object, **environment: str) -> str:
    ran = subprocess.run(
        [str(part) for part in command],
        cwd=folder, env=PLAIN | environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def the(kind: str, made: Path) -> Path:
    (path,) = made.glob(kind)
    return path


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """The folder with all distributions, built and checked as `make dist` does."""
    folder = tmp_path_factory.mktemp("dist")
    run(TOP, "sh", "deploy/dist.sh", folder, PYTHON=sys.executable)
    return folder


def environment(folder: Path, made: Path, extras: str = "sim") -> Path:
    """The `bin` of an empty environment that got the wheel, and those that the extras bring."""
    lines = (TOP / "requirements.lock").read_text().splitlines()
    versions = [line.split()[0] for line in lines if line[:1].isalnum() and "==" in line]
    (folder / "versions").write_text("\n".join(versions))
    run(folder, sys.executable, "-m", "venv", "venv")
    pip = ["venv/bin/pip", "install", "--quiet", "--constraint", "versions", "--find-links", made]
    run(folder, *pip, f"{the('coscheduling-*.whl', made)}{extras and f'[{extras}]'}")
    return folder / "venv/bin"


@pytest.fixture(scope="session")
def installed(made: Path, tmp_path_factory) -> Path:
    """The `bin` of an environment with all wheels."""
    return environment(tmp_path_factory.mktemp("installed"), made, "papers")
