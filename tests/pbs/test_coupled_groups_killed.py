"""Groups of two PBS clusters and a Slurm cluster, whose services and servers are killed: nothing starts in part."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from cosched.client import Job
from deploy.pbs.lab import CoupledLab, Domain
from deploy.pbs.lab.coupled import Pbs
from tests.live.coupled import known
from tests.live.test_groups import check_no_group_is_apart, contended_groups
from tests.live.workloads import Work
from tests.pbs.coupled import Coupled
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.relay import AFTER, BEFORE, Relay
from tests.slurm.test_coupled_service_failures import Gate
from tests.tiers import SEED

pytestmark = pytest.mark.soak

KINDS = ("pbs", "pbs", "slurm")
NODES = 10
CALLS = ("GetMember", "GetMateStatus", "ProposeGroupStart", "SettleGroupStart")
SETTINGS = {"poll_interval": 1, "try_patience": 2.5, "max_held_fraction": 1, "max_yields": 0, "peer_patience": 20}
PATIENT = {"on_peer_unreachable": "hold", "peer_grace": 600}
WAITING = PATIENT | {"backoff": 600, "release_interval": 2}
BUSY = PATIENT | {"backoff": 2, "release_interval": 4}
MIXTURES = [("hold", "hold", "yield"), ("yield", "yield", "yield")]
GROUPS, ALONE, KILLS = 10, 5, 12
MOST_ALIVE, MOST_AWAY = 4.0, 3.0  # seconds between two kills, and that a service is away
G = Work(None, 2, 0.5, group="g")


class RelayedLab(CoupledLab):
    """Its services reach each other by relays, `relays[name]` the domain `name`."""

    def __enter__(self) -> RelayedLab:
        self.relays = {name: Relay(name).__enter__() for name in ("mira", "eureka", "polaris")}
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(None, None, None)
        for relay in self.relays.values():
            relay.__exit__()

    def address(self, domain: Domain) -> str:
        """See the laboratory."""
        self.relays[domain.name].target = super().address(domain)
        return str(self.relays[domain.name].address)


class Relayed(Coupled):
    """Such a laboratory that is up."""

    lab: RelayedLab


@pytest.fixture(scope="module")
def running() -> Iterator[Relayed]:
    check_for_compiler()
    with (
        tempfile.TemporaryDirectory(prefix="pbs-") as folder,
        RelayedLab(Path(folder), KINDS, MIXTURES[0], nodes=NODES, **SETTINGS) as lab,
    ):
        yield Relayed(lab)


@pytest.fixture
def coupled(running: Relayed) -> Iterator[Relayed]:
    yield running
    for relay in running.lab.relays.values():
        relay.happening = lambda *_: None
    running.check_nothing_is_left()


def check_groups_started_whole(coupled: Relayed, ids: Sequence[list[str]], groups: int) -> None:
    found = coupled.outcome(*ids)
    assert found.states == {"completed": len(KINDS) * groups}
    assert len(found.runs) == sum(map(len, ids))
    coupled.check_that_jobs_ran_once(found)
    check_no_group_is_apart(found)


def job_of(domain: Domain, job_id: str, is_so: Callable[[Job], bool]) -> bool:
    job = known(domain).get(job_id)
    return job is not None and is_so(job)


def has_waited(job: Job) -> bool:
    """Whether it has yielded, and waits for its next turn, or holds."""
    return job.state == "holding" or (job.state == "queued" and job.holds.yields > 0)


def knows_members(job: Job) -> bool:
    return job.group is not None and all(member.id for member in job.group.members)


Kill = Callable[[Relayed], None]


def services(*numbers: int) -> Kill:
    """Kill the services of these domains, and start them together."""

    def kill(coupled: Relayed) -> None:
        killed = [coupled.lab.domains[number] for number in numbers]
        for domain in killed:
            domain.service.kill()
        start(killed)

    return kill


def start(killed: list[Domain]) -> None:
    with ExitStack() as stack:
        for domain in killed:
            stack.enter_context(domain.service.starting())


def server(number: int) -> Kill:
    """Kill pbs_server of a domain, and start it."""

    def kill(coupled: Relayed) -> None:
        domain = coupled.lab.domains[number]
        assert isinstance(domain, Pbs)
        domain.cluster.kill_server()
        domain.cluster.start_server()

    return kill


VICTIMS = {
    "caller": services(0),
    "called": services(1),
    "third": services(2),
    "all": services(0, 1, 2),
    "the caller's server": server(0),
    "the called one's server": server(1),
}


@pytest.mark.parametrize("victims", VICTIMS)
def test_groups_start_whole_if_something_is_killed_before_and_after_any_call(coupled: Relayed, victims: str) -> None:
    """Only the jobs of the first domain propose: those of the others have yielded, for long."""
    coupled.lab.serve(("hold", "yield", "yield"), **WAITING)
    here, there, third = coupled.lab
    works = [Work(None, 1, 0.1, group=f"{when}-{call}") for when in (BEFORE, AFTER) for call in CALLS]
    ids = [[coupled.submit(domain, work) for work in works] for domain in (there, third)]
    callers = [coupled.submit(here, work, "-h") for work in works]
    for domain, jobs in zip((there, third), ids, strict=True):
        coupled.until(lambda d=domain, js=jobs: all(job_of(d, job, has_waited) for job in js), "all to wait")
    coupled.until(lambda: all(job_of(here, job, knows_members) for job in callers), "all to know their groups")
    gate = Gate({str(work.group): caller for work, caller in zip(works, callers, strict=True)})
    coupled.lab.relays[there.name].happening = gate.happening
    assert isinstance(here, Pbs)
    here.cluster.run("qrls", *callers)
    coupled.until(gate.all_arrived, "all calls")
    VICTIMS[victims](coupled)
    gate.open()
    check_groups_started_whole(coupled, [callers, *ids], len(works))


@pytest.mark.parametrize("victims", VICTIMS)
@pytest.mark.parametrize("state", ["offered", "held"])
def test_a_member_that_waits_outlives_all_kills(coupled: Relayed, state: str, victims: str) -> None:
    """Its nodes are kept by the hook's word alone, or offline with the job on record there."""
    coupled.lab.serve(("hold", "hold", "hold"), **BUSY | {"release_interval": 0})
    here, there, third = coupled.lab
    assert isinstance(here, Pbs)
    ids = [[coupled.submit(domain, G)] for domain in (here, there)]
    coupled.until(lambda: job_of(here, ids[0][0], lambda job: job.state != "queued"), "the job to be offered")
    if state == "held":
        coupled.until(lambda: len(here.cluster.holders()) == G.nodes, "its nodes to be held")
    VICTIMS[victims](coupled)
    ids.append([coupled.submit(third, G)])
    check_groups_started_whole(coupled, ids, 1)


