"""Real Slurm clusters whose services are killed while the network between them loses and damages packets."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest

from deploy.lab.service import Sections
from deploy.slurm.lab import CoupledLab, Domain
from tests.live.test_groups import MIXTURES, contended_groups
from tests.live.workloads import Outcome, Sides, contended
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled_checks import Served, check_nothing_is_left
from tests.slurm.damaged_network import FAIR, STORM, Network
from tests.slurm.test_coupled_groups_killed import (
    BUSY,
    NODES,
    PATIENCE,
    SETTINGS,
    check_groups_started_whole,
    kill_at_random,
)
from tests.slurm.test_coupled_groups_killed import NAMES as THREE
from tests.tiers import SEED

PAIRS, GROUPS, ALONE = 12, 8, 5
IMPATIENT = {"peer_timeout": 5}  # seconds: a call may be lost

pytestmark = pytest.mark.soak


class StormyLab(CoupledLab):
    """A coupled laboratory whose services reach each other by a network of their own."""

    network: Network

    def _sections(self, domain: Domain, scheme: str) -> Sections:
        sections = {**super()._sections(domain, scheme)}
        self.network.targets[domain.name] = domain.address
        peers = (peer.name for peer in self if peer is not domain)
        return sections | {
            "peer": [{"name": peer, "address": self.network.entrance(domain.name, peer)} for peer in peers]
        }


@contextmanager
def stormy(names: Sequence[str], schemes: Sequence[str]) -> Iterator[Served]:
    """Clusters that are up, with no services yet; afterwards nothing is left."""
    check_for_compiler()
    settings = {"options": {"nodes": NODES}, "patience": PATIENCE, **SETTINGS, **IMPATIENT}
    lab = StormyLab(names=names, schemes=schemes, services=False, **settings)
    with Network(names, SEED) as lab.network, lab:
        coupled = Served(lab)
        yield coupled
        check_nothing_is_left(coupled)


def storm(coupled: Served, schemes: Sequence[str], sides: Sides) -> Outcome:
    """What becomes of the work while the network and the kills do what they like."""
    network: Network = coupled.lab.network
    coupled.lab.restart(schemes, **BUSY)
    network.weather = STORM
    with ThreadPoolExecutor(1) as pool:
        over = Event()
        killing = pool.submit(kill_at_random, coupled, over, random.Random(SEED))
        try:
            ids: list[list[str]] = [[] for _ in sides]
            for domain, jobs, works in zip(coupled.lab, ids, sides, strict=True):
                jobs += [coupled.submit(domain, work) for work in works]
            killing.result()
        finally:
            over.set()
    found = coupled.outcome(*ids)
    assert all(network.done[what] for what in ("lost", "damaged", "doubled", "late", "passed")), network.done
    network.weather = FAIR
    return found


@pytest.mark.parametrize("schemes", [("hold", "hold"), ("hold", "yield")], ids="-".join)
def test_pairs_start_together_though_services_are_killed_and_packets_lost(schemes: Sequence[str]) -> None:
    with stormy(THREE[:2], schemes) as coupled:
        found = storm(coupled, schemes, contended(SEED, PAIRS, ALONE))
        assert found.states == {"completed": 2 * PAIRS}
        assert set(found.runs.values()) == {1}
        assert len(found.runs) == 2 * (PAIRS + ALONE)
        assert found.alone() == {}


@pytest.mark.parametrize("schemes", MIXTURES[:2], ids="-".join)
def test_groups_start_whole_though_services_are_killed_and_packets_lost(schemes: Sequence[str]) -> None:
    with stormy(THREE, schemes) as coupled:
        check_groups_started_whole(storm(coupled, schemes, contended_groups(SEED, GROUPS, ALONE)), GROUPS)
