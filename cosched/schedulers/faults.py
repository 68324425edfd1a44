"""Who is to blame: the call of a scheduler, or of its kind, that has failed, and the job, found in stack frames.

So no call needs a guard of its own, wherever it is made.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import PurePath
from types import FrameType
from typing import NamedTuple

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.domain import PolicyDomain
from cosched.core.protocol import JobId
from cosched.core.scheduling.nonsense import NonsenseError
from cosched.core.scheduling.plain import PlainJob
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.schedulers.kind import SchedulerKind
from cosched.schedulers.loading import GROUP, installed

OF_SCHEDULERS = ("next", "try_start", "submit", "leave", "takes_up")  # what all have, and nothing else has
ASIDE = "cosched serve --without-job"


class Call(NamedTuple):
    """A call of a scheduler or of its kind; `job`: which it is about, as far as that can be seen."""

    name: str
    job: JobId | None


class Fault(NamedTuple):
    """What a scheduler has done wrong, in words: its name and origin, what it `did`, at which job, and why that is."""

    who: str
    did: str
    job: JobId | None
    why: str = ""

    @property
    def short(self) -> str:
        """One line for who has just submitted the job, or asked."""
        return f"{self.who} {self.did}{self.why}"

    @property
    def of_replay(self) -> str:
        """One line for who plays a trace."""
        about = "" if self.job is None else f", at job {self.job}"
        return f"{self.who} {self.did}{about}{self.why}: mend that package"

    @property
    def line(self) -> str:
        """One line for operators, with what to do."""
        return self.of_replay if self.job is None else f"{self.of_replay}, or put the job aside by {ASIDE} {self.job}"


def blamed(error: BaseException, kind: SchedulerKind | None) -> Fault | None:
    """Return what a scheduler of this kind (None: of any) has done wrong; None: the error is not due to it."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    call, kind = call_in(frames), kind or _kind_in(frames)
    if isinstance(error, NonsenseError) and kind is not None:
        return Fault(_who(kind), error.said, error.job)
    if call is None or kind is None:
        return None
    said, code = str(error).splitlines(), frames[-1].f_code
    what = f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
    where = f"{PurePath(code.co_filename).name}, {code.co_name}"
    return Fault(_who(kind), f"has failed in {call.name}", call.job, f": {what} ({where})")


def hanging(frame: FrameType | None, kind: SchedulerKind, seconds: int) -> Fault | None:
    """Return that a scheduler of this kind does not return to this frame's thread; None: something else does not."""
    frames = [known for known, _ in traceback.walk_stack(frame)][::-1]
    call = call_in(frames)
    iterating = (known for known in frames if known.f_code.co_name == "schedule")
    if call is None and any(isinstance(known.f_locals.get("self"), PolicyDomain) for known in iterating):
        call = Call("next, which tells jobs without end", None)
    return None if call is None else Fault(_who(kind), f"has not returned for {seconds} s from {call.name}", call.job)


def call_in(frames: Sequence[FrameType]) -> Call | None:
    """Return the first call of a scheduler, or of a kind, in these frames; each has called the next."""
    for place, frame in enumerate(frames):
        if _is_scheduler(frame.f_locals.get("self")):
            inner, outer = frames[place + 1 :][::-1], frames[:place][::-1]
            return Call(frame.f_code.co_name, next(_jobs([frame, *inner, *outer]), None))
    return None


def origin(kind: SchedulerKind) -> str:
    """Return the entry point of a kind, and the package that has it."""
    entry = next((entry for entry in entry_points(group=GROUP) if entry.name == kind.name), None)
    if entry is None:
        return type(kind).__module__
    return entry.value if entry.dist is None else f"{entry.value} of {entry.dist.name} {entry.dist.version}"


def _who(kind: SchedulerKind) -> str:
    return f"the scheduler {kind.name} ({origin(kind)})"


def _is_scheduler(value: object) -> bool:
    return isinstance(value, SchedulerKind) or all(hasattr(type(value), name) for name in OF_SCHEDULERS)


def _kind_in(frames: Iterable[FrameType]) -> SchedulerKind | None:
    """Return the kind of the scheduler that is called in these frames, or by which they go on: that of its module."""
    for frame in frames:
        own = frame.f_locals.get("self")
        found = own.scheduler if isinstance(own, PolicyDomain) else own if _is_scheduler(own) else None
        for kind in () if found is None else installed().values():
            if found is kind or type(found).__module__ == type(kind).__module__:
                return kind
    return None


def _jobs(frames: Iterable[FrameType]) -> Iterator[JobId]:
    """Yield the jobs that local variables of these frames name; first the one that is called so."""
    for frame in frames:
        known = frame.f_locals
        if isinstance(job := known.get("job"), str):
            yield job
        for value in known.values():
            if (found := _job_of(value)) is not None:
                yield found


def _job_of(value: object) -> JobId | None:
    if isinstance(value, PlainJob):
        return value.asked.id
    if isinstance(value, ClusterJob | PairedJob):
        return value.id
    if not type(value).__module__.startswith("cosched."):
        return None
    job = getattr(value, "job", None)  # of an effect, an event or a record
    return job.id if isinstance(job, PairedJob) else job if isinstance(job, str) else None
