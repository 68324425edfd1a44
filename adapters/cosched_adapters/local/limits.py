"""Which part of a processor each slot has: machines of several classes on one host.

Where control groups can be made, the processes of a job get a group with a quota, which holds whatever else runs. Where
they cannot, the job runs with a nice value: it gets its part of a processor only while others want that, too.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

PERIOD = 100_000  # microseconds, the kernel's default
NICE_STEP = 1.25  # a process that is nicer by one gets so much less: linux/kernel/sched/core.c, sched_prio_to_weight
NICEST = 19
_LOG = logging.getLogger(__name__)


class CpuLimits:
    """The limits of one manager. Groups are made below that of the service, and named after domain and spool."""

    def __init__(self, percent: Sequence[int], domain: str, spool: Path, host: Path = Path("/")) -> None:
        """`percent`: of one processor, for each slot; empty: no limits. `host`: where its /proc and /sys are."""
        self._percent = percent
        self._name = f"cosched-{domain}-{hashlib.sha256(os.fsencode(spool)).hexdigest()[:8]}"
        self._host = host
        self._folder: Path | None = None  # of the groups of jobs

    def open(self, jobs: Collection[str]) -> None:
        """Find out how jobs can be limited, and say so; remove the groups of jobs that are not known any more."""
        if not self._percent:
            return
        said = self.find()
        _LOG.log(logging.INFO if self.by_groups else logging.WARNING, "processors of jobs are limited by %s", said)
        if self._folder is not None:
            for left in self._folder.iterdir():
                if left.is_dir() and left.name not in jobs:
                    _remove(left)

    def find(self) -> str:
        """Find out how jobs can be limited, and return it in words."""
        reason = "no group of processes here has the controller cpu"
        for above in self._places():
            try:
                folder = _made(above, self._name)
                _set_weight(folder, len(self._percent))
            except OSError as error:
                reason = f"{above}: {error.strerror}"
            else:
                self._folder = folder
                return f"quotas of the control groups below {folder}"
        return f"nice, so only while others want the processors, too: no control groups can be made ({reason})"

    def _places(self) -> Iterator[Path]:
        """Yield the groups below which ours may be: the service's, and in version 2 the one above, if delegated."""
        own = dict(_own_groups(self._read("proc/self/cgroup")))
        for root, point, kind, options in _mounts(self._read("proc/self/mountinfo")):
            path = own.get("" if kind == "cgroup2" else "cpu")
            if path is None or (kind == "cgroup" and "cpu" not in options):
                continue
            below = path.removeprefix(root if root != "/" else "").lstrip("/")
            group = self._host / point.lstrip("/") / below
            if kind == "cgroup":
                yield group
            elif "cpu" in _words(group / "cgroup.controllers"):
                yield from (group, group.parent) if below else (group,)

    def _read(self, path: str) -> str:
        try:
            return (self._host / path).read_text(errors="replace")
        except OSError:
            return ""

    @property
    def by_groups(self) -> bool:
        """Whether quotas hold."""
        return self._folder is not None

    def begin(self, job_id: str, slots: Sequence[int]) -> tuple[str | None, int]:
        """Make the group for a job on these slots; return it, and by how much the job must be nicer.

        OSError: there can be no such group.
        """
        if not self._percent:
            return None, 0
        if self._folder is None:
            return None, niceness(sum(self._percent[slot] for slot in slots) / len(slots))
        group = self._folder / job_id
        group.mkdir(exist_ok=True)  # a launch that failed has left it
        _set_quota(group, sum(self._percent[slot] for slot in slots))
        return str(group), 0

    def change(self, job_id: str, slots: Sequence[int]) -> None:
        """Note that a running job has these slots from now on; by nice it keeps what it began with. OSError."""
        if self._folder is not None:
            _set_quota(self._folder / job_id, sum(self._percent[slot] for slot in slots))

    def end(self, job_id: str) -> None:
        """Nothing of the job is left."""
        if self._folder is not None:
            _remove(self._folder / job_id)

    def close(self) -> None:
        """Remove the folder, if no job is left."""
        if self._folder is not None:
            _remove(self._folder)


def niceness(percent: float) -> int:
    """Return the nice value with which a process gets this part of what one of value 0 gets."""
    return min(NICEST, round(math.log(100 / percent, NICE_STEP)))


def _own_groups(text: str) -> Iterator[tuple[str, str]]:
    """Yield controller and path of this process's groups, from /proc/self/cgroup; version 2 has no controller there."""
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path


def _mounts(text: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield root, mount point, type and options of all file systems of control groups, from /proc/self/mountinfo."""
    for line in text.splitlines():
        about, _, system = line.partition(" - ")
        if system.startswith("cgroup"):
            root, point = about.split()[3:5]
            kind, _, options = system.split()[:3]
            yield root, point, kind, options.split(",")


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _made(above: Path, name: str) -> Path:
    """Make the folder of the groups of jobs, and try whether a group below it can have a quota; OSError."""
    folder = above / name
    _pass_on(above)
    folder.mkdir(exist_ok=True)
    try:
        _pass_on(folder)
        trial = folder / ".trial"
        trial.mkdir(exist_ok=True)
        try:
            _set_quota(trial, 100)
        finally:
            _remove(trial)
    except OSError:
        _remove(folder)
        raise
    return folder


def _pass_on(group: Path) -> None:
    """Let the groups below this one, of version 2, have quotas; OSError."""
    control = group / "cgroup.subtree_control"
    if control.exists() and "cpu" not in _words(control):
        _write(control, "+cpu")


def _set_quota(group: Path, percent: int) -> None:
    quota = percent * PERIOD // 100
    if (of_version_2 := group / "cpu.max").exists():
        _write(of_version_2, f"{quota} {PERIOD}")
    else:
        _write(group / "cpu.cfs_period_us", str(PERIOD))
        _write(group / "cpu.cfs_quota_us", str(quota))


def _set_weight(folder: Path, slots: int) -> None:
    """Let all jobs together weigh as much as the processes of so many; else they share what one gets. OSError."""
    of_version_2 = folder / "cpu.weight"
    if of_version_2.exists():
        _write(of_version_2, str(min(100 * slots, 10_000)))
    else:
        _write(folder / "cpu.shares", str(min(1024 * slots, 1 << 18)))


def _write(path: Path, text: str) -> None:
    """Write to a file that the kernel has made; OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _remove(group: Path) -> None:
    """Remove a group, unless there are processes in it."""
    with suppress(OSError):
        group.rmdir()
