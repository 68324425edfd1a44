"""Commands of other packages join by entry points."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cosched.cli.commands import BROUGHT, commands
from cosched.installation.extras import DISTRIBUTION

RUN = "from cosched.cli.main import main; main(prog_name='cosched')"
MEND = f"pip install --force-reinstall --no-deps {DISTRIBUTION}-sim"
BROKEN = "[cosched.commands]\nsim = cosched.nowhere:COMMANDS\n"
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


def installed(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """The command with what is installed in `folder`, which comes first on the path."""
    command, environment = [sys.executable, "-c", RUN, *arguments], {**os.environ, "PYTHONPATH": str(folder)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout, ran.stderr


MISSING = f"cosched: replay is a command of the simulator: pip install '{DISTRIBUTION}[sim]'\n"
LOST = f"cosched: cosched.commands:sim: cannot be loaded: No module named 'cosched.nowhere': {MEND}\n"


@pytest.mark.parametrize(("entry_points", "said", "warned"), [("", MISSING, ""), (BROKEN, LOST, LOST)])
def test_an_installation_that_lacks_the_simulators_commands_says_so(tmp_path, entry_points, said, warned):
    install(tmp_path, f"{DISTRIBUTION}_sim", entry_points)
    assert installed(tmp_path, "replay", "--domain", "a,trace=a.swf") == (2, "", said)
    code, out, err = installed(tmp_path, "-h")
    assert (code, err) == (0, warned)
    assert "serve" in out
    assert "replay" not in out
    assert installed(tmp_path, "queue", "-h")[::2] == (0, "")


def test_the_help_lists_all_commands_by_whom_they_are_for(cosched):
    listed: dict[str, list[str]] = {}
    for line in cosched("-h").stdout.partition("--help  Show this message and exit.\n\n")[2].splitlines():
        if line.startswith("For "):
            names = listed[line] = []
        elif line.startswith("  ") and line[2] != " ":
            names.append(line.split()[0])
    assert [*listed][:2] == ["For users:", "For operators:"]
    assert {"submit", "queue", "explain", "mates"} <= set(listed["For users:"])
    assert {"serve", "doctor", "drain", "compile"} <= set(listed["For operators:"])
    assert set(listed.get("For researchers:", ())) == set(BROUGHT) & set(commands())
    assert sorted(name for names in listed.values() for name in names) == [*commands()]


def test_a_package_adds_a_command(tmp_path):
    points = "[console_scripts]\nelse = x:y\n\n[cosched.commands]\nmine = mine:COMMANDS\n\n[a]\nb = c\n"
    install(tmp_path, "mine", points)
    (tmp_path / "mine.py").write_text(MINE)
    lines = installed(tmp_path, "-h")[1].splitlines()
    place = lines.index("  mine        Do as I say.")
    assert lines[place - 1 :] == ["More:", lines[place]], "it does not say whom it is for"
    assert installed(tmp_path, "mine") == (0, "done\n", "")
