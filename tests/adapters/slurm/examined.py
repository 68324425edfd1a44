"""A cluster whose hooks are installed, with parameters of the test's, and what is found there."""

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cosched_adapters.findings import Finding, Grade
from cosched_adapters.permissions import Account
from cosched_adapters.slurm.doctor import Facts, judge
from cosched_adapters.slurm.settings import read_settings

HOOKS = Path(__file__).resolve().parents[3] / "deploy" / "slurm" / "hooks"
SCRIPTS = ("prolog", "task-prolog", "jobcomp")
ME = Account.of(os.geteuid())
PROGRAM = """#!/bin/sh
echo 'usage: cosched-hook prolog|starting|gate|ended CONFIGURATION; keys: socket gates waiting log patience' >&2
exit 2
"""
# As Slurm 22.05 shows it; what is not set is (null), or Slurm's default.
CONFIG = {
    "AccountingStorageType": "accounting_storage/none",
    "ClusterName": "intrepid",
    "CompleteWait": "0 sec",
    "JobCompType": "jobcomp/script",
    "JobRequeue": "1",
    "JobSubmitPlugins": "(null)",
    "MinJobAge": "300 sec",
    "PrEpPlugins": "prep/script",
    "PriorityType": "priority/basic",
    "Prolog": "(null)",
    "PrologEpilogTimeout": "65534",
    "PrologFlags": "(null)",
    "SchedulerParameters": "bf_interval=2,batch_sched_delay=1",
    "SlurmUser": f"{ME.name}({ME.uid})",
    "SlurmctldHost[0]": f"{socket.gethostname()}(127.0.0.1)",
    "SLURM_VERSION": "22.05.8",
    "TaskProlog": "(null)",
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """The hooks as they are installed, where every user can reach them."""
    with tempfile.TemporaryDirectory(prefix="doctor-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for script in SCRIPTS:
            shutil.copy(HOOKS / script, folder)
        (folder / "cosched-hook").write_text(PROGRAM)
        (folder / "cosched-hook").chmod(0o755)
        (folder / "waiting").mkdir()
        (folder / "cosched.conf").write_text(f"# ours\nsocket={folder}/hooks.sock\n{waiting(folder)}patience=5\n")
        yield folder


def waiting(folder: Path) -> str:
    """The line of cosched.conf that names the folder of the hooks' notes."""
    return f"waiting={folder}/waiting\n"


Judge = Callable[..., list[Finding]]


@pytest.fixture
def judged(folder: Path) -> Judge:
    """What is found with these parameters (None: as if not set), by the cluster's subject."""

    def judged(
        config: dict[str, str] | None = None, /, *, elsewhere=None, serving=False, slurm_user=ME, **settings
    ) -> list[Finding]:
        hooks = {"PrologSlurmctld": f"{folder}/prolog", "JobCompLoc": f"{folder}/jobcomp"}
        given = {"hook_socket": "hooks.sock", "waiting_folder": "waiting", **settings}
        known = read_settings(folder, {key: value for key, value in given.items() if value is not None})
        shown = CONFIG | hooks | {"SLURM_CONF": f"{folder}/slurm.conf"} | (config or {})
        return judge(Facts(shown, known, ME, slurm_user, serving, elsewhere))

    return judged


def wrong(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.grade is not Grade.OK]


def only(findings: list[Finding]) -> Finding:
    """The one thing that is wrong."""
    found = wrong(findings)
    assert len(found) == 1, found
    assert found[0].change
    return found[0]


def of(subject: str, findings: list[Finding]) -> Finding:
    return next(finding for finding in findings if finding.subject == subject)
