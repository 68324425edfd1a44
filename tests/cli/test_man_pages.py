"""`make man`: a manual page for every command, with what its help says."""

import pytest

from cosched.cli.commands import commands
from deploy.man_pages import write


@pytest.mark.filterwarnings("ignore:.*make_default_short_help:DeprecationWarning")  # click-man calls it
def test_every_command_has_a_page(tmp_path):
    pages = {page.name: page.read_text() for page in write(tmp_path / "man")}
    assert {f"cosched-{name}.1" for name in commands()} | {"cosched.1"} <= pages.keys()
    for name, found in commands().items():
        assert found.short_help.rstrip(".") in pages[f"cosched-{name}.1"]
        assert f"cosched-{name}(1)" in pages["cosched.1"]
    assert r"\fB\-\-or\-alone\fP" in pages["cosched-submit.1"]
    assert "release_interval" in pages["cosched-replay.1"]  # of the epilog
