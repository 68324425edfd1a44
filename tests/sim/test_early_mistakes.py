"""Mistakes in the flags and files of a replay are said before the simulator is imported, which takes seconds."""

import subprocess
import sys

import pytest

RUN = """
import sys
from click.testing import CliRunner
from cosched.cli.main import main
result = CliRunner().invoke(main, ["replay", *sys.argv[1:]])
print(result.exit_code, *[name for name in ("numba", "polars", "matplotlib") if name in sys.modules])
print(result.output)
"""


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], "no domain: give --domain"),
        (["--domain", "a"], "a:trace: missing"),
        (["--domain", "a,trace=x,pollicy=fcfs"], "did you mean policy?"),
        (["--domain", "a,trace=x,policy=worst"], "it is one of fcfs"),
        (["--domain", "a,trace=nowhere.swf"], "nowhere.swf: cannot be read: No such file or directory"),
        (["--domain", "a,trace=nowhere.swf", "--compare"], "compares the schemes of 2 to 6 domains, not of 1"),
        (["--domain", "a,trace=x", "--events"], "needs --out DIR"),
    ],
)
def test_nothing_heavy_is_imported_for_a_mistake(tmp_path, flags, said):
    done = subprocess.run([sys.executable, "-c", RUN, *flags], capture_output=True, text=True, cwd=tmp_path, check=True)
    imported, *lines = done.stdout.splitlines()
    assert imported == "2", "exit code, and nothing else"
    assert said in " ".join(lines)
