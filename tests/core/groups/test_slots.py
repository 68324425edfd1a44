"""Slots of groups: members that cannot start together now agree on an instant, and start at it (coscheduling.md)."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.membership import Agreement
from cosched.core.coscheduling.slots import MOST_AHEAD
from cosched.core.coscheduling.starts.agreeing import Agreeing
from cosched.core.effects import Timer
from cosched.core.events import Answered, Asked, Booked, Event, Finished, NodesLost
from cosched.core.job import JobState
from cosched.core.protocol import GetMember, GroupProposed, ProposeGroupStart, SettleGroupStart, Vote
from cosched.core.story import Why
from tests.core.messages import NOW
from tests.tiers import SEED, soaked

from .planned import EARLIER, READY, Planned, agreed, offered, slot_comes, slots
from .test_histories import check, found_by, played
from .world import settle

STEPS = 80
CALM = 3000
LONG = 10**6  # nobody is given up, however late an answer is
PAUSE = 0.05  # how often a second goes by between two messages


@pytest.fixture
def world() -> Planned:
    """Its members have all been ready, and agree on 50 s."""
    return agreed({"A": 10, "B": 50, "C": 30})


def test_the_slot_is_the_earliest_instant_of_all(world):
    assert slots(world) == [50, 50, 50] == list(world.booked.values())
    assert all(world.job(name).confirmed for name in "ABC")
    assert [name for name in "ABC" if world.job(name).proposes] == ["C"]  # it was the last to be ready


def test_there_is_no_slot_before_all_have_been_ready():
    world = Planned("ABC")
    offered(world, "A")
    offered(world, "B")
    assert slots(world) == [None, None, None]


def test_all_start_at_the_slot(world):
    slot_comes(world, "C")
    assert (world.now, world.started) == (50, ["A", "B", "C"])
    assert slots(world) == [None, None, None]


def test_nobody_starts_at_the_slot_while_one_lacks_its_nodes(world):
    world.claimable = "AC"
    slot_comes(world, "C")
    assert world.started == []
    assert slots(world) == [50, 50, 50]
    world.claimable = "ABC"
    slot_comes(world, "C")
    assert (world.started, world.now) == (["A", "B", "C"], 51)


def test_nodes_that_are_lost_at_the_slot_are_claimed_again(world):
    world.due("C", Timer.SLOT)
    assert world.job("C").state is JobState.READY  # it asks A and B
    world.feed("C", NodesLost("j"))
    settle(world)
    assert world.started == []
    slot_comes(world, "C")
    assert world.started == ["A", "B", "C"]


def test_a_slot_that_cannot_be_kept_is_dropped_for_all(world):
    world.claimable = "AC"
    while ("C", Timer.SLOT) in world.timers:
        assert world.now < 1000, "it waits for ever"
        slot_comes(world, "C")
    assert slots(world) == [None, None, None]
    assert world.booked == {}


def test_a_slot_whose_proposer_is_gone_lapses(world):
    """ "no booking for ever" """
    world.feed("C", Finished("j", JobState.CANCELLED))
    world.pending.clear()  # the word of that gets lost
    for name in "AB":
        assert 50 < world.timers[name, Timer.LAPSE] < 1000
        world.due(name, Timer.LAPSE)
    assert slots(world) == [None, None, None]
    assert world.booked == {}


def test_any_member_moves_the_slot_earlier_if_all_can(world):
    world.free = {"A": 10, "B": 20, "C": 40}
    offered(world, "B", EARLIER)
    assert slots(world) == [40, 40, 40]
    assert [name for name in "ABC" if world.job(name).proposes] == ["B"]
    assert world.timers["B", Timer.SLOT] == 40
    assert ("C", Timer.SLOT) not in world.timers


def test_a_slot_stays_if_one_cannot_be_earlier(world):
    world.free = {"A": 10, "B": 20, "C": 60}
    offered(world, "B", EARLIER)
    assert slots(world) == [50, 50, 50]
    assert world.moved == []


def test_whatever_a_peer_says_a_slot_does_not_become_a_later_one(world):
    proposal = ProposeGroupStart("A/j/99", "j", "j", 0, 60, not_before=60, book=True, slot=world.job("B").group.slot)
    world.feed("B", Asked("A", proposal))
    assert world.job("B").slot == 50
    assert world.booked["B"] == 50


def test_all_start_early_if_all_can_now(world):
    world.fits = "ABC"
    offered(world, "A")
    assert world.started == ["A", "B", "C"]


def test_a_refused_early_start_leaves_the_slots():
    world = agreed({"A": 50, "B": 50, "C": 50})
    world.fits = "AB"
    offered(world, "A")
    assert slots(world) == [50, 50, 50]
    assert [world.state(name) for name in "ABC"] == [JobState.QUEUED] * 3


def test_the_slot_ends_for_all_if_a_member_is_cancelled(world):
    world.feed("A", Finished("j", JobState.CANCELLED))
    settle(world)
    assert slots(world) == [None, None, None]


def test_a_slot_is_agreed_on_anew_if_another_member_takes_part_now(world):
    group = world.job("A").group
    before, group.without = group.slot, ("B",)
    offered(world, "A")
    assert slots(world) == [50, 50, 50]
    assert {world.job(name).group.slot for name in "ABC"} == {group.slot} != {before}
    assert group.without == ()


def test_what_was_booked_for_an_earlier_agreement_is_given_back(world):
    """A batch system may tell late that it has booked; meanwhile the job looks for another instant."""
    world.job("A").group.agreement = Agreement("", world.now, world.now)
    world.feed("A", Booked("j", 40, world.job("A").slot_generation + 1, Allocation(4), False))
    assert world.booked.get("A") is None
    settle(world)
    assert slots(world) == [None, None, None]


def test_what_was_booked_for_an_earlier_question_does_not_answer_a_later_one(world):
    job = world.job("B")
    request = ProposeGroupStart("A/j/9", "j", "j", 0, 60, not_before=45, only_before=50, slot=job.group.slot)
    world.cores["B"].reserving.asked["j"] = "A", request
    world.feed("B", Booked("j", 40, job.slot_generation + 1, Allocation(4), True))
    assert (job.slot, world.booked.get("B")) == (None, None)
    answers = [event.answer for name, event in world.pending if name == "A" and type(event) is Answered]
    assert answers == [GroupProposed(Vote.NO, earliest=50)]


def test_an_agreement_ends_with_its_slot(world):
    """The drop of the slot crosses B's search for an earlier one: B takes part in the next at once."""
    world.free = {"A": 10, "B": 20, "C": 40}
    world.feed("B", EARLIER)
    drop = SettleGroupStart(world.job("C").group.slot, "j", "j", start=False)
    for name, other in ("BC", "AC", "CB"):
        world.feed(name, Asked(other, drop))
    assert world.job("B").group.agreement is None
    settle(world)
    offered(world, "C")
    assert slots(world) == [40, 40, 40]


