"""Histories of domains that meet: faults of the link, deaths at every step, troubles of jobs; and planted mistakes."""

from functools import lru_cache

import pytest

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.transitions import ignore
from cosched.core.effects import EndTurn, SetTimer, Timer, Unbook
from cosched.core.events import Claimed, SlotDue, SlotLapsed
from cosched.core.story import TOGETHER, Why
from tests.tiers import seeds

from .first_fit import LocalJob
from .slot_world import DEADLINE, LATE, MAX_GRACE, MAX_PATIENCE, OUTAGE, SlotWorld

SEEDS = 20  # of each chunk
LONG_AFTER = 20_000  # ticks; the faults end at 1000
OWN_RUNJOB = TOGETHER - {Why.ASKED_BY_PEER}
FAULT = {Why.PEER_UNREACHABLE, Why.MATE_STARTED_BEFORE, Why.OUTCOME_UNKNOWN, Why.NO_MEMBER_LEFT}


def history(seed: int, **options) -> SlotWorld:
    world = SlotWorld(seed, **options)
    world.run(until=LONG_AFTER)
    return world


@lru_cache(maxsize=SEEDS)
def with_faults(seed: int) -> SlotWorld:
    return history(seed)


def is_patient(world: SlotWorld) -> bool:
    """Whether a domain that keeps nodes for a start hears of it before it takes the other for unreachable."""
    waits = min(domain.core.settings.peer_patience for domain in world.domains.values())
    return waits >= OUTAGE + 2 * DEADLINE and not world.faults.cuts


def check(world: SlotWorld) -> None:
    jobs = [job for domain in world.domains.values() for job in domain.jobs.values()]
    assert world.over(), f"never ended: {[job.name for job in jobs if not job.state.final]}"
    for group in world.groups:
        members = [world.job(name) for name in group]
        if (world.cancelled | world.unlinked) & set(group):
            continue
        whys, starts = {job.why for job in members}, [job.started for job in members]
        apart = max(starts) - min(starts)
        if Why.AT_SLOT in whys and is_patient(world):
            assert whole(world, group) or those_at_slot(world, group), f"{group}: a part of it has started at its slot"
        if not (world.failed | world.jolted) & set(group):
            assert whole(world, group, by_one_request=True), f"{group} apart without a fault"
            assert apart <= DEADLINE
        elif whole(world, group):
            longest = LATE + max(MAX_PATIENCE, MAX_GRACE) + 2 * DEADLINE + OUTAGE
            died_in_turn = world.deaths > 0 and max(starts) <= world.faults.end + longest  # never both up until the end
            assert apart <= longest or died_in_turn
        else:
            assert whys & FAULT, f"{group} apart, and the record does not say why"


def whole(world: SlotWorld, group: tuple[str, ...], *, by_one_request: bool = False) -> bool:
    """Whether all have started together: two in one exchange, three by one proposal."""
    if len(group) == 2:
        return together(world, group, by_one_request)
    members = [world.job(name) for name in group]
    by_proposal = {Why.AT_SLOT, Why.ALL_BOOKED, Why.ASKED_BY_PEER}
    return {job.why for job in members} <= by_proposal and len({job.proposal for job in members}) == 1


def together(world: SlotWorld, pair: tuple[str, ...], by_one_request: bool = False) -> bool:
    """Whether both started in one exchange: by calls of one of them, or by calls of both that crossed."""
    one, other = (world.job(name) for name in pair)
    asked = [job for job in (one, other) if job.why is Why.ASKED_BY_PEER]
    if not asked or not all(job.why in OWN_RUNJOB for job in (one, other) if job not in asked):
        return False
    if len(asked) == 2:
        return (caller(one), caller(other)) == (other.name, one.name)
    return one.exchange == other.exchange if by_one_request else caller(one) == caller(other)


def those_at_slot(world: SlotWorld, group: tuple[str, ...]) -> bool:
    """Whether all have started by the proposal at the slot but those whose domains gave no answer, as is on record."""
    [first] = [job for job in map(world.job, group) if job.why is Why.AT_SLOT]
    asked = [job for job in map(world.job, group) if job.name[0].upper() not in world.without[first.name]]
    return 1 < len(asked) < len(group) and {job.proposal for job in asked} == {first.proposal}


