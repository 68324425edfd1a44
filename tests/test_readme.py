"""Everything in the README works as written: its shell blocks are run in order, then its Python block."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("newcomer")


def run(command: list[str], folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_work_as_written(folder):
    assert len(blocks("sh")) >= 5
    for block in blocks("sh"):
        assert run(["bash", "-euo", "pipefail", "-c", block], folder)
    assert (folder / "run1" / "jobs.csv").stat().st_size > 100_000
    assert "'together': 958" in run([sys.executable, "-c", block_of_summary()], folder)


def block_of_summary() -> str:
    return 'import json; print(json.load(open("run1/summary.json"))["pairs"])'


def test_the_python_block_works_as_written(folder):
    for block in blocks("python"):
        assert "'desynchronised': 0" in run([sys.executable, "-c", block], folder)


def test_the_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert all((README.parent / link).exists() for link in links)
