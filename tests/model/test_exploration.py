"""The real core, explored: what must hold in every state of small worlds, and what goes wrong without a rule.

A world is complete if all its states were visited; else the test says to which depth. `make model` prints
the numbers.
"""

from decimal import Decimal

import pytest

from cosched.core.allocation import NOT_NOW
from cosched.core.coscheduling import holds
from cosched.core.coscheduling.incoming import Incoming
from cosched.core.domain import Change, PolicyDomain
from cosched.core.effects import Try
from cosched.core.events import Tried
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme

from .exploration import Exploration, Wrong
from .local_domain import LINK, ExploredJob, Fault, Scenario

DEEP = pytest.mark.model  # what is explored for longer than a moment
SCHEMES = [(Scheme.HOLD, Scheme.HOLD), (Scheme.HOLD, Scheme.YIELD), (Scheme.YIELD, Scheme.YIELD)]
MANY = 40_000  # states; a world of so many is explored for some 15 s
LONG = 100  # seconds of patience: it does not end

PAIR = (ExploredJob("a1", 6, 1, submitted=1), ExploredJob("b1", 6, 1))
# Figure 2: on either side, what is ready first waits for what is second there
CROSSED = tuple(ExploredJob(name, 6, 1) for name in ("a1", "a2", "b2", "b1"))
FOUR = tuple(ExploredJob(name, 6, 3) for name in ("a1", "a3", "a2", "a4", "b2", "b4", "b1", "b3"))


def slotted(run: int = 4, requested: int = 4) -> tuple[ExploredJob, ...]:
    """Both mates have been ready, but never at one moment: they agree on a slot, when ax is to end."""
    blocks = ExploredJob("ax", 6, run, submitted=1, requested=requested)
    return ExploredJob("a1", 6, 2), blocks, ExploredJob("bx", 6, 3), ExploredJob("b1", 6, 2)


SLOTTED = {"kept": slotted(), "moved": slotted(3, 6), "dropped": slotted(9, 4)}


def scenario(
    jobs, a=Scheme.HOLD, b=Scheme.HOLD, *, patience=2, interval=2, unreachable="start", slots=False, **options
):
    quiet = {"release_jitter": Decimal(0), "max_held_fraction": Decimal(1), "retry_interval": 1, "slots": slots}
    given = {"release_interval": interval, "peer_patience": patience, "on_peer_unreachable": OnUnreachable(unreachable)}
    settings = {name: CoschedulingSettings(scheme=scheme, **quiet, **given) for name, scheme in (("A", a), ("B", b))}
    return Scenario(settings, jobs, **options)


def one_fault(jobs, *schemes, kinds, **options):
    """A world in which one thing goes wrong, and jobs wait for their peers."""
    patient = {"patience": LONG, "unreachable": "yield", "faults": 1, "whole": True}
    return scenario(jobs, *schemes, kinds=frozenset(kinds), **patient, **options)


def deep_but_first(values):
    """Values to parametrise a test with."""
    first, *others = values
    return [first, *(pytest.param(value, marks=DEEP) for value in others)]


def explored(world: Scenario, **limits: int) -> Exploration:
    exploration = Exploration(world).run(**limits)
    how = "all" if exploration.complete else f"to depth {exploration.depth}"
    print(f"{len(exploration.reached)} states ({how}), {exploration.calm} of them calm")
    return exploration


# One pair


@pytest.mark.parametrize("schemes", deep_but_first(SCHEMES), ids="-".join)
def test_a_pair_starts_once_and_whole_in_every_state(schemes):
    assert explored(scenario(PAIR, *schemes)).complete


@DEEP
@pytest.mark.parametrize("kinds", [LINK | {Fault.BUSY}, {Fault.CRASH}], ids=["link", "crash"])
@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_a_pair_stays_whole_whatever_is_lost_once(schemes, kinds):
    """A message is lost, doubled or late, or a domain is killed in any turn; jobs wait for the peer."""
    assert explored(one_fault(PAIR, *schemes, kinds=kinds), states=4 * MANY).complete


@DEEP
@pytest.mark.parametrize("unreachable", list(OnUnreachable))
@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_a_pair_starts_whatever_goes_wrong_twice(schemes, unreachable):
    kinds = LINK | {Fault.BUSY, Fault.CRASH, Fault.POWER}
    explored(scenario(PAIR, *schemes, unreachable=unreachable, faults=2, kinds=kinds), states=MANY)


# Pairs that stand in each other's way


@pytest.mark.parametrize("states", deep_but_first([120, 2 * MANY]))
@pytest.mark.parametrize("schemes", deep_but_first(SCHEMES), ids="-".join)
def test_two_pairs_that_cross_start(schemes, states):
    explored(scenario(CROSSED, *schemes, slow=False), states=states)


@DEEP
@pytest.mark.parametrize("kinds", [LINK, {Fault.CRASH}], ids=["link", "crash"])
def test_two_pairs_that_cross_stay_whole_whatever_is_lost_once(kinds):
    explored(one_fault(CROSSED, kinds=kinds, slow=False), states=2 * MANY)


@DEEP
def test_four_pairs_start():
    explored(scenario(FOUR, interval=4, slow=False), states=2 * MANY)


# Slots


@pytest.mark.parametrize("states", deep_but_first([120, 2 * MANY]))
@pytest.mark.parametrize("jobs", deep_but_first(SLOTTED.values()))
def test_a_pair_with_a_slot_starts(jobs, states):
    explored(scenario(jobs, Scheme.YIELD, Scheme.YIELD, slots=True, slow=False, late=0), states=states)


@DEEP
@pytest.mark.parametrize("kinds", [LINK | {Fault.BUSY}, {Fault.CRASH}], ids=["link", "crash"])
@pytest.mark.parametrize("jobs", SLOTTED.values(), ids=list(SLOTTED))
def test_a_pair_with_a_slot_stays_whole_whatever_is_lost_once(jobs, kinds):
    world = one_fault(jobs, Scheme.YIELD, Scheme.YIELD, kinds=kinds, slots=True, slow=False, late=0)
    explored(world, states=2 * MANY)


# Without a rule


def test_without_the_release_timer_two_pairs_stand_still(monkeypatch):
    """Figure 2 of the paper."""
    monkeypatch.setattr(holds, "release_time", lambda *_: FOREVER)
    assert wrong(scenario(CROSSED, slow=False)) == "stands still"


def test_without_wanted_jobs_first_four_pairs_exchange_holds_for_ever(monkeypatch):
    def _try(domain: PolicyDomain, effect: Try, now: int, left: list[Change]) -> None:
        assert domain.scheduler.try_start(effect.job, now, 0) is NOT_NOW
        left += domain.handle(Tried(effect.job, None), now)

    monkeypatch.setitem(PolicyDomain._CARRY_OUT, Try, _try)
    assert wrong(scenario(FOUR, interval=4, slow=False)) == "goes on for ever"


def test_without_generations_a_job_is_started_by_a_hold_that_has_ended(monkeypatch):
    def _may_start(job: object, _: object) -> bool:
        return job.state in (JobState.READY, JobState.HOLDING)

    monkeypatch.setattr(Incoming, "_may_start", staticmethod(_may_start))
    assert wrong(scenario(PAIR)) == "AssertionError: started by a hold that has ended"


@DEEP
def test_a_domain_that_sends_before_it_records_leaves_half_a_pair():
    world = one_fault(PAIR, kinds={Fault.UNRECORDED})
    assert wrong(world) in ("half a pair has started", "a pair has started apart")


def wrong(world: Scenario) -> str:
    with pytest.raises(Wrong) as found:
        explored(world, states=MANY)
    return found.value.what
