"""What becomes of a user's own service under that user's systemd; run by test_under_systemd, as root.

    python -m tests.live.under_systemd FOLDER

It runs in namespaces of its own, whose control groups are those below its own. systemd runs as the user ann, who has no
rights beyond hers. It prints what became of the service.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cosched.cli.own_service import OwnService
from tests.live.hosts import bind, let_others_in
from tests.waiting import wait_until

USER, UID = "ann", 54321
SYSTEMD = Path("/usr/lib/systemd/systemd")
CACHES = "cosched"  # with compiled kernels
JOB = "#!/bin/sh\nuntil [ -e end ]; do sleep 0.1; done\n"


def mount(kind: str, place: str) -> None:
    subprocess.run(["mount", "-t", kind, *(["-o", "mode=755"] if kind == "tmpfs" else []), "none", place], check=True)


def seem_booted(folder: Path) -> None:
    """Let this host look as if systemd had booted it, and ann's own one stayed after her logout."""
    mount("cgroup2", "/sys/fs/cgroup")
    for place in ("/run", "/var/lib/systemd"):
        mount("tmpfs", place)
    for made in ("/run/systemd/system", "/var/lib/systemd/linger"):
        Path(made).mkdir(parents=True)
    Path("/var/lib/systemd/linger", USER).touch()
    passwd = folder / "passwd"
    passwd.write_text(Path("/etc/passwd").read_text() + f"{USER}:x:{UID}:{UID}:{USER}:{folder}/home:/bin/sh\n")
    bind(passwd, Path("/etc/passwd"))


class Ann:
    """The user, her home and her systemd."""

    def __init__(self, folder: Path, caches: Path) -> None:
        self.home = folder / "home"
        runtime = folder / "runtime"
        for made in (self.home, runtime):
            made.mkdir(mode=0o700)
        shutil.copytree(caches, self.home / ".cache" / CACHES)
        subprocess.run(["chown", "-R", f"{UID}:{UID}", self.home, runtime], check=True)
        self.own = OwnService(self.home / ".local/state/cosched")
        self._private = runtime / "systemd" / "private"
        self._environment = {
            "HOME": str(self.home), "USER": USER, "LOGNAME": USER, "XDG_RUNTIME_DIR": str(runtime),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        }  # fmt: skip

    @contextmanager
    def systemd(self) -> Iterator[None]:
        """Run her systemd."""
        process = subprocess.Popen([SYSTEMD, "--user"], **self._as_her())
        try:
            wait_until(lambda: self._private.exists() or process.poll() is not None, "systemd is ready")
            if process.poll() is not None:
                raise SystemExit("systemd --user has ended")
            yield
        finally:
            process.terminate()
            process.wait()

    def __call__(self, *command: str) -> str:
        """Run a command that must succeed; what it prints."""
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._as_her())
        if done.returncode:
            log = self.own.folder / "service.log"
            raise SystemExit(f"{command}: {done.stderr}{log.read_text() if log.exists() else ''}")
        return done.stdout

    def _as_her(self) -> dict[str, object]:
        return {"user": UID, "group": UID, "extra_groups": [], "env": self._environment, "cwd": self.home}

    def serves(self) -> int | None:
        """Return the process of her service once it serves."""
        return self.own.process() if self.own.exists else None

    def units(self) -> list[str]:
        """Return the name of the unit that systemd has for her; nothing: none."""
        listed = self("systemctl", "--user", "list-units", "--plain", "--no-legend", "--all", "run-*.service")
        return listed.split()[:1]


def life(ann: Ann) -> dict[str, object]:
    """Return what became of her service."""
    found: dict[str, object] = {"up": ann("cosched", "up", "--name", "intrepid", "--manager", "local")}
    first = ann.serves()
    [unit] = ann.units()
    found["in_unit"] = unit in Path(f"/proc/{first}/cgroup").read_text()
    (ann.home / "job.sh").write_text(JOB)
    ann("cosched", "submit", "job.sh")
    wait_until(lambda: " R " in ann("cosched", "queue"), "the job runs")
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: ann.serves() not in (None, first), "systemd has started it again")
    found["again"] = [unit in Path(f"/proc/{ann.serves()}/cgroup").read_text(), ann("cosched", "up")]
    (ann.home / "end").touch()
    found["job"] = ann("cosched", "wait", "1")
    found["down"] = ann("cosched", "down")
    wait_until(lambda: not ann.units(), "systemd lets it end")
    config = ann.own.config
    config.write_text(config.read_text().replace('idle_end = "1h"', "idle_end = 1"))
    ann("cosched", "up")
    wait_until(lambda: not ann.units(), "it ends without jobs, and systemd lets it")
    found["ended"] = [ann.serves(), ann.own.is_ended]
    return found


def main(folder: Path) -> None:
    caches = folder / "caches"
    shutil.copytree(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / CACHES, caches)
    let_others_in(Path(sys.base_prefix), folder / "python")
    seem_booted(folder)
    ann = Ann(folder, caches)
    with ann.systemd():
        json.dump(life(ann), sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
