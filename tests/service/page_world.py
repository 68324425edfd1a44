"""The pages of the two domains of a simulated world, without sockets: a asks b of its jobs, and b asks a."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cosched.core.protocol import Failure
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings, OpenScheduler
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.api.reads import Reads
from cosched.service.api.views import Views
from cosched.service.configuration import Configuration, read_configuration
from cosched.service.domain.watching import Watchers
from cosched.service.manager.plans import planned
from cosched.service.manager.queues import Queue
from cosched.service.page.application import application
from cosched.service.page.limits import Limits
from cosched.service.page.page_api import Described, PageApi
from cosched.service.page.peers_told import PeersTold
from cosched.service.page.sampling import take_sample
from cosched.service.page.site import Site
from cosched.service.page.viewers import Policy, Viewers
from cosched.service.peers.peer import PeerView
from cosched.service.peers.peers import CallError
from cosched.service.planning.estimates import Estimates
from cosched.service.planning.explaining import Explaining
from cosched.service.store import JobRecord, Reader
from cosched.service.store.reading import Damage
from cosched.service.wire.callers import certificate_holders
from cosched.v1 import cluster_pb2, explain_pb2, page_pb2
from tests.service.page_clients import Answer
from tests.service.world import Faults, Node, World

WALL = 1_767_355_200 - 1000  # the world begins at 2026-01-02 12:00 UTC
HOLD = CoschedulingSettings(scheme=Scheme.HOLD, release_interval=1200, max_held_fraction=1, peer_grace=120)
MEET = replace(HOLD, scheme=Scheme.YIELD, slots=True)
CONFIGURATION = """
[domain]
name = "{name}"
listen = "127.0.0.1:7701"
state = "{name}.db"
plaintext = true
http = "127.0.0.1:0"
[manager]
kind = "local"
[coscheduling]
scheme = "{scheme}"
[page]
proxies = ["127.0.0.1"]
show = "{show}"
[[peer]]
name = "{peer}"
address = "127.0.0.1:7702"
"""


class PageNode(Node):
    """A domain of so many nodes, whose jobs have owners and names."""

    size = 16
    owners: Callable[[int], str] = staticmethod(lambda _: "ann")
    titles: Callable[[int], str] = staticmethod(lambda _: "job")

    def _scheduler(self) -> OpenScheduler:
        ordering, backfilling = parse_ordering("fcfs"), BACKFILLING["easy"]
        return OpenCluster(ClusterSettings(self.size, ordering, backfilling, slots=self.settings.slots))

    def _live(self) -> None:
        super()._live()
        clock: Any = self.domain.clock
        clock.to_wall, clock.from_wall = (lambda instant: instant + WALL), (lambda instant: instant - WALL)

    def launch(self, job: str) -> None:
        super().launch(job)
        self.world.at(self.world.now, lambda: self.domain.started(job))

    def _submit(self, record: JobRecord) -> None:
        record.job.owner = record.owner = self.owners(record.id)
        record.name = self.titles(record.id)
        super()._submit(record)


class PageWorld(World):
    """Domains a and b."""

    node_kind = PageNode


class PageSide:
    """The page of one domain, which asks the other side; `away`: that gives no answer, or said that it stops."""

    def __init__(self, world: PageWorld, name: str, sides: dict[str, PageSide], show: str = "all") -> None:
        sides[name] = self
        self.world = world
        self.sides, self.away, self.stalled = sides, False, None
        (self.peer,) = world.others(name)
        node = world.nodes[name]
        self.domain = node.domain
        scheme = "meet" if node.settings.slots else node.settings.scheme.value
        path = node.path.with_suffix(".toml")
        path.write_text(CONFIGURATION.format(name=name, peer=self.peer, show=show, scheme=scheme))
        self.configuration: Configuration = read_configuration(str(path))
        views = Views(self.domain, self.domain.clock)
        self.reads = Reads(Reader.open(node.path, Damage()))
        queue: Any = Queue(None, partial(planned, self.domain))  # nothing is launched
        self.explaining = Explaining(self.domain, queue, self, Estimates(self.domain.store))
        about = partial(self._about, views)
        self.described = Described(
            self.domain, views, self.domain.clock, self.reads, about, Policy(show), lambda _: timedelta(0),
            self.explaining, queue,
        )  # fmt: skip
        self.api = PageApi(self.described, lambda _: None, lambda *_: None)
        told = PeersTold(name, self, 1.0, self.domain.presence.silent)
        page = self.configuration.page
        limits = Limits(page, lambda: 0.0)
        site = Site(self.described, told, Watchers(), self.configuration, limits, lambda: self.stalled)
        self._site, self._told = site, told
        viewers = Viewers(page, certificate_holders({}, None), ["op"])
        self.app = application(site, viewers, limits, lambda: b"", lambda: self.stalled, [])

    def forget(self) -> None:
        """Have the next page made anew: what is kept for seconds is forgotten, but for the plan."""
        for kept in (self._told._told, self._site.listing._listed, self._site.histories._made):
            kept.clear()

    def _about(self, views: Views) -> cluster_pb2.Domain:
        section = self.configuration.coscheduling
        return views.domain("local", "cosched", self.domain.clock.now() - 3600, [self.view(self.peer)], section)

    def view(self, peer: str) -> PeerView:
        """What is known of the other side, as PeerClients say."""
        state = cluster_pb2.PEER_STATE_UNREACHABLE if self.away else cluster_pb2.PEER_STATE_REACHABLE
        since = self.domain.clock.to_wall(self.domain.clock.now()) - 600
        return PeerView(peer, "127.0.0.1:1", state, since, 0.002, "", 0.0004, 0.001)

    async def describe(self, peer: str, request: page_pb2.DescribeJobsRequest) -> page_pb2.DescribeJobsResponse:
        return await self.sides[peer].api._describe(request, self.domain.name)

    async def explain(self, peer: str, request: explain_pb2.ExplainMatesRequest) -> explain_pb2.ExplainMatesResponse:
        if self.away:
            raise CallError(Failure.UNREACHABLE, "it is down")
        pairs = [(one.caller.domain, one.caller.job_id, one.job.job_id) for one in request.pairs]
        return explain_pb2.ExplainMatesResponse(outlooks=await self.sides[peer].explaining.outlooks(pairs))

    async def get(self, path: str, user: str = "ann") -> Answer:
        """The answer to a request of this user's."""
        path, _, query = path.partition("?")
        shown = Answer(0, {}, "")
        scope = {
            "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": path, "root_path": "",
            "raw_path": path.encode(), "query_string": query.encode(), "server": ("localhost", 80),
            "headers": [(b"host", b"localhost"), (b"x-remote-user", user.encode())],
            "state": {"connection": SimpleNamespace(origin="127.0.0.1", uris=list)},
        }  # fmt: skip

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                shown.status = message["status"]
                shown.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            shown.text += message.get("body", b"").decode()

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        await self.app(scope, receive, send)
        return shown


