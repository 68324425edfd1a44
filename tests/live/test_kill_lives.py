"""Services are killed while jobs of pairs and groups are cancelled, replaced, queued again, and end with each other."""

from __future__ import annotations

import pytest

from tests.live.kill_campaign import campaign
from tests.live.lives_checks import Lives
from tests.live.owners import NODES, Told, owners, preemptive, some
from tests.live.services import Federation
from tests.tiers import seeds

KILLS = 8  # in each campaign
MOST_ALIVE = 2.5  # seconds between two kills, so that something happens meanwhile
SETTINGS = {
    "scheme": "hold", "hold_check": 2, "successor_patience": 3, "successor_hold": 1, "release_interval": 120,
    "max_held_fraction": "0.75", "on_peer_unreachable": "hold", "peer_patience": "30s", "peer_timeout": 10,
    "mate_patience": 20, "max_requeues": 1000,
}  # fmt: skip


def put_through(domains: Federation, together: int, seed: int) -> Lives:
    """Have owners and kills at work on these domains, which are not started yet; what has become of all."""
    for service in domains.services[::2]:
        preemptive(service)
    for service in domains.services[1::2]:
        service.config["manager"]["slots"] = NODES
    names = [service.name for service in domains.services]
    work, told = some(seed, together, names), Told()
    also = owners(domains, work, told, seed)
    seen = campaign(domains.start(), [[] for _ in names], seed, KILLS, also=also, most_alive=MOST_ALIVE)
    return Lives(domains, work, told, seen)


@pytest.mark.soak
@pytest.mark.parametrize("seed", seeds(0, 4))
@pytest.mark.parametrize("names", ["ab", "abc"])
def test_killed_services_lose_nothing_of_jobs_that_change_and_follow_each_other(make_federation, names, seed):
    lives = put_through(make_federation(names, **SETTINGS), 24 // len(names), seed)
    print(f"{names}, seed {seed}: {lives.summary()}")
    lives.check_all_is_there_once()
    lives.check_no_half_of_those_that_are_queued_again_together()
    lives.check_jobs_end_with_those_that_they_follow()
    allowed = lives.allowed(SETTINGS["hold_check"], SETTINGS["successor_hold"])
    assert lives.longest_vain_hold() <= allowed, lives.vainest()
    assert [service.faults() for service in lives.domains.services] == [[] for _ in names]
