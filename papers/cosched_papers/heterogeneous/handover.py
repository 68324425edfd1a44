"""How machines change hands where a run that is stopped needs time to end (`OpenScheduler.lag`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from cosched.core.protocol import JobId
from cosched.core.scheduling.in_vain import InVain

LEAVING = "leaving"  # what is kept of a job: the machines on which its last run is still being ended


class Handover:
    """The machines of runs that are being ended, and the jobs for which others were stopped."""

    def __init__(self, index: Mapping[str, int], names: Sequence[str]) -> None:
        self.lags = False
        self._index, self._names = index, names
        self._leaving: dict[JobId, set[int]] = {}
        self.stopped_others: set[JobId] = set()  # jobs with mates that have not started since
        self.vain = InVain()
        self.asked: JobId | None = None  # whose mate asks for it just now
        self.may_stop_later: Callable[[JobId], bool] = lambda _: False  # see StopsLater

    def take_up(self, job: JobId, kept: MutableMapping[str, Any]) -> None:
        """Note that a job is submitted, with what was kept of it."""
        if machines := {self._index[name] for name in kept.pop(LEAVING, ()) if name in self._index}:
            self._leaving[job] = machines

    def kept(self, job: JobId) -> Mapping[str, Any]:
        """Return what to keep of a job."""
        if job not in self._leaving:
            return {}
        return {LEAVING: [self._names[machine] for machine in sorted(self._leaving[job])]}

    def ends(self, job: JobId, machines: Iterable[int]) -> None:
        """Note that the run of a job is stopped."""
        if self.lags:
            self._leaving.setdefault(job, set()).update(machines)

    def left(self, job: JobId) -> set[int]:
        """Forget a job's run once nothing of it is left; return its machines."""
        return self._leaving.pop(job, set())

    def none_leaves(self, members: Iterable[int]) -> bool:
        """Return whether none of these machines is still being left."""
        return all(machines.isdisjoint(members) for machines in self._leaving.values())

    def waits(self, job: JobId, now: int) -> bool:
        """Return whether a job stops nobody for a while, since it did so in vain."""
        return self.vain.waits(job, now, asked=job == self.asked)

    def stops_later(self, job: JobId) -> bool:
        """Return whether a job stops those that have its machines when it starts, once its mate has agreed."""
        return self.asked is None and self.may_stop_later(job)

    def started(self, job: JobId) -> None:
        """Note that the job has started."""
        self.stopped_others.discard(job)
        self.vain.forget(job)

    def in_vain(self, job: JobId, now: int) -> bool:
        """Note that the job does not start; return whether others were stopped for it, in vain."""
        if job not in self.stopped_others:
            return False
        self.stopped_others.discard(job)
        self.vain.count(job, now)
        return True
