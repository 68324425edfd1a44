"""Real Slurm clusters whose services are killed while the network between them loses and damages packets."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from deploy.lab.service import Sections
from deploy.slurm.lab import CoupledLab, Domain
from tests.live.test_groups import MIXTURES
from tests.live.workloads import contended
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled_checks import Served, check_nothing_is_left
from tests.slurm.damaged_network import FAIR, STORM, Network
from tests.slurm.test_coupled_groups_killed import BUSY, NAMES, NODES, PATIENCE, SETTINGS
from tests.tiers import SEED

TOGETHER = {2: 12, 3: 8}  # pairs, or groups of three
ALONE = 5
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


@pytest.mark.parametrize("schemes", [("hold", "hold"), ("hold", "yield"), *MIXTURES[:2]], ids="-".join)
def test_jobs_start_together_though_services_are_killed_and_packets_lost(schemes: Sequence[str]) -> None:
    domains = len(schemes)
    together = TOGETHER[domains]
    with stormy(NAMES[:domains], schemes) as coupled:
        network: Network = coupled.lab.network
        coupled.lab.restart(schemes, **BUSY)
        network.weather = STORM
        found = coupled.run_while_killed(contended(SEED, together, ALONE, domains=domains), SEED)
        assert all(network.done[what] for what in ("lost", "damaged", "doubled", "late", "passed")), network.done
        network.weather = FAIR
        assert found.states == {"completed": domains * together}
        assert set(found.runs.values()) == {1}
        assert len(found.runs) == domains * (together + ALONE)
        assert found.alone() == {}
