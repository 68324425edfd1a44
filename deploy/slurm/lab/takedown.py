"""Takes a laboratory down from outside, in any state."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

from deploy.lab.keeping import KEEPER
from deploy.lab.processes import Process, all_processes, end, with_descendants
from deploy.lab.waiting import LabError

TEMPORARY = ".temporary-slurm-lab"  # the mark of folders that are removed with their laboratory
_PATIENCE = 35.0  # seconds: the keeper itself gives up after 30


def take_down(directory: Path) -> None:
    """End all processes of the laboratory in `directory`; remove the folder if the laboratory made it. LabError.

    Nothing is read from the folder: it may be damaged, or gone. The keeper is found by its command line and ends all
    that it has started; if it was killed, the daemons are found by theirs and users' processes by the
    environment that Slurm gives them. If nothing is left, this does nothing.
    """
    directory = directory.resolve()
    kept = (str(KEEPER), str(directory))
    for keeper in [process for process in all_processes() if process.arguments[-2:] == kept]:
        if not end(keeper, signal.SIGTERM, _PATIENCE):
            end(keeper, signal.SIGKILL, _PATIENCE)
    _end_strays(directory)
    if (directory / TEMPORARY).exists():
        shutil.rmtree(directory, ignore_errors=True)


def _end_strays(directory: Path) -> None:
    patience_over = time.monotonic() + _PATIENCE
    while strays := _strays(directory):
        for process in strays:
            end(process, signal.SIGKILL, 1)
        if time.monotonic() > patience_over:
            ids = ", ".join(str(process.pid) for process in strays)
            raise LabError(f"{directory}: these processes do not end: {ids}")


def _strays(directory: Path) -> list[Process]:
    kinds = (_is_daemon, _is_of_a_job, _is_of_cosched)
    found = with_descendants(lambda process: any(is_one(process, directory) for is_one in kinds))
    return [process for process in found if process.pid != os.getpid()]


def _is_daemon(process: Process, directory: Path) -> bool:
    """Whether it is a slurmctld or slurmd started with a slurm.conf in the folder."""
    name, *options = process.arguments
    return Path(name).name in ("slurmctld", "slurmd") and any(_in(option, directory) for option in options)


def _is_of_a_job(process: Process, directory: Path) -> bool:
    """Whether it is a job step or its child: not a user's shell or salloc, which has the same SLURM_CONF."""
    environment = process.environment()
    is_step = process.arguments[0].startswith("slurmstepd:") or "SLURMD_NODENAME" in environment
    return is_step and _in(environment.get("SLURM_CONF", ""), directory)


def _is_of_cosched(process: Process, directory: Path) -> bool:
    """Whether it is a service started with a configuration in the folder, or a hook that waits for one."""
    program, *options = process.arguments
    return ("serve" in options and any(_in(option, directory) for option in options)) or _in(program, directory)


def _in(path: str, directory: Path) -> bool:
    return path.startswith(f"{directory}{os.sep}")
