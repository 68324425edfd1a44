"""Random lives of pairs and groups whose runs are taken back: half a pair runs only where a fault was in force."""

from __future__ import annotations

import random

import pytest

from cosched.core.coscheduling import incoming
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.following import Following
from cosched.core.effects import Answer
from cosched.core.job import JobState
from cosched.core.protocol import MemberTold, OnMemberRequeued, named_group
from tests.tiers import SEED, soaked

from .lives import Lives
from .requeued import Copies, Pair

REQUEUE = OnMemberRequeued.REQUEUE
LATE_TRIES = (42510575, 50005626)  # a TryStartMate comes when both jobs have run and wait again
LATE_ANSWERS = (77016372,)  # so does "it runs", to one who asks the very same by then


def lived(seed: int, *, faults: bool) -> Lives:
    """A group of two or three on domains that are also used otherwise, after all of it has ended."""
    draw = random.Random(seed)
    names = "abc"[: draw.choice([2, 2, 3])]
    lives = Lives(names, on_member_requeued=REQUEUE, max_requeues=99, peer_grace=draw.choice([0, 40]), peer_patience=10)
    lives.grace = draw.choice([0, 3, 30])
    for name in names:
        others = tuple(other for other in names if other != name)
        lives.submit(draw.randrange(50), f"{name}:1", draw.randint(3, 8), 4000, named_group("g", others))
        for number in range(2, draw.randint(2, 6)):
            lives.submit(draw.randrange(600), f"{name}:{number}", draw.randint(1, 8), draw.randint(1, 90))
    for _ in range(draw.randint(1, 4)):
        take_back(lives, draw.randrange(60, 900), f"{draw.choice(names)}:1")
    if faults:
        at, one, other = draw.randrange(700), *draw.sample(names, 2)
        lives.cut(at, one, other, until=at + draw.randint(1, 150))
    return lives.run(100_000)


def take_back(lives: Lives, at: int, job: str) -> None:
    """Its resource manager takes the nodes of a job back, if it runs then."""
    lives.at(at, lambda world: world._requeue(*job.split(":")) if world.state(job) is JobState.RUNNING else None)


@pytest.mark.parametrize("seeds", soaked([range(100), range(SEED * 10_000, SEED * 10_000 + 5_000)], 1))
def test_members_that_are_queued_again_start_together_whatever_happens_to_each(seeds):
    """ "no half pair where `requeue` is set on both sides and no fault is in force" """
    for seed in seeds:
        check_whole(seed)


def check_whole(seed: int) -> None:
    lives = lived(seed, faults=False)
    jobs = [f"{name}:1" for name in lives.domains]
    assert len({lives.starts()[job] for job in jobs}) == 1, (seed, lives.starts())
    assert {lives.state(job) for job in jobs} == {JobState.COMPLETED}, seed
    runs = {lives.domains[name].core.jobs["1"].runs for name in lives.domains}
    assert len(runs) == 1, (seed, runs)


@pytest.mark.parametrize("seeds", soaked([range(100), range(SEED * 10_000, SEED * 10_000 + 5_000)], 1))
def test_with_faults_all_of_them_end_though(seeds):
    """Nobody waits for ever, and nothing is left to be told."""
    for seed in seeds:
        for domain in lived(seed, faults=True).domains.values():
            jobs = domain.core.jobs.values()
            assert all(job.state is JobState.COMPLETED and not job.news and job.ending is None for job in jobs), seed
            assert not domain.core.ledger.telling, seed


# Messages that take a while


def runs_of_pair(seed: int) -> list[int]:
    """How many runs each of the two has begun after a while."""
    return Pair(random.Random(seed)).live().runs


OTHERS = range(SEED * 10_000, SEED * 10_000 + 15_000)


@pytest.mark.parametrize("seeds", soaked([(*range(150), *LATE_TRIES, *LATE_ANSWERS), OTHERS], 1))
def test_each_run_begins_with_that_of_the_mate_however_late_messages_are(seeds):
    """ "No ping-pong", and no half pair."""
    for seed in seeds:
        one, other = runs_of_pair(seed)
        assert one == other, seed
        assert one > 1 or seed not in range(3)


def test_a_hint_that_is_acknowledged_before_it_is_known_what_follows_leaves_half_pairs(monkeypatch):
    """ "Who acknowledges has its own order to be queued again on record": else its mate may be told that it runs."""

    def at_once(self, job, peer, request, now):
        return [*self.changed(job, peer, now), Answer(peer, request, MemberTold(True))]

    monkeypatch.setattr(Following, "hears", at_once)
    assert any(len(set(runs_of_pair(seed))) > 1 for seed in range(300))


def test_a_job_that_asks_for_nodes_before_others_know_that_it_was_queued_again_leaves_half_pairs(monkeypatch):
    """ "a job that was queued again asks for nodes only when its news is acknowledged" """
    monkeypatch.setattr(Asking, "untold", lambda *_: None)
    assert any(len(set(runs_of_pair(seed))) > 1 for seed in range(300))


def test_a_call_of_a_run_that_is_over_leaves_half_a_pair_if_it_starts_a_job(monkeypatch):
    """ "a job that waits and has begun more runs than the call says is not started" """
    monkeypatch.setattr(incoming, "_knows_runs", lambda *_: True)
    for seed in LATE_TRIES:
        one, other = runs_of_pair(seed)
        assert one != other, seed


# Messages that come more than once, and tries that take a while

TWO_ANSWERS = (1105, 1763)  # a job is tried, and a copy of the call starts it meanwhile
WORLDS = {"pair": ("ab", True), "group of two": ("ab", False), "group of three": ("abc", False)}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seeds", soaked([(*range(100), *TWO_ANSWERS), range(SEED * 10_000, SEED * 10_000 + 5_000)], 1))
def test_copies_of_messages_that_are_as_late_as_the_next_run_leave_no_half_pair(seeds, world):
    names, pair = WORLDS[world]
    for seed in seeds:
        assert len(set(Copies(random.Random(seed), names, pair=pair).live().runs)) == 1, seed