def test_an_answer_that_comes_twice_counts_once():
    """A has booked, and says so twice; B has not."""
    world = Planned("ABC")
    world.free = {"A": 10, "B": 50, "C": 30}
    for name in "ABC":
        world.pending.append((name, READY))
        while world.pending and not _books(world):
            world.deliver(0)
    world.free["B"] = 99
    while (index := next((i for i, (to, event) in enumerate(world.pending) if _is_booked(to, event)), None)) is None:
        world.deliver(0)
    answer = world.pending.pop(index)
    world.pending[:0] = [answer, answer]
    while world.pending:
        world.deliver(0)
        assert world.job("C").slot is None


def _books(world: Planned) -> bool:
    return any(type(event) is Asked and getattr(event.request, "book", False) for _, event in world.pending)


def _is_booked(to: str, event: Event) -> bool:
    return to == "C" and type(event) is Answered and getattr(event.answer, "vote", None) is Vote.BOOKED


def test_a_word_to_keep_our_own_slot_changes_nothing(world):
    """It is for the proposer to say; here it comes while that has the group start at the slot, late."""
    world.due("C", Timer.SLOT)
    world.now += 10 * world.patience
    world.feed("C", Asked("A", SettleGroupStart(world.job("C").group.slot, "j", "j", start=False, keep=True)))
    settle(world)
    assert world.started == ["A", "B", "C"]