def caller(job: LocalJob) -> str:
    return job.exchange.split("/")[1]


@pytest.mark.parametrize("chunk", seeds(1, 100))
def test_pairs_and_groups_with_slots_stay_whole_or_the_record_says_why(chunk):
    """No job starts twice, no slot stays for ever, nothing is beyond the machine (all after every event); every job
    starts once the faults have stopped, with its mates, unless the record says why not."""
    for seed in range(chunk * SEEDS, (chunk + 1) * SEEDS):
        try:
            check(with_faults(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


def test_a_call_that_is_made_void_fails_while_the_job_proposes_at_its_slot():
    """It was taken for the proposal's failure, and the job gave its nodes back twice."""
    check(history(5_002_762))


@pytest.mark.parametrize("chunk", seeds(1, 30))
def test_without_faults_no_slot_is_lost(chunk):
    """Where nothing is lost and no job runs past its request, every pair and group starts at its slot, or earlier."""
    for seed in range(chunk * SEEDS, (chunk + 1) * SEEDS):
        check_calm(history(seed, calm=True))


def check_calm(world: SlotWorld) -> None:
    """A slot that one domain has booked, and the other could not any more, as its plan has changed, was none yet."""
    check(world)
    mates = {name: set(group) - {name} for group in world.groups for name in group}
    lost = {name for _, name, _ in world.lost}
    assert all(why is Why.MATE_DROPPED_SLOT and not mates[name] & lost for _, name, why in world.lost)


def test_the_histories_have_slots_that_are_kept_moved_and_lost():
    worlds = [with_faults(seed) for seed in range(12)]
    agreed = [what for world in worlds for story in world.story.values() for _, what, _ in story].count("has a slot")
    assert agreed > 2 * sum(world.kept for world in worlds) > 0
    assert any(world.lost for world in worlds)
    wholes = [whole(world, group) for world in worlds for group in world.groups if len(group) == 3]
    assert 0 < sum(wholes) < len(wholes)


# Mistakes that these histories find


def no_lapse(core: Coscheduler) -> None:
    _replace(core, SlotLapsed, ignore)


def no_keep(core: Coscheduler) -> None:
    core.agreeing.keep = lambda *_: []


def no_claim(core: Coscheduler) -> None:
    _replace(
        core,
        SlotDue,
        lambda job, _, now: core.agreeing.at_slot.claimed(job, Claimed(job.id, Allocation(4), False), now),
    )


def no_end_of_waiting_for_nodes(core: Coscheduler) -> None:
    core.agreeing.at_slot.wait_for_nodes = lambda job, now: [SetTimer(job.id, Timer.SLOT, now + 1)]


def no_answer_awaited(core: Coscheduler) -> None:
    start = core.allocations.start
    core.agreeing._start_all = core.agreeing.at_slot.start_all = lambda job, now: start(job, now, Why.AT_SLOT)


def no_word_to_the_scheduler(core: Coscheduler) -> None:
    drop = core.slots.drop
    core.slots.drop = lambda *args, **named: [effect for effect in drop(*args, **named) if type(effect) is not Unbook]


def no_end_of_a_turn(core: Coscheduler) -> None:
    handle = core.handle
    core.handle = lambda *args: [effect for effect in handle(*args) if type(effect) is not EndTurn]


def _replace(core: Coscheduler, kind: type, transition) -> None:
    core._rows[kind] = [row and transition for row in core._rows[kind]]


MISTAKES = {  # with the first seed to try, and whether in a world without faults
    no_lapse: (13, False),
    no_keep: (0, True),
    no_claim: (13, False),
    no_end_of_waiting_for_nodes: (214, False),
    no_answer_awaited: (15, False),
    no_word_to_the_scheduler: (1, False),
    no_end_of_a_turn: (1, False),
}


@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_in_the_rules_is_found(plant):
    first, calm = MISTAKES[plant]
    for seed in range(first, first + 100):
        try:
            (check_calm if calm else check)(history(seed, calm=calm, plant=plant))
        except Exception:
            return
    raise AssertionError("not found")
