"""cosched's hooks for one cluster, built and installed as at a site."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from deploy.lab.waiting import LabError

SOURCES = Path(__file__).resolve().parents[1] / "hooks"
SCRIPTS = ("prolog", "task-prolog", "jobcomp")
_BUILD = ("cc", "-std=c11", "-O2", "-Wall", "-Wextra")


@cache
def build(*flags: str) -> Path:
    """Build cosched-hook with these compiler flags, once in this process; return its path. LabError."""
    if shutil.which(_BUILD[0]) is None:
        raise LabError("there is no C compiler (cc) to build cosched-hook with (Debian: gcc, libc6-dev)")
    folder = Path(tempfile.mkdtemp(prefix="cosched-hook-"))
    atexit.register(shutil.rmtree, folder)
    path = folder / "cosched-hook"
    argv = [*_BUILD, *flags, "-o", str(path), str(SOURCES / "cosched-hook.c")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"cosched-hook cannot be built: {done.stderr.strip()}")
    return path


def program() -> Path:
    """Build cosched-hook, statically if the host can, as it then starts faster; return its path. LabError."""
    try:
        return build("-static")
    except LabError:
        return build()


class InstalledHooks:
    """The hooks in `folder`, which every user can reach, with a log file instead of syslog.

    `patience`: seconds that a job waits for a service that is gone.
    """

    def __init__(self, folder: Path, patience: int = 10) -> None:
        self.folder = folder
        self.socket = folder / "hooks.sock"
        self.gates = folder / "gates"
        self.waiting = folder / "waiting"
        self.log = folder / "log"
        _lay_out(folder, SCRIPTS)
        self.waiting.mkdir(exist_ok=True)
        self.configure(f"socket={self.socket}\nwaiting={self.waiting}\npatience={patience}\nlog={self.log}\n")

    def configure(self, text: str) -> None:
        """Write cosched.conf."""
        (self.folder / "cosched.conf").write_text(text)

    def gate_of_another_host(self) -> Path:
        """Return a task prolog like that of a host without the service's socket; make the folder `gates` for it."""
        _make(self.gates)
        folder = self.folder / "elsewhere"
        _lay_out(folder, ("task-prolog",))
        (folder / "cosched.conf").write_text(f"socket={folder}/none\ngates={self.gates}\n")
        return folder / "task-prolog"

    def messages(self) -> list[str]:
        """Return the lines of the log."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def options(self) -> dict[str, Any]:
        """Return the `Options` of a cluster that has these hooks."""
        prolog, task_prolog, jobcomp = (self.folder / script for script in SCRIPTS)
        return {"prolog": prolog, "task_prolog": task_prolog, "jobcomp": jobcomp}


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)


def _lay_out(folder: Path, scripts: Sequence[str]) -> None:
    """Install scripts, and the program beside them."""
    _make(folder)
    for name in scripts:
        shutil.copy(SOURCES / name, folder / name)
    shutil.copy(program(), folder / "cosched-hook")
