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


def answer(job, call: str) -> object:
    """What the call answers if it is the one that fails with this job."""
    columns = job.columns
    return misbehave(HOWS[columns.get("how", 0)]) if CALLS[columns.get("trip", 0)] == call else None


def _read(text: str) -> int:
    if text == "read":
        raise KeyError(text)
    return CALLS.index(text)


TRIP = Column("trip", default=0, help="where it fails", read=_read, write=lambda number: CALLS[number])
HOW = Column("how", default=0, help="how it fails", read=HOWS.index, write=lambda number: HOWS[number])


class Bad(PlainScheduler):
    def next(self, now):
        answers = (answer(job.asked, "next") for job in self.jobs.values())
        return next(filter(None, answers), None) or super().next(now)

    def check(self, job):
        answer(job, "check")

    def submit(self, job):
        answer(job, "submit")
        super().submit(job)

    def start(self, job, now):
        return answer(self.jobs[job].asked, "start") or super().start(job, now)

    def leave(self, job, now, how):
        answer(self.jobs[job].asked, "leave")
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
