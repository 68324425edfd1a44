"""Kills a service or slurmctld at a step of a slot, or of a release: scontrol does it, as the service calls it."""

import shutil
import tempfile
from pathlib import Path

STEPS = {  # as the shell matches scontrol's arguments
    "reserve now": "*'create reservation '*' starttime=now '*",
    "reserve": "*'create reservation '*' starttime=uts'*",
    "put in": "'update jobid='*' reservationname=cosched-'*",
    "begin": "*'update jobid='*' reservationname=cosched-'*' starttime=now'",
    "take out": "*'update jobid='*' reservationname='",
    "delete": "*'delete reservation='*",
}
OF_RELEASES = {
    "keep back": "*'update jobid='*' starttime=now+'*",  # while others are offered the nodes
    "offer again": "*'update jobid='*' starttime=now'",
}
BEFORE, AFTER = "before", "after"
_OTHERS = ("squeue", "scancel", "sinfo", "sbatch")
_SCRIPT = """#!/bin/sh
its_turn() {{
    case "$*" in {step}) [ -e {marks}/armed ] && mkdir {marks}/killed 2>/dev/null ;; *) false ;; esac
}}
if [ {when} = before ]; then
    its_turn "$@" && kill -KILL {victim} && {then}
    exec {scontrol} "$@"
fi
{scontrol} "$@"
code=$?
its_turn "$@" && kill -KILL {victim}
exit $code
"""
CALLER = "$PPID"


class Killer:
    """Slurm's commands in `folder`. Once `arm` was called, the first scontrol of this step kills the victim.

    victim: a process id, or CALLER, whose command is then not run if it is killed before it.
    """

    def __init__(self, folder: Path, step: str, when: str, victim: int | str) -> None:
        self._marks = Path(tempfile.mkdtemp(dir=folder))
        for name in _OTHERS:
            if not (folder / name).exists():
                (folder / name).symlink_to(_which(name))
        then = "exit 1" if victim == CALLER else ":"
        its = {"step": (STEPS | OF_RELEASES)[step], "marks": self._marks, "when": when, "victim": victim, "then": then}
        script = self._marks / "scontrol"
        script.write_text(_SCRIPT.format(scontrol=_which("scontrol"), **its))
        script.chmod(0o755)
        script.replace(folder / "scontrol")

    def arm(self) -> None:
        """Kill from now on."""
        (self._marks / "armed").touch()

    @property
    def has_killed(self) -> bool:
        """Whether the victim has been killed."""
        return (self._marks / "killed").exists()


def _which(name: str) -> str:
    found = shutil.which(name)
    assert found is not None
    return found
