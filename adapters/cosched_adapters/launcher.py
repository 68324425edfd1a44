"""The protocol of resource managers that run what our scheduler has chosen (local, replay).

How the core's effects map to it:

* `Start` is `launch`, on what the job's allocation says: how many nodes, or which (`JobSpec.where`). `Hold`, `Yield`,
  `Release`, `Try` and `Reschedule` concern the embedded scheduler only: a job that does not run yet has no processes.
* A running job that its scheduler preempts (`Requeued`) is `preempt`; its `Ended` is not the job's end. It is forgotten
  then, and launched again when it starts again.
* The report `Ended` becomes the event `Finished`, with the state that `Ended.succeeded` and `Ended.how` give. Nodes
  are free for other jobs at `Ended`, not at `cancel`.
* After a restart `open` says what became of the jobs launched before. A job that the service recorded as started but
  `open` does not know was never launched: `launch` it, which is safe to repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from cosched.core.allocation import Allocation, SizeChanged
from cosched.core.effects import Call, Record, Start
from cosched.core.protocol import Domain, Named, Reply
from cosched_adapters.manager import Manager, ManagerError, Report
from cosched_adapters.replay_time import Time

Told = Record | Start | SizeChanged


class SpecError(ManagerError):
    """A job specification's `field` cannot be used. The text never repeats the value, which may be long or secret."""

    def __init__(self, field: str, problem: str) -> None:
        self.field, self.problem = field, problem
        super().__init__(f"{field}: {problem}")


class NodesBusyError(ManagerError):
    """Other jobs have the nodes. The scheduler's count and the manager's differ, for example before `Ended` arrives."""


class NoRoomError(ManagerError):
    """The disk is too full to record the launch. The launch can be tried again when there is room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What to run. `repr` leaves out fields that may hold a secret."""

    job_id: str
    nodes: int
    walltime: int  # seconds, at least 1
    where: tuple[str, ...] | None = None  # the names of the nodes; None: any that are free
    directory: str  # working directory, absolute
    command: tuple[str, ...] = field(default=(), repr=False)  # command and arguments; for a script, its arguments
    script: bytes | None = field(default=None, repr=False)  # contents, beginning with #!
    name: str = ""
    # COSCHED_* are dropped. PATH, HOME, USER, LOGNAME and SHELL of the job's user are added unless they are set here.
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    output: str | None = None  # file, relative to the directory; None: cosched-JOBID.out
    error: str | None = None  # file; None: where the output goes
    user: str | None = None  # the user that the processes run as; None: the service's own
    mate: str | None = None  # "domain:id", if known at the start
    pair: str | None = None  # the pair's name, if it has one
    group: str | None = None  # the group's name, if it is in one
    finding: Mapping[str, str] = field(default_factory=dict)  # COSCHED_* by which it finds its mates


@dataclass(frozen=True, slots=True)
class TraceJob:
    """A job of a trace, to submit at `submit`, by the service's time. It will run for `run` seconds."""

    number: int  # in trace order, from 1
    name: str  # its id in the trace
    submit: int
    nodes: int
    requested: int
    run: int
    named: Named | None = None  # its mate, or its group
    columns: Any = None  # what its kind of scheduler reads of it (SchedulerKind.each)
    said: Mapping[str, str] = field(default_factory=dict)  # the same, as text (SchedulerKind.written)


class Launcher(Manager[Report | None, Report], Protocol):
    """A `Manager` that runs jobs on request. `open` returns the last report of each job, None before the first."""

    may_have_forgotten: bool = False
    """Set by `open`: launches may have been forgotten in a crash of the host. Jobs not found are not launched again."""
    preempts: bool = False
    """Whether a job that was ended by `preempt`, and forgotten, can be launched again."""
    names_nodes: bool = False
    """Whether a job is launched on the nodes that its specification names."""

    @property
    def grace(self) -> float | None:
        """The seconds after which nothing is left of a run that is ended; None: it is not known."""
        return None

    @property
    def node_names(self) -> Sequence[str]:
        """The names of all nodes, in the order in which they are used; empty: they have none."""
        return ()

    def check(self, spec: JobSpec) -> None:
        """Raise SpecError at submission for a job that `launch` would refuse, as far as this can be known."""

    async def launch(self, spec: JobSpec) -> None:
        """Start a job. A repeated launch of the same job does nothing.

        On return the launch is recorded and survives a restart; a report says whether the job started. Raises
        SpecError, NodesBusyError, NoRoomError or ManagerError if nothing was launched.
        """

    async def preempt(self, job_id: str) -> None:
        """End a job's run, since others get its nodes: first it is asked to end, as by `cancel`. `Ended` follows.

        Does nothing to a job that has ended; raises UnknownJobError. After `forget` the job may be launched again.
        """
        await self.cancel(job_id)