def coupled(world: PageWorld, here: str = "all", there: str = "all") -> PageSide:
    """The page of domain a; `here` and `there`: what it and its mates' domain show."""
    sides: dict[str, PageSide] = {}
    PageSide(world, "b", sides, there)
    return PageSide(world, "a", sides, here)


def _of(words: tuple[str, ...], times: int, id: int) -> str:
    """Return the word of a job; the same one of its mate."""
    return words[id * times % len(words)]


def filled(folder: Path, jobs: int, pairs: int, settings: CoschedulingSettings = HOLD) -> PageWorld:
    """Two domains after half an hour, with so many jobs of a; so many are in pairs, a third of them alone."""
    world = PageWorld(folder, 1, dict.fromkeys("ab", settings), Faults())
    a, b = world.nodes["a"], world.nodes["b"]
    every = max(1, jobs // max(1, pairs))  # of the jobs of a: so many for one of b
    for node, times in ((a, 1), (b, every)):
        node.owners = partial(_of, ("ann", "bob", "eve", "zoe"), times)
        node.titles = partial(_of, ("cfd", "fluid", "render", "viz", "cfd", "mesh", "io"), times)
    for job in range(1, jobs + 1):
        pair = f"run{job // every}" if pairs and job % every == 0 and job // every <= pairs else None
        at, nodes, run = 1000 + job * 1700 // jobs, 1 + job * 7 % 6, 600 + job * 37 % 1800
        a.expected.add(str(job))  # so that the world is not over before
        world.at(at, partial(a.submit, job, nodes, run, pair))
        if pair is not None and job % (3 * every):
            world.at(at + 30, partial(b.submit, job // every, 1 + nodes // 2, run, pair))
    take = partial(take_sample, a.store, a.domain.clock, Views(a.domain, a.domain.clock), 7 * 86400)
    for at in range(1000, 2800, 300):
        world.at(at, take)
    world.run(2800)
    return world
