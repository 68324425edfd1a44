"""A package whose scheduler fails as its jobs say: by their columns `trip` (a call) and `how` (what it does there)."""

import time

from cosched.core.allocation import Allocation
from cosched.core.events import MayBeEarlier, Ready
from cosched.core.scheduling.plain import PlainScheduler
from cosched.schedulers.column import Column
from cosched.schedulers.kind import SchedulerKind
from cosched.validation.types import Settings

CALLS = ("none", "read", "check", "why", "submit", "next", "start", "leave")
HOWS = ("boom", "hang", "endless", "nonsense", "stranger", "no slot")


def misbehave(how: str) -> object:
    if how == "boom":
        raise RuntimeError("boom\nwith details")
    if how == "hang":
        time.sleep(3600)
    while how == "endless":
        pass
    return {"stranger": Ready("999", Allocation(1), 0), "no slot": MayBeEarlier("1")}.get(how, "nonsense")


def _read(text: str) -> int:
    if text == "read":
        raise KeyError(text)
    return CALLS.index(text)


TRIP = Column("trip", default=0, help="where it fails", read=_read, write=lambda number: CALLS[number])
HOW = Column("how", default=0, help="how it fails", read=HOWS.index, write=lambda number: HOWS[number])


class Bad(PlainScheduler):
    def _how(self, job, call):
        columns = job.columns
        return HOWS[columns.get("how", 0)] if CALLS[columns.get("trip", 0)] == call else None

    def next(self, now):
        for job in self.jobs.values():
            if (how := self._how(job.asked, "next")) is not None:
                return misbehave(how)
        return super().next(now)

    def check(self, job):
        if (how := self._how(job, "check")) is not None:
            misbehave(how)

    def submit(self, job):
        if (how := self._how(job, "submit")) is not None:
            misbehave(how)
        super().submit(job)

    def start(self, job, now):
        how = self._how(self.jobs[job].asked, "start")
        return super().start(job, now) if how is None else misbehave(how)

    def leave(self, job, now, how):
        if (what := self._how(self.jobs[job].asked, "leave")) is not None:
            misbehave(what)
        super().leave(job, now, how)


class Keys(Settings):
    pass


class BadKind(SchedulerKind):
    name, purpose, keys = "bad", "it fails", Keys

    def settings(self, _, nodes, __):
        return type("Machine", (), {"nodes": nodes, "slots": False})

    def open(self, settings):
        return Bad(settings.nodes)

    def columns(self):
        return (TRIP, HOW)

    def why(self, scheduler, job, ahead, word):
        if CALLS[job.columns.get("trip", 0)] == "why":
            raise RuntimeError("boom")
        return super().why(scheduler, job, ahead, word)


BAD = BadKind()
