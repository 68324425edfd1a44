"""The protocol that resource-manager adapters implement: launch, cancel, find again, and what the manager reports.

How the core's effects map to it, where the embedded scheduler decides (`local`):

* `Start` is `launch`. `Hold`, `Yield`, `Release`, `Try` and `Reschedule` are the embedded scheduler's own; the manager
  is not told, since a job that does not run yet has no processes.
* The event `Finished` comes of the report `Ended`, with the state that `Ended.succeeded` and `Ended.how` give. Nodes
  are free for other jobs at `Ended`, not at `cancel`.
* After a restart `open` tells what became of the jobs launched before. A job that the service had recorded as started
  and that `open` does not know was never launched: `launch` it, which is safe to repeat.

Resource managers that schedule by themselves (Slurm, PBS) have a protocol of their own: `adapters.scheduling`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class ManagerError(Exception):
    """A resource manager cannot do what it is asked; `str()` is one line that may be shown to the user."""


class SettingError(ManagerError):
    """The value of `key` in the section [manager] cannot be used."""

    def __init__(self, key: str, problem: str) -> None:
        self.key = key
        self.problem = problem
        super().__init__(f"{key}: {problem}")


class SpecError(ManagerError):
    """`field` of a job specification cannot be used. The text never repeats the value, which may be long or secret."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}")


class NodesBusyError(ManagerError):
    """Other jobs have the nodes. The scheduler's count and the manager's differ, e.g. before an `Ended` has come."""


class NoRoomError(ManagerError):
    """There is no room on the disk to put the launch on record. It can be tried again when there is."""


class UnavailableError(ManagerError):
    """The manager does not answer at present. What was asked may have been done all the same."""


class UnknownJobError(ManagerError):
    """The manager has no such job, or has forgotten it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What is to run. `repr` leaves out whatever may hold a secret."""

    job_id: str
    nodes: int
    walltime: int  # seconds that it may run, at least 1
    directory: str  # working directory, absolute
    command: tuple[str, ...] = field(default=(), repr=False)  # command and arguments; of a script: its arguments
    script: bytes | None = field(default=None, repr=False)  # contents, beginning with #!
    name: str = ""
    # Besides COSCHED_*, which are dropped here, and PATH, HOME, USER, LOGNAME, SHELL of its user, which it may replace.
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    output: str | None = None  # file, relative to the directory; None: cosched-JOBID.out
    error: str | None = None  # file; None: where the output goes
    user: str | None = None  # whose processes they are; None: the service's own user
    mate: str | None = None  # "domain:id", if known at the start
    pair: str | None = None  # the pair's name, if it has one


class End(StrEnum):
    """How a job ended."""

    EXITED = "exited"  # by itself; `exit_code` says whether well
    SIGNALLED = "signalled"  # by a signal that the manager did not send
    TIMEOUT = "timeout"  # its walltime was over
    CANCELLED = "cancelled"  # by `cancel`
    UNSTARTED = "unstarted"  # it could not be started; nothing of it ran
    LOST = "lost"  # what watched it died; whatever was left of it has been killed


@dataclass(frozen=True, slots=True)
class Started:
    """The job runs: its first instruction came at `at`, in nanoseconds since 1970 by this host's clock."""

    job_id: str
    at: int


@dataclass(frozen=True, slots=True)
class Ended:
    """No process of the job is left. Comes once, after `Started` if it started. Times in nanoseconds since 1970."""

    job_id: str
    how: End
    at: int
    started_at: int | None = None  # None: it never ran
    exit_code: int | None = None  # of the job's first process; None if a signal ended it, or unknown
    signal: int | None = None  # the signal that ended its first process
    reason: str = ""  # one line for the user; empty if there is nothing to explain

    @property
    def succeeded(self) -> bool:
        """It ended by itself with exit code 0: COMPLETED. All others are FAILED, or CANCELLED if `how` says so."""
        return self.how is End.EXITED and self.exit_code == 0


Report = Started | Ended


class Manager(Protocol):
    """One resource manager of one policy domain. All calls come from one event loop, `open` first and `close` last."""

    @property
    def nodes(self) -> int:
        """The size of the machine."""

    async def open(self) -> Mapping[str, Report | None]:
        """Find the jobs again that were launched and are not forgotten: the last report of each, None before the first.

        Raises SettingError or ManagerError if the manager cannot be used. A manager that may have forgotten launches in
        a crash of its host has an attribute `may_have_forgotten`, true then: what is not found is not launched again.
        """

    def check(self, spec: JobSpec) -> None:
        """Refuse at its submission a job that `launch` would refuse, as far as that can be told: SpecError."""

    async def launch(self, spec: JobSpec) -> None:
        """Start a job. One that is known already is left as it is: a repeated launch starts nothing twice.

        On return the launch is on record and survives a restart; whether it started comes as a report. Raises
        SpecError, NodesBusyError, NoRoomError or ManagerError, and then nothing was launched.
        """

    async def cancel(self, job_id: str) -> None:
        """End a job's processes; `Ended` follows. Does nothing to a job that has ended; raises UnknownJobError."""

    def reports(self) -> AsyncIterator[Report]:
        """What happens to jobs from `open` on, as it happens, without end; for one reader."""

    async def forget(self, job_id: str) -> None:
        """Drop what is kept of an ended job, once its end is on the service's record; a job that is unknown is none.

        Raises ManagerError if it has not ended.
        """

    async def close(self) -> None:
        """Stop watching. Jobs run on and are found again by the next `open`."""
