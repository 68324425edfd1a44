"""Histories of two or three domains whose link delays, drops, duplicates and reorders messages."""

import pytest

from cosched.core.story import TOGETHER, Why
from tests.tiers import seeds

from .faulty_link import DEADLINE, LATE, MAX_GRACE, MAX_PATIENCE, World
from .first_fit import LocalJob

SEEDS = 300  # of each chunk
LONG_AFTER = 50_000  # ticks; the faults end at 400
OWN_RUNJOB = TOGETHER - {Why.ASKED_BY_PEER}
FAULT = {Why.PEER_UNREACHABLE, Why.MATE_STARTED_BEFORE}


def history(seed: int) -> World:
    world = World(seed)
    world.run(until=LONG_AFTER)
    return world


def caller(job: LocalJob) -> str:
    return job.exchange.split("/")[1]


def together(world: World, pair: tuple[str, str], by_one_request: bool = False) -> bool:
    """Whether both started in one exchange: by calls of one of them, or by calls of both that crossed."""
    one, other = (world.job(name) for name in pair)
    asked = [job for job in (one, other) if job.why is Why.ASKED_BY_PEER]
    if not asked or not all(job.why in OWN_RUNJOB for job in (one, other) if job not in asked):
        return False
    if len(asked) == 2:
        return (caller(one), caller(other)) == (other.name, one.name)
    return one.exchange == other.exchange if by_one_request else caller(one) == caller(other)


def check(world: World) -> None:
    assert world.over(), "a job never started"
    for pair in world.groups:
        one, other = (world.job(name) for name in pair)
        if world.cancelled & set(pair):
            continue
        if not world.failed & set(pair):
            assert together(world, pair, by_one_request=True), f"{pair} apart without a fault"
            assert abs(one.started - other.started) <= DEADLINE
        elif together(world, pair):
            assert abs(one.started - other.started) <= LATE + max(MAX_PATIENCE, MAX_GRACE) + 2 * DEADLINE
        else:
            assert {one.why, other.why} & FAULT, f"{pair} apart, and the record does not say why"


@pytest.mark.parametrize("chunk", seeds(1, 40))
def test_pairs_stay_whole_or_the_record_says_why(chunk):
    """ "Where they do not, a fault was in force on that pair, or one of them could no longer run [...], and the
    record says which." "No job starts twice"; every job starts once the faults have stopped."""
    for seed in range(chunk * SEEDS, (chunk + 1) * SEEDS):
        try:
            check(history(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


def test_the_histories_have_faults_and_pairs_that_stay_whole():
    worlds = [history(seed) for seed in range(100)]
    pairs = [(world, pair) for world in worlds for pair in world.groups]
    whole = [together(world, pair) for world, pair in pairs]
    faulty = [bool(world.failed & set(pair)) for world, pair in pairs]
    assert 0 < sum(whole) < len(whole)
    assert 0 < sum(faulty) < len(faulty)
    assert (True, True) in zip(whole, faulty, strict=True)


def test_one_seed_reproduces_one_history():
    first, again = (history(7) for _ in range(2))
    assert repr([domain.jobs for domain in first.domains.values()]) == repr(
        [domain.jobs for domain in again.domains.values()]
    )
