"""`make man`: a manual page for every command, with what its help says."""

import subprocess
import sys
from pathlib import Path

import pytest

from cosched.cli.commands import commands
from deploy.man_pages import write

TOP = Path(__file__).resolve().parents[2]


@pytest.mark.filterwarnings("ignore:.*make_default_short_help:DeprecationWarning")  # click-man calls it
def test_every_command_has_a_page(tmp_path):
    pages = {page.name: page.read_text() for page in write(tmp_path / "man")}
    assert {f"cosched-{name}.1" for name in commands()} | {"cosched.1"} <= pages.keys()
    for name, found in commands().items():
        assert found.short_help.rstrip(".") in pages[f"cosched-{name}.1"]
        assert f"cosched-{name}(1)" in pages["cosched.1"]
    assert r"\fB\-\-or\-alone\fP" in pages["cosched-submit.1"]
    if "replay" in commands():
        assert "release_interval" in pages["cosched-replay.1"]  # of the epilog


@pytest.mark.sim
def test_the_commands_stay_as_they_are(tmp_path):
    """In a process of its own, where nobody has asked a command for its options."""
    program = """
import sys
from pathlib import Path
from click.testing import CliRunner
from cosched.cli.main import main
from deploy.man_pages import write
write(Path(sys.argv[1]))
for line in (["sweep", "-h"], ["replay", "-h"]):
    print(CliRunner().invoke(main, line).stdout)
"""
    ran = [sys.executable, "-W", "ignore", "-c", program, tmp_path]
    said = subprocess.run(ran, cwd=TOP, check=True, capture_output=True, text=True).stdout
    assert said.count("-h, --help") == 2
    assert said.count("FILE.toml has the keys of a replay") == 1  # in the epilog