def test_no_slot_is_more_than_a_year_ahead():
    far = NOW + MOST_AHEAD
    assert slots(agreed({"A": 10, "B": far, "C": 30})) == [None, None, None]
    assert slots(agreed({"A": 10, "B": far - 1, "C": 30})) == [far - 1] * 3
    world = Planned("ABC")
    question = ProposeGroupStart("B/j/9", "j", "j", 0, 60, not_before=far + 1)
    world.feed("A", Asked("B", GetMember("j", "g", ("A", "B", "C"), "")))
    world.pending.clear()
    world.feed("A", Asked("B", question))
    assert [event.answer for _, event in world.pending] == [GroupProposed(Vote.NO)]


def test_agreed_on_now_all_start():
    world = agreed({"A": 7, "B": 7, "C": 7})
    assert world.started == ["A", "B", "C"]
    assert world.job("C").yields == 0


# Messages in any order, lost and doubled; domains that die; then a calm time


def _check(world: Planned) -> None:
    check(world)
    assert all(later < earlier for earlier, later in world.moved), "a slot never moves later"
    for name in world.cores:
        if world.state(name) is JobState.QUEUED:
            assert world.booked.get(name) == world.job(name).slot, name


def history(seed: int, make: Callable[..., Planned] = Planned, check: Callable[[Planned], None] = _check) -> Planned:
    draw = random.Random(seed)
    world = make("ABCD"[: draw.choice([3, 3, 4])], LONG)
    deaths = draw.choice([0, 0.02])
    world.free = {name: draw.choice([7, 50, 100, 1000]) for name in world.cores}
    if draw.random() < 0.7:  # they have a slot
        for name in world.cores:
            offered(world, name)
    for _ in range(STEPS):
        _step(world, draw, deaths)
        check(world)
    by_slot = draw.random() < 0.5
    world.claimable = "".join(world.cores)
    world.fits = "" if by_slot else world.claimable
    world.free = dict.fromkeys(world.cores, world.now + 100) if by_slot else dict.fromkeys(world.cores, 0)
    for _ in range(CALM):
        if len(world.started) == len(world.cores) and not world.pending:
            break
        _go_on(world, draw)
        check(world)
    return world


def _step(world: Planned, draw: random.Random, deaths: float) -> None:
    what = draw.random()
    name = draw.choice(list(world.cores))
    if what < deaths:
        world.crash(name)
    elif what < 0.1 and world.timers:
        world.due(*draw.choice(list(world.timers)))
    elif what < 0.15:
        world.free[name] = world.now + draw.choice([0, 10, 100, 1000])
        world.claimable = "".join(draw.sample(list(world.cores), draw.randrange(1, len(world.cores) + 1)))
        world.fits = "".join(draw.sample(list(world.cores), draw.randrange(len(world.cores) + 1)))
    elif what < 0.3:
        world.offer(draw)
    elif what < 0.3 + PAUSE:
        world.wait()
    elif world.pending:
        draw.choice((*[Planned.deliver] * 5, Planned.lose, Planned.double))(world, draw.randrange(len(world.pending)))


def _go_on(world: Planned, draw: random.Random) -> None:
    if draw.random() < PAUSE:
        world.wait()
    elif world.pending:
        world.deliver(draw.randrange(len(world.pending)))
    elif world.timers and draw.random() < 0.7:
        world.due(*draw.choice(list(world.timers)))
    else:
        world.offer(draw)


@pytest.mark.parametrize("seeds", soaked([range(200), range(SEED * 10_000, SEED * 10_000 + 10_000)], 1))
def test_all_members_start_whatever_gets_lost(seeds):
    for seed in seeds:
        played(seed, history)


def test_a_proposer_that_starts_by_itself_at_the_slot_is_apart(monkeypatch):
    """Another member may have dropped the slot, and the word of that may have been lost."""

    def start(self, job, now):
        job.group.started_by = job.group.slot
        return self.allocations.start(job, now, Why.AT_SLOT)

    monkeypatch.setattr(Agreeing, "_start_all", start)
    assert found_by(range(300), lambda seed: played(seed, history))
