"""One policy domain as a process: it opens its parts in order, serves, and closes them in reverse order.

Order at the start: database, resource manager, the state after the last turn, comparison with the manager's jobs,
listeners, readiness. A stop leaves jobs running; the next start finds them.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Collection, Coroutine, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from grpc_health.v1 import health_pb2

from cosched import __version__
from cosched.core.protocol import JobId
from cosched.host.garbage import look_from_now_on
from cosched.service import systemd
from cosched.service.api.adaptive_api import Adaptive
from cosched.service.api.coscheduling_api import CoschedulingApi
from cosched.service.api.domain_api import Serving
from cosched.service.api.domain_operations import DomainOperations
from cosched.service.api.operations import Operations
from cosched.service.api.reads import Reads
from cosched.service.api.rendezvous_api import Rendezvous
from cosched.service.api.requests import Requests
from cosched.service.api.views import Views
from cosched.service.configuration import Configuration
from cosched.service.domain.charges import Accounts
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.recovery import recover
from cosched.service.domain.watching import Watchers
from cosched.service.ending import ended_by, watch_scheduler
from cosched.service.gauges import measure
from cosched.service.listeners.listening import Listeners, Served
from cosched.service.manager.kinds import ServiceParts, kind_of
from cosched.service.manager.launches import Launches
from cosched.service.manager.resizes import ResizeRules
from cosched.service.metrics import Metrics
from cosched.service.outside import ServiceOutside
from cosched.service.page.page_api import Described
from cosched.service.page.sampling import sample_interval, take_sample
from cosched.service.page.viewers import Policy
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.gaps import Gaps
from cosched.service.peers.greeting import Greeting
from cosched.service.peers.linking import Coupled
from cosched.service.peers.mate_looks import MateLooks
from cosched.service.peers.peers import PeerClients
from cosched.service.planning.choosing import choosing_of
from cosched.service.planning.estimates import Estimates
from cosched.service.planning.explaining import Explaining
from cosched.service.planning.machines import own_machines
from cosched.service.planning.quoting import Quotes
from cosched.service.planning.told_users import ToldUsers
from cosched.service.preparing import check_addresses, mistakes_of_manager, prepare
from cosched.service.replay.replaying import replay_of
from cosched.service.start_hook import run_hook
from cosched.service.starting import Starting, StoppedError
from cosched.service.store import Store
from cosched.service.store.durability import Durability
from cosched.service.tasks import Tasks
from cosched.service.timers import Timers
from cosched.service.upkeep import Upkeep, opened_clock
from cosched.service.wire.callers import powerful_elsewhere
from cosched.service.wire.tls import PeerCredentials
from cosched.v1 import cluster_pb2
from cosched_adapters.batch_system import BatchSystem
from cosched_adapters.loading import ResourceManager

ASK_AGAIN = 1.0  # seconds between attempts to reach a peer that does not answer
FIRST_BEAT = 2  # seconds
TIDY = 60.0  # seconds
IDLE = 60
ESTIMATE = 60.0
_LOG = logging.getLogger(__name__)


class Service:
    """The service of one domain; `run` it once."""

    def __init__(self, configuration: Configuration, aside: Collection[JobId] = ()) -> None:
        """`aside`: see `recover`."""
        self.configuration, self._aside = configuration, aside
        self.name = configuration.domain.name
        self.metrics = Metrics(__version__)
        self._stop = asyncio.Event()
        self._failure: BaseException | None = None
        self._serving = False
        self._busy_at = 0
        self._starting = Starting(self.name, self._stop)
        self._tasks: set[asyncio.Task[None]] = set()
        self._peer_names = [peer.name for peer in configuration.peers]
        self._ours = configuration.manager.scheduler_kind
        self._greeting: Greeting

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT. InputError or StoreError if this is impossible; RuntimeError after a fault."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        async with AsyncExitStack() as stack:
            stack.callback(watch_scheduler(self._ours, lambda: self._serving))
            try:
                await self._open(stack)
            except StoppedError:
                return
            look_from_now_on()  # a search among what is loaded takes up to a tenth of a second
            self._serving = True
            self._greeting.tell()
            _LOG.info("serving %s on %s", self.name, self.address)
            systemd.notify(f"READY=1\nSTATUS=serving {self.name} on {self.address}")
            await self._stop.wait()
            self._serving = False
            systemd.notify("STOPPING=1")
            _LOG.info("stopping")
            if self._failure is not None:
                self.requests.abandon()
            await self._listeners.tell_health(health_pb2.HealthCheckResponse.NOT_SERVING)
            await self._greeting.say_goodbye()
        if self._failure is not None:
            raise RuntimeError(ended_by(self._failure, self._ours)) from self._failure
        if self._starting.moved:
            raise RuntimeError(f"{self._starting.moved}, and this service stands by")

    @property
    def address(self) -> str:
        """The address at which it listens."""
        return self._listeners.address

    def fail(self, error: BaseException) -> None:
        """End the service: its memory cannot be trusted. It restarts from its database."""
        if self._failure is None:
            _LOG.critical("a fault of the service", exc_info=error)
            self._failure = error
            self._stop.set()

    # Opening, in order

    async def _open(self, stack: AsyncExitStack) -> None:
        prepared = prepare(self.configuration)
        self._tls, self._catalogue = prepared.tls, prepared.catalogue
        for doubt in prepared.doubts:
            _LOG.warning("%s", doubt)
        if not await self._starting.turn(prepared.manager):
            check_addresses(self.configuration)  # else they are, or were, those of another host's service
        await self._starting.opened(lambda: self._open_store(stack))
        self._listeners = Listeners(self.configuration, prepared, self.metrics, self._starting, self.problem)
        self._listening = await stack.enter_async_context(AsyncExitStack())
        await self._listeners.open_local_socket(self._listening)
        manager, found = await self._open_manager(stack, prepared.manager)
        await self._listeners.open_listener(self._listening)
        await self._listeners.open_token_listener(self._listening)
        await self._listeners.open_peer_sockets(self._listening)
        await self._starting.load_kernels(self._ours.needed(self._cluster), self._ours.name)
        await self._open_domain(stack, manager)
        self._keep_links(stack)
        await self.runner.reconcile(found, self._running)
        self.runner.start()
        self.announcer.resume()
        if self._replay is not None:
            self._replay.begin(self.domain, self._outside)
        self._start_timers()
        if not self._paced:
            self._task(self._starting.follow(manager))
            self._tell_users(manager)
        await self._listen(stack)

    def _open_store(self, stack: AsyncExitStack) -> None:
        self.store = Store.open(self.configuration.domain.state, self.name)
        loop = asyncio.get_running_loop()
        self.store.damage.tell = lambda error: loop.call_soon_threadsafe(self.fail, error)
        stack.callback(self.store.close)
        self.reads = Reads(self.store.reader())
        stack.push_async_callback(self.reads.close)

    async def _open_manager(
        self, stack: AsyncExitStack, manager: ResourceManager
    ) -> tuple[ResourceManager, Mapping[str, Any]]:
        with mistakes_of_manager():
            found = await self._starting.found(manager)
            stack.push_async_callback(manager.close)
            self._cluster = self.configuration.machine_settings(manager.nodes)
            self._replay = replay_of(manager, self._peer_names)
            self._paced = self._replay is not None and self._replay.paced  # a conductor sets the time
        self.clock = opened_clock(self.store) if self._replay is None else self._replay.clock
        self._began = self.clock.exact()
        return manager, found

    async def _open_domain(self, stack: AsyncExitStack, manager: ResourceManager) -> None:
        configuration, replay = self.configuration, self._replay
        self.timers = replay.timers if replay else Timers(self.clock)
        self.watchers = Watchers()
        durability = self._open_durability(stack)
        kind, scheduler = kind_of(manager), self._ours.open(self._cluster)
        owners = configuration.owners(powerful_elsewhere(plaintext=configuration.domain.plaintext))
        adopting = [peer.name for peer in configuration.peers if peer.adopt]
        self._machines = own_machines(self._catalogue, configuration, lambda: self.views.node_groups(self.queue))
        self._choosing = choosing_of(self._machines, kind.nodes, scheduler, lambda job: self.domain.jobs.get(job))
        self.domain = LiveDomain(
            self.name, configuration.coscheduling_settings(), scheduler, self.store, self.clock, self.metrics,
            owners=owners, adopting=adopting, accounts=Accounts.of(configuration), paced=self._paced,
            of_traces=replay is not None, kind=self._ours, places=self._choosing.places if self._choosing else None,
        )  # fmt: skip
        credentials = PeerCredentials(self._tls) if self._tls and not configuration.domain.plaintext else None
        timeout = float(configuration.coscheduling.peer_timeout)
        peers = replay.peers if replay else PeerClients
        self.peers = peers(
            self.name, configuration.peers, timeout, credentials, lambda view: self._greeting.changed(view),
            self.domain.presence.answers,
        )  # fmt: skip
        most = float(configuration.coscheduling.max_clock_offset)
        self._agreed = AgreedStart(
            kind.start_lead, self.peers.clock_offset, most, waits=kind.waits, peer_waits=self.peers.waits_for_starts
        )
        tasks = Tasks(self.fail)
        self.announcer = Announcer(self.domain, self.peers, tasks)
        self._greeting = Greeting(
            self.domain, self.peers, self.announcer, configuration.coscheduling, self._task, lambda: self._serving,
            self._paced,
        )  # fmt: skip
        coupled = Coupled(self._peer_names, configuration.coscheduling.default_peer or "")
        parts = ServiceParts(
            self.domain, self.announcer, self._agreed, coupled, tasks, configuration.job_environment(),
            ResizeRules.of(configuration), self._choosing.variables if self._choosing else None,
        )  # fmt: skip
        self.runner, self.queue = kind.connect(parts)
        outside = replay.outside if replay else ServiceOutside
        self._outside = outside(
            self.domain, self.peers, self._agreed, self.runner, self.timers, self.watchers, durability, self.fail
        )
        stack.push_async_callback(self.peers.close)
        stack.push_async_callback(self._outside.tasks.close)
        stack.push_async_callback(tasks.close)
        stack.callback(self.domain.refused_changes.close)
        stack.callback(self.domain.sparing_log.close)
        self._gaps = Gaps(self.domain, self.peers, tasks, self._began) if replay is None else None
        if self._gaps is not None:
            self.domain.on_began = self._gaps.begun
        self._running = recover(self.domain, self._outside, self._aside)
        looks = None if self._paced else MateLooks(self.domain, self.peers, tasks)
        self.explaining = Explaining(self.domain, self.queue, self.peers, Estimates(self.store), looks)
        self.views = Views(self.domain, self.clock)
        self.requests = Requests(self.domain)
        self.operations = Operations(
            self.domain, self.requests, self.runner, self.queue, self.announcer, coupled,
            configuration.domain.max_jobs_per_user, configuration.domain.max_script_bytes_per_user,
            partial(self._ours.submitted, configuration.manager), self._choosing,
        )  # fmt: skip
        stack.push_async_callback(self.requests.close)

    def _keep_links(self, stack: AsyncExitStack) -> None:
        for peer in self.configuration.peers:
            if peer.ssh is not None:
                from cosched.service.peers.ssh_link import SshLink  # most services have none

                grace = float(self.configuration.coscheduling_settings().peer_grace)
                stack.push_async_callback(SshLink(self.name, peer, grace, self.fail).close)

    def _open_durability(self, stack: AsyncExitStack) -> Durability | None:
        if self._paced:
            return None
        durability = Durability(self.store, self.metrics, self.fail)
        stack.callback(durability.close)
        return durability

    def _start_timers(self) -> None:
        if not self._paced:
            self._start_periodic_work()
        if (watchdog := systemd.watchdog_interval()) is not None:
            self.timers.every("watchdog", watchdog, lambda: systemd.notify("WATCHDOG=1"))
        self.timers.start()

    def _start_periodic_work(self) -> None:
        every, section = self.timers.every, self.configuration
        Upkeep(self.store, self.clock, self.timers, self.metrics, section.domain.retention).start()
        if command := section.events.on_pair_start:
            self._task(run_hook(self.domain, self.watchers, command, section.events.timeout))
        every("tidy", TIDY, self.domain.tidy)
        every("estimates", ESTIMATE, lambda: self._task(self.explaining.keep_in_step()))
        if self._choosing is not None:
            machines = self._choosing.machines
            every("machines", max(1, machines.refresh), lambda: self._task(machines.gathered()))
        if section.page is not None:
            take = partial(take_sample, self.store, self.clock, self.views, section.page.history)
            take()
            every("sample", sample_interval(section.page.history), take)
        if section.domain.idle_end is not None:
            every("idle", min(IDLE, section.domain.idle_end), self._end_if_idle)
        if section.domain.schedule_interval:
            every("schedule", section.domain.schedule_interval, self.domain.reschedule)
        if section.coscheduling_settings().peer_grace and section.peers:
            every("peers away", ASK_AGAIN, self._greeting.look_for_absent)
        if section.coscheduling.heartbeat_interval and section.peers:
            every("heartbeat", section.coscheduling.heartbeat_interval, self._greeting.beat)
            # Soon, so that the offsets of clocks are known; not at once, since peers may be starting too.
            self.timers.set("first heartbeat", self.clock.now() + FIRST_BEAT, self._greeting.beat)

    def _tell_users(self, manager: ResourceManager) -> None:
        if isinstance(manager, BatchSystem) and manager.tell_interval:
            told = ToldUsers(self.domain, manager, self.explaining)
            self.timers.every("tell users", manager.tell_interval, lambda: self._task(told.tell()))

    async def _listen(self, stack: AsyncExitStack) -> None:
        stack.callback(self.timers.stop)
        stack.push_async_exit(self._listening.pop_all())  # before what they serve
        self.serving_since = self.clock.now()
        if self._gaps is not None:
            self._gaps.resume()
        served = self._served()
        await self._listeners.serve(served)
        self.timers.every("health", 1.0, self._follow_health)
        if self.configuration.domain.http is not None or self.configuration.page is not None:
            measure(self.configuration, self.domain, self.views, self.peers)
        await self._listeners.open_http(stack, served)

    def _served(self) -> Served:
        peers = frozenset(self._peer_names)
        return Served(
            Serving(
                self.domain, self.requests, self.operations, DomainOperations(self.domain, self.requests), self.queue,
                self.views, self.reads, self.watchers, self.about, self._greeting.tell, self.explaining, self._machines,
                Quotes(self.domain, self.queue, self.operations.prospect),
            ),
            lambda identify: CoschedulingApi(
                self.domain, peers, identify, self._agreed, self.queue, self._outside.settled, self.announcer.joined,
                self._gaps,
            ),
            Rendezvous(self.domain, self.operations, self.peers, self.configuration.domain.job_ports),
            self._adaptive(),
            Described(
                self.domain, self.views, self.clock, self.reads, self.about, Policy(self.configuration.shown_to),
                self._greeting.clock_ahead, self.explaining, self.queue,
            ),
            self.peers,
            self._replay.lockstep if self._replay is not None else None,
        )  # fmt: skip

    def _adaptive(self) -> Adaptive | None:
        work = self.runner.work
        resizes = work.resizes if isinstance(work, Launches) else None
        return None if resizes is None else Adaptive(self.domain, self.operations, resizes)

    # While it serves

    def about(self) -> cluster_pb2.Domain:
        """Return the description of the domain for users."""
        kind, section = self.configuration.manager.kind, self.configuration.coscheduling
        return self.views.domain(kind, f"cosched {__version__}", self.serving_since, self.peers.views(), section)

    def problem(self) -> str | None:
        """Return why the service is not healthy; None if it is."""
        if not self._serving:
            return "starting or stopping"
        problem = self.domain.turns.problem or self.runner.work.problem
        return f"stalled: {problem}" if problem else None

    def _follow_health(self) -> None:
        answers = health_pb2.HealthCheckResponse
        self._task(self._listeners.tell_health(answers.NOT_SERVING if self.problem() else answers.SERVING))

    def _end_if_idle(self) -> None:
        """End a user's own service when it has had no jobs, and peers have not asked about any, for so long."""
        now, patience = self.clock.now(), self.configuration.domain.idle_end or 0
        if self.domain.jobs:
            self._busy_at = now
        elif now - max(self._busy_at, self.domain.asked_at, self.serving_since) >= patience:
            _LOG.info("no jobs for %d s: the next command starts this service again", patience)
            self._stop.set()

    def _task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)  # the loop alone would let it be garbage-collected
        task.add_done_callback(self._tasks.discard)
