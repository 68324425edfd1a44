"""Crossing calls (coscheduling.md): two mates ready at one moment ask each other, in every order of delivery."""

from __future__ import annotations

import copy
from decimal import Decimal

import pytest

from cosched.core.coscheduling import Coscheduler
from cosched.core.effects import Answer, Call, Start, Try, Yield
from cosched.core.events import Answered, Asked, Event, Ready, Submitted, Tried
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.core.settings import CoschedulingSettings, Scheme

PEER = {"A": "B", "B": "A"}
JOB = {"A": "a", "B": "b"}
NOW = 7


class Crossing:
    """Jobs a and b become ready once each, at any moment; messages are delivered in any order."""

    def __init__(self, schemes: dict[str, Scheme], fits_when_tried: bool) -> None:
        self.fits_when_tried = fits_when_tried
        self.starts: list[str] = []
        self.cores = {name: self._domain(name, scheme) for name, scheme in schemes.items()}
        self.pending: list[tuple[str, Event]] = [(name, Ready(JOB[name], 4, FOREVER)) for name in self.cores]

    @staticmethod
    def _domain(name: str, scheme: Scheme) -> Coscheduler:
        core = Coscheduler(name, 10, CoschedulingSettings(scheme=scheme, max_held_fraction=Decimal(1)))
        core.handle(Submitted(JOB[name], PEER[name], "pair"), NOW)
        return core

    def state(self, name: str) -> JobState:
        return self.cores[name].mates.jobs[JOB[name]].state

    def deliver(self, index: int) -> None:
        name, event = self.pending.pop(index)
        if type(event) is Ready and self.state(name) is not JobState.QUEUED:
            return  # a job that runs is not offered
        self.feed(name, event)

    def feed(self, name: str, event: Event) -> None:
        for effect in self.cores[name].handle(event, NOW):
            if type(effect) is Call:
                self.pending.append((effect.peer, Asked(name, effect.request)))
            elif type(effect) is Answer:
                answer = Answered(effect.request.caller, effect.request, effect.answer)
                self.pending.append((effect.peer, answer))
            elif type(effect) is Start:
                self.starts.append(effect.job)
            elif type(effect) is Try:
                if self.fits_when_tried:
                    self.starts.append(effect.job)
                self.feed(name, Tried(effect.job, self.fits_when_tried))
            else:
                assert type(effect) is not Yield or self.state(name) is JobState.QUEUED

    def key(self) -> str:
        """Equal for two histories that will go on equally."""
        jobs = [self.cores[name].mates.jobs[JOB[name]] for name in "AB"]
        return repr((jobs, sorted(map(repr, self.pending)), self.starts))


def every_end(start: Crossing) -> list[Crossing]:
    """What comes of every order of events."""
    ends, seen, open_ = [], set(), [start]
    while open_:
        world = open_.pop()
        if not world.pending:
            ends.append(world)
        for index in range(len(world.pending)):
            after = copy.deepcopy(world)
            after.deliver(index)
            if after.key() not in seen:
                seen.add(after.key())
                open_.append(after)
    return ends


SCHEMES = [(a, b) for a in (Scheme.HOLD, Scheme.YIELD) for b in (Scheme.HOLD, Scheme.YIELD)]


@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_crossing_calls_start_both_exactly_once(schemes):
    """ "So crossing calls start both jobs exactly once, without locks and without waiting." """
    ends = every_end(Crossing(dict(zip("AB", schemes, strict=True)), fits_when_tried=True))
    assert len(ends) > 1
    for world in ends:
        assert sorted(world.starts) == ["a", "b"]
        assert {world.state(name) for name in "AB"} == {JobState.RUNNING}


@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_no_order_leaves_half_a_pair(schemes):
    """A job that is tried while it is queued has no nodes: it starts only while it is ready or holds."""
    ends = every_end(Crossing(dict(zip("AB", schemes, strict=True)), fits_when_tried=False))
    for world in ends:
        assert sorted(world.starts) in ([], ["a", "b"])
        if Scheme.YIELD not in schemes:
            assert sorted(world.starts) == ["a", "b"]


def test_both_ready_and_both_ask_to_start_the_other():
    """ "Two domains may find the two mates ready at the same moment and call each other." """
    world = Crossing({"A": Scheme.HOLD, "B": Scheme.HOLD}, fits_when_tried=False)
    for _ in range(
        10
    ):  # both get ready, then in turn: ask for the id, answer, ask for the status, answer, ask to start
        world.deliver(0)
    kinds = [(name, type(event.request).__name__) for name, event in world.pending]
    assert kinds == [("B", "StartJob"), ("A", "StartJob")]
    world.deliver(1)
    assert world.starts == ["a"]
    world.deliver(0)
    assert world.starts == ["a", "b"]
    while world.pending:
        world.deliver(0)
    assert world.starts == ["a", "b"]
