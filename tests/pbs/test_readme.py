"""What the page for sites says is done to a real server, line by line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cosched_adapters.findings import Grade
from cosched_adapters.pbs.manager import PbsManager
from cosched_adapters.pbs.settings import read_settings
from cosched_adapters.permissions import Account
from deploy.pbs.lab import PbsCluster

pytestmark = pytest.mark.soak

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "pbs"


async def test_the_lines_that_install_the_hook_leave_doctor_nothing_to_say(cluster: PbsCluster) -> None:
    (lines,) = re.findall(r"^```sh\n(.*?)^```", (FOLDER / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    cluster.shell(lines, FOLDER / "hooks")
    socket = re.search(r'"socket": "(.*?)"', (FOLDER / "hooks" / "cosched.json").read_text())
    assert socket is not None
    settings = read_settings(cluster.folder, {"hook_socket": socket[1], "bin": str(cluster.bin), "command_timeout": 30})
    found = await PbsManager(settings).examine(Account(1000, "cosched", frozenset()), serving=False)
    grades = {finding.subject: finding.grade for finding in found}
    assert grades.pop("preemption") is Grade.WARNING  # its file is in a world of its own
    assert set(grades.values()) == {Grade.OK}, found
    assert {"resources", "hook", "hook's configuration", "rights", "job history"} <= grades.keys()