@pytest.mark.parametrize("schemes", MIXTURES, ids="-".join)
def test_what_is_killed_at_random_parts_no_group(coupled: Relayed, schemes: tuple[str, ...]) -> None:
    coupled.lab.serve(schemes, **BUSY)
    works = contended_groups(SEED, GROUPS, ALONE)
    ids: list[list[str]] = [[] for _ in KINDS]
    over, submitted = Event(), Event()
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill_at_random, coupled, over, submitted, random.Random(SEED))
        try:
            for domain, jobs, mine in zip(coupled.lab, ids, works, strict=True):
                jobs += [coupled.submit(domain, work) for work in mine]
            submitted.set()
            killing.result()
        finally:
            over.set()
    check_groups_started_whole(coupled, ids, GROUPS)


def kill_at_random(coupled: Relayed, over: Event, submitted: Event, chance: random.Random) -> None:
    """Kill services, and once all jobs are submitted PBS servers, too."""
    for _ in range(KILLS):
        over.wait(chance.uniform(0, MOST_ALIVE))
        chosen = chance.choice([*([domain] for domain in coupled.lab), coupled.lab.domains])
        for domain in chosen:
            domain.service.kill()
        time.sleep(chance.uniform(0, MOST_AWAY))
        start(chosen)
        if submitted.is_set() and chance.random() < 0.3:
            server(chance.randrange(2))(coupled)
