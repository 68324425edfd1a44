"""Services are killed while jobs of pairs and groups are cancelled, replaced, queued again, and end with each other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.live.kill_campaign import campaign
from tests.live.lives_checks import Lives
from tests.live.owners import CHANGES, NODES, Together, Told, followers, owners, preemptive, some
from tests.live.services import Federation
from tests.tiers import SEED, seeds

KILLS = 8  # in each campaign
MOST_ALIVE = 2.5  # seconds between two kills, so that something happens meanwhile
SETTINGS = {
    "scheme": "hold", "hold_check": 2, "successor_patience": 3, "successor_hold": 1, "release_interval": 120,
    "max_held_fraction": "0.75", "on_peer_unreachable": "hold", "peer_patience": "30s", "peer_timeout": 10,
    "mate_patience": 20, "max_requeues": 1000,
}  # fmt: skip


def put_through(
    domains: Federation, work: Sequence[Together], seed: int, kills: int = KILLS, changes: float = CHANGES
) -> Lives:
    """Have owners and kills at work on these domains, which are not started yet; what has become of all."""
    told = Told()
    also = owners(domains, work, told, seed, changes)
    seen = campaign(domains.start(), [[]] * len(domains.services), seed, kills, also=also, most_alive=MOST_ALIVE)
    return Lives(domains, work, told, seen)


def check(lives: Lives, hold_check: float, successor_hold: float) -> None:
    """Nothing is lost, doubled, held in vain, or half beyond what docs/operating.md says of faults."""
    lives.check_all_is_there_once()
    lives.check_no_half_of_those_that_are_queued_again_together()
    lives.check_jobs_end_with_those_that_they_follow()
    assert lives.longest_vain_hold() <= lives.allowed(hold_check, successor_hold), lives.vainest()
    assert not lives.domains.faults()


@pytest.mark.soak
@pytest.mark.parametrize("seed", seeds(0, 4))
@pytest.mark.parametrize("names", ["ab", "abc"])
def test_killed_services_lose_nothing_of_jobs_that_change_and_follow_each_other(make_federation, names, seed):
    domains = make_federation(names, **SETTINGS)
    for service in domains.services[::2]:
        preemptive(service)
    for service in domains.services[1::2]:
        service.config["manager"]["slots"] = NODES
    lives = put_through(domains, some(seed, 24 // len(names), names), seed)
    print(f"{names}, seed {seed}: {lives.summary()}")
    check(lives, SETTINGS["hold_check"], SETTINGS["successor_hold"])


@pytest.mark.soak
def test_a_hundred_kills_lose_double_and_halve_none_of_pairs_that_are_queued_again_and_end_together(make_federation):
    """Both services preempt, and are killed at random instants; each job is queued again with its mate, and one of each
    pair ends with the other. To repeat a run, and see what it has done:

        SOAK_SEED=7 .venv/bin/pytest -rP -m soak tests/live/test_kill_lives.py -k hundred
    """
    domains = make_federation("ab", **SETTINGS | {"mate_patience": 120})
    for service in domains.services:
        preemptive(service)
    lives = put_through(domains, followers(SEED, 90, "ab"), SEED, kills=100, changes=4)
    print(f"seed {SEED}: {lives.summary()}")
    check(lives, SETTINGS["hold_check"], SETTINGS["successor_hold"])
    assert lives.requeues() > 50
    assert lives.ended_with_mates() > 20
