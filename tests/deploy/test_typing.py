"""What a user's notebook knows of types: mypy checks code, outside the tree, that uses cosched as it is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.soak
GOOD = """
from pathlib import Path
from typing import Any, assert_type

import cosched_sim as sim
from cosched.client import Client, Cost, Explanation, Job, Usage

result = sim.replay([sim.Domain(name="eureka", trace="generated:eureka/days=3")], pair_window="2m")
assert_type(result, sim.Result)
assert_type(result.write("run"), Path)
assert_type(result.report(), Path)
assert_type(result._repr_html_(), str)
with Client("unix:socket") as client:
    job = client.submit("#!/bin/sh", nodes=2, pair="run7")
    assert_type(job, Job)
    assert_type(client.wait(job), Job)
    assert_type(client.explain(job), Explanation)
    assert_type(client.usage("account"), list[Usage])
    assert_type(client.usage()[0].cost, Cost)
"""
BAD = """
import cosched_sim as sim
from cosched.client import Client

sim.replya
Client("unix:socket").submit("#!/bin/sh", nodes="2")
Client("unix:socket").job(1).ovner
"""


def checked(code: str, folder: Path, installed: Path) -> list[str]:
    """What mypy says of a program where the wheels are installed."""
    (folder / "program.py").write_text(code)
    argv = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    argv += ["--python-executable", str(installed / "python"), "program.py"]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False).stdout.splitlines()


def test_a_program_of_a_user_s_is_typed_and_its_mistakes_are_found(installed: Path, tmp_path: Path) -> None:
    assert checked(GOOD, tmp_path, installed) == []
    assert [line.split(":")[1] for line in checked(BAD, tmp_path, installed)] == ["5", "6", "7"]
