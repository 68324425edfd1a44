"""The protocol of resource managers that run what our scheduler has chosen (local, replay).

How the core's effects map to it:

* `Start` is `launch`. `Hold`, `Yield`, `Release`, `Try` and `Reschedule` are the embedded scheduler's own; the manager
  is not told, since a job that does not run yet has no processes.
* The event `Finished` comes of the report `Ended`, with the state that `Ended.succeeded` and `Ended.how` give. Nodes
  are free for other jobs at `Ended`, not at `cancel`.
* After a restart `open` tells what became of the jobs launched before. A job that the service had recorded as started
  and that `open` does not know was never launched: `launch` it, which is safe to repeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from cosched.adapters.manager import Manager, ManagerError, Report


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


class Launcher(Manager[Report | None, Report], Protocol):
    """A `Manager` that is told what to run. `open` finds the last report of each job, None before the first."""

    may_have_forgotten: bool = False
    """Set by `open`: launches may have been forgotten in a crash of the host. Jobs not found are not launched again."""

    def check(self, spec: JobSpec) -> None:
        """Refuse at its submission a job that `launch` would refuse, as far as that can be told: SpecError."""

    async def launch(self, spec: JobSpec) -> None:
        """Start a job. One that is known already is left as it is: a repeated launch starts nothing twice.

        On return the launch is on record and survives a restart; whether it started comes as a report. Raises
        SpecError, NodesBusyError, NoRoomError or ManagerError, and then nothing was launched.
        """
