"""Thousands of histories of two or three domains whose link delays, drops, duplicates and reorders messages."""

from __future__ import annotations

import pytest

from .faulty_link import DEADLINE, World

SEEDS, CHUNKS = 2000, 20
LONG_AFTER = 50_000  # ticks; the faults end at 400
OWN_RUNJOB = ("its holding mate started", "its mate could start")
FAULT = ("PeerUnreachable", "its mate started before it: desynchronised")
CANCELLED = "its mate will not run: cancelled"


def history(seed: int) -> World:
    world = World(seed)
    world.run(until=LONG_AFTER)
    return world


def together(world: World, pair: tuple[str, str]) -> bool:
    """Whether both started in one exchange: by one request, or by two that crossed."""
    one, other = (world.job(name) for name in pair)
    asked = [job for job in (one, other) if job.why.startswith("asked by ")]
    if not asked or not all(job.why in OWN_RUNJOB for job in (one, other) if job not in asked):
        return False
    if len(asked) == 1:
        return one.exchange == other.exchange
    callers = [job.exchange.split("/")[1] for job in (one, other)]
    return callers == [other.name, one.name]


def check(world: World) -> None:
    assert world.over(), "a job never started"
    for pair in world.pairs:
        jobs = [world.job(name) for name in pair]
        if world.cancelled & set(pair):
            continue
        if not together(world, pair):
            assert world.failed & set(pair), f"{pair} apart without a fault"
            assert {job.why for job in jobs} & set(FAULT), f"{pair}: the record does not say why"
        elif not world.failed & set(pair):
            assert abs(jobs[0].started - jobs[1].started) <= DEADLINE


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_pairs_stay_whole_or_the_record_says_why(chunk):
    """ "Where they do not, a fault was in force on that pair, or one of them could no longer run [...], and the record
    says which." "No job starts twice"; every job starts once the faults have stopped."""
    for seed in range(chunk, SEEDS, CHUNKS):
        try:
            check(history(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


def test_the_histories_have_faults_and_pairs_that_stay_whole():
    worlds = [history(seed) for seed in range(100)]
    pairs = [(world, pair) for world in worlds for pair in world.pairs]
    whole = [together(world, pair) for world, pair in pairs]
    faulty = [bool(world.failed & set(pair)) for world, pair in pairs]
    assert 0 < sum(whole) < len(whole)
    assert 0 < sum(faulty) < len(faulty)
    assert any(both for both in zip(whole, faulty, strict=True) if all(both))


def test_one_seed_reproduces_one_history():
    first, again = (history(7) for _ in range(2))
    assert repr([domain.jobs for domain in first.domains.values()]) == repr(
        [domain.jobs for domain in again.domains.values()]
    )
