"""Finds Slurm's programs: the host's, or those of another build to try."""

from __future__ import annotations

import os
import shutil

PREFIX = "COSCHED_LAB_SLURM"  # environment variable: the --prefix of the other build
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NEEDED = ("slurmctld", "slurmd", "scontrol", "sbatch", "squeue")


def search_path(path: str = _SYSTEM_PATH) -> str:
    """Return a search path that begins with the other build's folders, if there is one."""
    prefix = os.environ.get(PREFIX)
    return os.pathsep.join([f"{prefix}/sbin", f"{prefix}/bin", path]) if prefix else path


def find(program: str) -> str | None:
    """Return the path of a program of Slurm; None if it is not installed here."""
    return shutil.which(program, path=search_path())


def missing_programs() -> list[str]:
    """Return the programs of Slurm that are not installed here."""
    return [program for program in _NEEDED if find(program) is None]