@runtime_checkable
class ElasticLauncher(Launcher, Protocol):
    """One whose running jobs can get and lose nodes. What a job has survives a restart of the service.

    A job is neither told nor checked: who calls tells it of nodes that it has got, and calls `keep` only once the job
    does not use the others any more.
    """

    def nodes_of(self, job_id: str) -> tuple[str, ...]:
        """Return the names of the nodes that nobody else can have; empty if it has ended. UnknownJobError."""

    async def grow(self, job_id: str, nodes: int) -> None:
        """Give a job so many nodes in all: those that it has, in their order, then others.

        NodesBusyError, ManagerError: it has what it had.
        """

    async def keep(self, job_id: str, names: Collection[str]) -> None:
        """Let a job have only these of its nodes; the others are free. ManagerError."""


@runtime_checkable
class PlayingLauncher(Launcher, Protocol):
    """One that replays a trace: its jobs do nothing, and end by what they have. The simulator brings it.

    The service submits `jobs` when they are due by `time`. In `lockstep` a conductor sets the time.
    """

    jobs: Sequence[TraceJob]  # from `open` on, in trace order
    off: Collection[Domain]  # others that do not coschedule: if all mates of a job are there, a dry run counts none
    time: Time
    lockstep: bool
    requeues: bool  # whether any job was queued again, be it by preemption
    first_starts: Mapping[str, int]  # by job, in lock-step
    restarts: Mapping[str, int]  # when last, of jobs that were queued again, but not by preemption
    tells: bool  # whether it notes what happens, for people who look at a replay in lock-step
    events: Sequence[str]  # what it has noted; each is a JSON object, see replay.proto

    @property
    def next_end(self) -> int | None:
        """The instant at which the next running job ends; None if none runs."""

    def ended(self, now: int) -> list[str]:
        """Return the jobs that end now, in the order of the trace, each once."""

    def allocations(self, *, by_time: bool) -> list[tuple[Any, ...]]:
        """Return what jobs had until now, as the columns of `PastAllocation` (replay.proto).

        `by_time`: in the order of starts, ends and rows, not in that of what happened at one instant.
        """

    def play(self, job_id: str, allocation: Allocation) -> None:
        """Note that a job that was launched has this from now on."""

    def requeue(self, job_id: str, *, keeps_work: bool) -> None:
        """A job that was launched waits again, and is forgotten. `keeps_work`: it will go on where it is now."""

    def begins_anew(self, job_id: str) -> None:
        """Note that a running job is queued again, but not by preemption: its last start counts."""

    def stop(self, job_id: str, *, completed: bool) -> None:
        """End a job before its time, in lock-step; it may have never run."""

    def noted(self, change: Told, *, linked: bool, of_pair: bool) -> None:
        """Something has happened to a job, which starts with others if it is `linked`; only if it `tells`."""

    def called(self, call: Call, reply: Reply) -> None:
        """Another domain was called; only if it `tells`."""


_CAN: Mapping[str, tuple[Callable[[Any], bool], str]] = {  # by what a scheduler needs (`Capabilities.needs`)
    "resize": (lambda it: isinstance(it, ElasticLauncher | PlayingLauncher), "change the sizes of running jobs"),
    "preempt": (lambda it: it.preempts, "end running jobs and launch them again"),
    "named_places": (lambda it: it.names_nodes, "start jobs on named nodes"),
    "resize_by_name": (lambda it: isinstance(it, PlayingLauncher), "give running jobs other nodes by name"),
}


def lacking(manager: Any, needs: Iterable[str]) -> str | None:
    """Return what a manager cannot do that its scheduler needs, in words; None: it can do all."""
    return next((f"cannot {what}" for can, what in map(_CAN.__getitem__, needs) if not can(manager)), None)
