"""The only choices of a service that depend on the kind of its resource manager."""

from __future__ import annotations

from collections.abc import Sequence

from cosched.adapters.batch_system import BatchSystem
from cosched.adapters.loading import ResourceManager
from cosched.core.protocol import Domain
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.offered_domain import OfferedDomain
from cosched.service.manager.launches import Launches
from cosched.service.manager.offers import Offers
from cosched.service.manager.queues import BatchQueue, Queue
from cosched.service.manager.runner import Runner
from cosched.service.peers.announcing import Announcer
from cosched.service.tasks import Tasks


def kind_of_domain(manager: ResourceManager) -> type[LiveDomain]:
    """Return the class of domain: the batch system schedules, or our embedded scheduler does."""
    if isinstance(manager, BatchSystem):
        return OfferedDomain
    from cosched.service.kernels import load_kernels  # also imports the compiler, which batch systems do not need

    load_kernels()
    return LiveDomain


def deal_with(
    manager: ResourceManager, domain: LiveDomain, announcer: Announcer, peers: Sequence[Domain], tasks: Tasks
) -> tuple[Runner, Queue]:
    """Return what connects a domain and its manager. `peers`: the configured domains; `tasks`: see Runner."""
    if isinstance(manager, BatchSystem):
        assert isinstance(domain, OfferedDomain)
        offers = Offers(domain, manager, announcer, peers, tasks)
        return Runner(domain, manager, offers, tasks), BatchQueue(domain, manager, peers)
    return Runner(domain, manager, Launches(domain, manager, tasks), tasks), Queue(manager)
