"""A restless domain paired with a batch domain, played together, and checked after every event."""

from __future__ import annotations

from random import Random

from cosched import sim
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.sim.federation.batch_world import BatchWorld
from cosched.sim.federation.conductor import Conductor
from cosched.sim.federation.cores import trace_jobs
from cosched.sim.link import Link
from cosched.sim.results.outcomes import jobs_of, last_event
from cosched.sim.results.result import DomainResult, ReplayResult
from cosched.sim.world import DomainSetup, World
from cosched.workload.allocations import Allocations
from tests.conformance.schedulers.together import Watched
from tests.core.restless import Restless
from tests.sim.exact import pairing_of, ref_domain, setup_of, some_jobs, some_pairs


class Played:
    """One case: a restless domain A and a batch domain B."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        domains = [
            ref_domain(random, name, some_jobs(random, 12), scheme=random.choice(["hold", "yield"])) for name in "AB"
        ]
        self.setups: list[DomainSetup] = [setup_of(domain) for domain in domains]
        self.pairing = pairing_of(some_pairs(random, domains, most=9), self.setups)
        self.scheduler = Restless(self.setups[0].cluster.nodes, random, acts=random.randint(0, 30))
        self.link = Link()
        restless = self.core_player(0, self.scheduler)
        batch = (
            self.world(restless) if random.randrange(2) else self.core_player(1, OpenCluster(self.setups[1].cluster))
        )
        if isinstance(batch, Watched):
            restless.mates, batch.mates = batch._core.jobs, restless._core.jobs
        conductor = Conductor([restless, batch])
        conductor.run()
        self.now, self.checks = conductor.now, restless.checks
        self.scheduler.enter(self.now)
        self.outcomes = [restless.results("A")[0], batch.results("B")[0]]
        self.had = restless.allocations(self.now)
        self.allocations: Allocations = restless._runs.allocations(self.now)

    def core_player(self, index: int, scheduler: Restless | OpenCluster) -> Watched:
        setup, jobs = self.setups[index], trace_jobs(self.setups, self.pairing, index)
        return Watched(setup.name, setup.coscheduling, scheduler, jobs, self.link)

    def world(self, restless: Watched) -> BatchWorld:
        world = World(self.setups, self.pairing, elsewhere="A", link=self.link)
        restless.mates = world.coschedulers[0].jobs
        return BatchWorld(world)

    def job_name(self, row: int) -> str:
        return str(self.setups[0].workload.job_id[row])

    def rows(self) -> list[list[tuple[int, ...]]]:
        """The allocations of each job: number, nodes, start, end, how it ended."""
        table = self.allocations
        rows: list[list[tuple[int, ...]]] = [[] for _ in self.outcomes[0]]
        names = ("number", "nodes", "start", "end", "ended")
        for row, *one in zip(table.row.tolist(), *(getattr(table, name).tolist() for name in names), strict=True):
            rows[row].append(tuple(one))
        return rows

    def result(self) -> ReplayResult:
        """As of a replay."""
        domains = {}
        for index, (setup, outcomes) in enumerate(zip(self.setups, self.outcomes, strict=True)):
            work, nodes = setup.workload, setup.cluster.nodes
            jobs = jobs_of(outcomes, work, self.pairing, index, self.now)
            settings = sim.Domain(name=setup.name, trace=work, nodes=nodes)
            last, had = last_event(jobs, work, self.now), None if index else self.had
            domains[setup.name] = DomainResult(settings, nodes, work, jobs, 0, last, allocations=had)
        return ReplayResult(domains, self.pairing, False, None, {})
