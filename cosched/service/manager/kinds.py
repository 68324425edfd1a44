"""The only choices of a service that depend on the kind of its resource manager."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, cast

from cosched.core.protocol import JobId
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.scheduling.places import Places
from cosched.core.scheduling.scheduler import StopsLater
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.offered_jobs import OfferedJobs
from cosched.service.domain.offered_slots import OfferedSlots
from cosched.service.manager.launches import SERVER, Launches, Tell
from cosched.service.manager.offers import Offers
from cosched.service.manager.plans import planned
from cosched.service.manager.queues import BatchQueue, Queue
from cosched.service.manager.resizes import ResizeRules, Resizes
from cosched.service.manager.runner import Runner
from cosched.service.manager.slot_orders import SlotOrders
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.linking import Coupled
from cosched.service.tasks import Tasks
from cosched_adapters.batch_system import BatchSystem, MeetingSystem
from cosched_adapters.launcher import ElasticLauncher, Launcher, PlayingLauncher
from cosched_adapters.loading import ResourceManager
from cosched_adapters.manager import UnknownJobError

TO_END = 1.0  # seconds that a manager may take beside its grace until nothing is left of a run


class ServiceParts(NamedTuple):
    """A domain, and the parts of its service that its manager's work needs."""

    domain: LiveDomain
    announcer: Announcer
    agreed: AgreedStart
    coupled: Coupled
    tasks: Tasks  # see Runner
    finding: Mapping[str, str]  # variables by which jobs find their mates
    resize_rules: ResizeRules
    tell: Tell | None = None  # see Launches


class Kind(NamedTuple):
    """What depends on the kind of a manager."""

    start_lead: Callable[[], float] | None  # seconds of notice for a start at an exact instant; None: impossible
    connect: Callable[[ServiceParts], tuple[Runner, Queue]]  # connects a domain with its manager
    nodes: Places | None = None  # those on which it can launch jobs as we choose
    waits: bool = False  # whether starts wait for an agreed instant though the manager cannot


def kind_of(manager: ResourceManager) -> Kind:
    """Return the kind of this manager, which is open."""
    if isinstance(manager, BatchSystem):
        return Kind(lambda: manager.start_lead, partial(_offers, manager))
    nodes = Places(manager.node_names, had=partial(_nodes_of, manager)) if manager.node_names else None
    return Kind(None, partial(_launches, manager), nodes, waits=not isinstance(manager, PlayingLauncher))


def _nodes_of(launcher: Launcher, job: JobId) -> Sequence[str]:
    """Return which nodes a job has, though nobody has chosen them for it."""
    with suppress(UnknownJobError):
        return launcher.nodes_of(job) if isinstance(launcher, ElasticLauncher) else ()
    return ()


def _offers(system: BatchSystem, parts: ServiceParts) -> tuple[Runner, Queue]:
    domain, announcer, agreed, coupled, tasks, finding, *_ = parts
    scheduler, slots = cast(ExternalScheduler, domain.scheduler), None
    if scheduler.capabilities.slots:
        slots = SlotOrders(OfferedSlots(domain, scheduler), cast(MeetingSystem, system), domain.clock, tasks)
    jobs = OfferedJobs(domain, scheduler, agreed.accepted)
    ports = {name: value for name, value in finding.items() if name != SERVER}  # nodes do not see the domain's socket
    offers = Offers(domain, jobs, system, announcer, coupled, tasks, slots, ports)
    return Runner(domain, system, offers, tasks), BatchQueue(domain, system, coupled)


def _ask_ahead(domain: LiveDomain, scheduler: StopsLater, agreed: AgreedStart, notice: float) -> None:
    """Let a job ask its mate with an instant at which the runs that it stops have ended, where the two can agree."""

    def may(job: JobId) -> bool:
        known = domain.core.jobs.get(job)
        return known is not None and known.is_pair and agreed.can_be_ahead(known.peer, notice)

    scheduler.stop_later(may)
    agreed.notice = lambda job: notice if scheduler.stops_others(job) else 0.0


def _launches(launcher: Launcher, parts: ServiceParts) -> tuple[Runner, Queue]:
    domain, tasks = parts.domain, parts.tasks
    resizes = None
    if domain.scheduler.capabilities.resize and isinstance(launcher, ElasticLauncher):
        resizes = Resizes(domain, launcher, parts.resize_rules)
    if not isinstance(launcher, PlayingLauncher):
        domain.scheduler.lag()
        if isinstance(domain.scheduler, StopsLater) and launcher.grace is not None:
            _ask_ahead(domain, domain.scheduler, parts.agreed, launcher.grace + TO_END)
    launches = Launches(domain, launcher, tasks, parts.finding, resizes, parts.tell)
    return Runner(domain, launcher, launches, tasks), Queue(launcher, partial(planned, domain))
