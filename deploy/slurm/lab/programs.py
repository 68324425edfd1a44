"""Where the programs of Slurm are: those of the host, or of another build that is to be tried."""

from __future__ import annotations

import os
import shutil

PREFIX = "COSCHED_LAB_SLURM"  # environment variable: where that other build is installed (its --prefix)
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NEEDED = ("slurmctld", "slurmd", "scontrol", "sbatch", "squeue")


def search_path(path: str = _SYSTEM_PATH) -> str:
    """A search path, with the other build's folders before it, if there is one."""
    prefix = os.environ.get(PREFIX)
    return os.pathsep.join([f"{prefix}/sbin", f"{prefix}/bin", path]) if prefix else path


def find(program: str) -> str | None:
    """The path of a program of Slurm; None: it is not installed here."""
    return shutil.which(program, path=search_path())


def missing_programs() -> list[str]:
    """The programs of Slurm that are not installed here."""
    return [program for program in _NEEDED if find(program) is None]
