"""Random lives of pairs and groups whose runs are taken back: half a pair runs only where a fault was in force."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.following import Following
from cosched.core.effects import Answer, Effect, EndRun, SetTimer, Timer, Try
from cosched.core.events import CheckDue, Ready, Requeued, Submitted, Tried
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, MemberTold, OnMemberRequeued, named_group, named_mate
from cosched.core.settings import CoschedulingSettings
from tests.core.had import had
from tests.tiers import SEED, soaked

from .lives import Lives
from .messages import Messages

REQUEUE = OnMemberRequeued.REQUEUE


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
    starts = {lives.starts()[job] for job in jobs}
    assert len(starts) == 1, (seed, lives.starts())
    assert {lives.state(job) for job in jobs} == {JobState.COMPLETED}, seed
    runs = {lives.domains[name].core.jobs["1"].runs for name in lives.domains}
    assert len(runs) == 1, (seed, runs)


@pytest.mark.parametrize("seeds", soaked([range(100), range(SEED * 10_000, SEED * 10_000 + 5_000)], 1))
def test_with_faults_all_of_them_end_though(seeds):
    """Nobody waits for ever, and nothing is left to be told."""
    for seed in seeds:
        lives = lived(seed, faults=True)
        for domain in lives.domains.values():
            jobs = domain.core.jobs.values()
            assert all(job.state is JobState.COMPLETED and not job.news and job.ending is None for job in jobs), seed
            assert not domain.core.ledger.telling, seed


# Messages that take a while


class Pair(Messages):
    """Jobs that run together on a and b; messages come in any order. Each follows the other."""

    def __init__(self, draw: random.Random) -> None:
        settings = CoschedulingSettings(on_member_requeued=REQUEUE, max_requeues=99, max_held_fraction=Decimal(1))
        cores = {name: Coscheduler(name, 10, settings, story=False) for name in "ab"}
        super().__init__(cores, dict.fromkeys("ab", "j"))
        self.draw = draw
        for name, other in ("ab", "ba"):
            self.feed(name, Submitted("j", named_mate(other, "run7")))
        self.calm()

    def _carry_out(self, name: str, effect: Effect) -> None:
        super()._carry_out(name, effect)
        if type(effect) is Try:
            self.feed(name, Tried("j", had(self.draw.random() < 0.3)))
        elif type(effect) is SetTimer and effect.timer is Timer.CHECK:
            self.pending.append((name, CheckDue("j")))
        elif type(effect) is EndRun:
            self.pending.append((name, Requeued("j")))

    def deliver(self) -> None:
        name, event = self.pending.pop(self.draw.randrange(len(self.pending)))
        if type(event) is not Requeued or self.state(name) is JobState.RUNNING:
            self.feed(name, event)

    def step(self) -> None:
        name, what = self.draw.choice("ab"), self.draw.random()
        if what < 0.03 and self.state(name) is JobState.RUNNING:
            self.feed(name, Requeued("j"))
        elif what < 0.2 and self.state(name) is JobState.QUEUED:
            self.feed(name, Ready("j", Allocation(4), FOREVER))
        elif self.pending:
            self.deliver()

    def calm(self) -> None:
        """All is delivered, and queued jobs are offered, until both run."""
        while self.pending or any(self.state(name) is not JobState.RUNNING for name in "ab"):
            if self.pending:
                self.deliver()
            else:
                for name in "ab":
                    if self.state(name) is JobState.QUEUED:
                        self.feed(name, Ready("j", Allocation(4), FOREVER))


def runs_of_pair(seed: int) -> list[int]:
    """How many runs each of the two has begun after a while."""
    pair = Pair(random.Random(seed))
    for _ in range(300):
        pair.step()
    pair.calm()
    return [pair.job(name).runs for name in "ab"]


@pytest.mark.parametrize("seeds", soaked([range(150), range(SEED * 10_000, SEED * 10_000 + 15_000)], 1))
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
