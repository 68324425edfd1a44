"""Commands of other packages join by entry points."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cosched.extras import DISTRIBUTION

RUN = "from cosched.cli.main import main; main(prog_name='cosched')"
MEND = f"pip install --force-reinstall --no-deps {DISTRIBUTION}"
BROKEN = [
    ("", f"cosched: cosched.commands: no entry points of this group are installed: {MEND}\n"),
    (
        "[cosched.commands]\nsim = cosched.nowhere:COMMANDS\n",
        f"cosched: cosched.commands:sim: cannot be loaded: No module named 'cosched.nowhere': {MEND}\n",
    ),
]
MINE = """
import click
from cosched.cli.commands import Lazy
COMMANDS = {"mine": Lazy("mine", "mine", "Do as I say.")}
mine = click.Command("mine", callback=lambda: click.echo("done"))
"""


def install(folder: Path, distribution: str, entry_points: str) -> None:
    """As pip leaves it."""
    (folder / f"{distribution}-1.dist-info").mkdir()
    (folder / f"{distribution}-1.dist-info/entry_points.txt").write_text(entry_points)


def cosched(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """The command with what is installed in `folder`, which comes first on the path."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    ran = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize(("entry_points", "said"), BROKEN)
def test_an_installation_that_lacks_the_simulators_commands_says_so(tmp_path, entry_points, said):
    install(tmp_path, DISTRIBUTION, entry_points)
    assert cosched(tmp_path, "replay", "--domain", "a,trace=a.swf") == (2, "", said)
    code, out, err = cosched(tmp_path, "-h")
    assert (code, err) == (0, said)
    assert "serve" in out
    assert "replay" not in out
    assert cosched(tmp_path, "queue", "-h")[::2] == (0, "")


def test_a_package_adds_a_command(tmp_path):
    install(
        tmp_path, "mine", "[console_scripts]\nelse = x:y\n\n[cosched.commands]\nmine = mine:COMMANDS\n\n[a]\nb = c\n"
    )
    (tmp_path / "mine.py").write_text(MINE)
    lines = cosched(tmp_path, "-h")[1].splitlines()
    place = lines.index("  mine        Do as I say.")
    assert [line.split()[0] for line in lines[place - 1 : place + 2]] == ["mates", "mine", "nodes"]
    assert cosched(tmp_path, "mine") == (0, "done\n", "")
