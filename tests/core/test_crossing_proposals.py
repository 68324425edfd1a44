"""Two mates have a slot, and both domains look for an earlier one at one moment: every order of delivery."""

from typing import NamedTuple

import pytest

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.starts.reserving import Reserving
from cosched.core.effects import Book, Effect, EndTurn, Quote, Try, Yield
from cosched.core.events import Booked, Event, MayBeEarlier, Quoted, Ready, SlotLapsed, Submitted, Tried
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, named_mate
from cosched.core.settings import CoschedulingSettings

from .crossing import JOB, PEER
from .messages import Log, Messages
from .test_crossing_calls import every_end

SLOT, EARLIER = 500, 200


class Slot(NamedTuple):
    at: int | None
    name: str
    proposes: bool
    confirmed: bool


class CrossingProposals(Messages):
    """Jobs a1 and b1 have a slot, which A has proposed; both fit earlier, but not now. Messages come in any order."""

    def __init__(self, turns: dict[str, type[Event]], log: Log | None = None) -> None:
        super().__init__({name: Coscheduler(name, 10, CoschedulingSettings(slots=True)) for name in "AB"}, JOB, log)
        self.open: set[str] = set()  # whose turn is open
        for name, core in self.cores.items():
            core.handle(Submitted(JOB[name], named_mate(PEER[name], None, JOB[PEER[name]])), 0)
            job = self.job(name)
            job.ready_at, job.slot, job.group.slot = 1, SLOT, "A/a1/0"
            job.proposes, job.confirmed = name == "A", True
        for name, kind in turns.items():
            turn = MayBeEarlier(JOB[name]) if kind is MayBeEarlier else Ready(JOB[name], Allocation(4), FOREVER)
            self.pending.append((name, turn))

    def slot(self, name: str) -> Slot:
        job = self.job(name)
        return Slot(job.slot, job.group.slot, job.proposes, job.confirmed)

    def deliver(self, index: int) -> None:
        name, event = self.pending.pop(index)
        if self.state(name) is JobState.QUEUED or type(event) not in (MayBeEarlier, Ready):
            self.open |= {name} if type(event) is MayBeEarlier else set()
            self.feed(name, event)

    def _carry_out(self, name: str, effect: Effect) -> None:
        super()._carry_out(name, effect)
        if type(effect) is Try:
            self.feed(name, Tried(effect.job, None))
        elif type(effect) is Quote:
            self.feed(name, Quoted(effect.job, max(EARLIER, effect.not_before), effect.for_peer))
        elif type(effect) is Book:
            self.feed(name, Booked(effect.job, effect.at, effect.generation, Allocation(4), effect.for_peer))
        elif type(effect) in (EndTurn, Yield):
            self.open.discard(name)

    def key(self) -> str:
        return f"{super().key()} {sorted(self.open)}"


@pytest.mark.parametrize("a", [MayBeEarlier, Ready])
@pytest.mark.parametrize("b", [MayBeEarlier, Ready])
def test_of_two_proposals_exactly_one_goes_on(a, b):
    """Whatever the order: both have the earlier slot, one of them has proposed it, and both know; or both start.

    A job that is just ready refuses a proposal. If its own one is refused, too, the slot stays as it is.
    """
    ends = every_end(CrossingProposals({"A": a, "B": b}))
    assert len(ends) > 1
    for world in ends:
        assert not world.open
        if world.starts:
            assert sorted(world.starts) == ["a1", "b1"]
            continue
        one, other = world.slot("A"), world.slot("B")
        assert one.at == other.at
        assert one.at == EARLIER or (a, b) == (MayBeEarlier, Ready)
        assert one.name == other.name
        assert one.proposes is not other.proposes
        assert one.confirmed
        assert other.confirmed


def test_a_lost_slot_is_lost_on_both_sides_in_every_order():
    """A's slot lapses while B looks for an earlier one."""
    start = CrossingProposals({"B": MayBeEarlier})
    start.cores["A"].jobs["a1"].confirmed = False
    start.pending.append(("A", SlotLapsed("a1")))
    for world in every_end(start):
        one, other = world.slot("A"), world.slot("B")
        assert one.at == other.at in (None, EARLIER)
        assert one.at is None or (one.name == other.name and one.confirmed and other.confirmed)


def test_every_order_finds_it_if_both_proposals_go_on(monkeypatch):
    monkeypatch.setattr(Reserving, "_vote", lambda *_: None)
    with pytest.raises(AssertionError):
        test_of_two_proposals_exactly_one_goes_on(MayBeEarlier, MayBeEarlier)
