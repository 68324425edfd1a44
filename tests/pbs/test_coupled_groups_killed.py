"""Groups of two PBS clusters and a Slurm cluster, whose services and servers are killed: nothing starts in part."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from cosched.client import Job
from deploy.lab.coupled import CoupledLab, Domain, Pbs
from tests.live.coupled import known, start
from tests.live.coupled_labs import Coupled
from tests.live.workloads import Outcome, Work, contended
from tests.pbs.laboratory import laboratory
from tests.slurm.relay import AFTER, BEFORE, Relay
from tests.slurm.test_coupled_service_failures import Gate
from tests.tiers import SEED

pytestmark = pytest.mark.soak

KINDS = ("pbs", "pbs", "slurm")
NODES = 10
CALLS = ("GetMember", "GetMateStatus", "ProposeGroupStart", "SettleGroupStart")
SETTINGS = {"poll_interval": 1, "try_patience": 2.5, "max_held_fraction": 1, "max_yields": 0, "peer_patience": 20}
PATIENT = {"on_peer_unreachable": "hold", "peer_grace": 600}
WAITING = PATIENT | {"backoff": 600, "release_interval": 30}  # longer than a restart: who yields is kept back
BUSY = PATIENT | {"backoff": 2, "release_interval": 4}
MIXTURES = [("hold", "hold", "yield"), ("yield", "yield", "yield")]
GROUPS, ALONE = 10, 5
G = Work("g", 2, 0.5)


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


running, coupled = laboratory(KINDS, lab=RelayedLab, schemes=MIXTURES[0], nodes=NODES, **SETTINGS)


def check_groups_started_whole(coupled: Coupled, found: Outcome, groups: int, alone: int = 0) -> None:
    assert found.states == {"completed": len(KINDS) * groups}
    assert len(found.runs) == len(KINDS) * (groups + alone)
    coupled.check_that_jobs_ran_once(found)
    assert found.alone() == {}


def job_of(domain: Domain, job_id: str, is_so: Callable[[Job], bool]) -> bool:
    job = known(domain).get(job_id)
    return job is not None and is_so(job)


def has_waited(job: Job) -> bool:
    """Whether it has yielded, and waits for its next turn, or holds."""
    return job.state == "holding" or (job.state == "queued" and job.holds.yields > 0)


def knows_members(job: Job) -> bool:
    return job.group is not None and all(member.id for member in job.group.members)


Kill = Callable[[Coupled], None]


def services(*numbers: int) -> Kill:
    """Kill the services of these domains, and start them together."""

    def kill(coupled: Coupled) -> None:
        killed = [coupled.lab.domains[number] for number in numbers]
        for domain in killed:
            domain.service.kill()
        start(*killed)

    return kill


def server(number: int) -> Kill:
    """Kill pbs_server of a domain, and start it."""

    def kill(coupled: Coupled) -> None:
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
def test_groups_start_whole_if_something_is_killed_before_and_after_any_call(coupled: Coupled, victims: str) -> None:
    """Only the jobs of the first domain propose: those of the others have yielded, for long."""
    coupled.lab.serve(("hold", "yield", "yield"), **WAITING)
    here, there, third = coupled.lab
    works = [Work(f"{when}-{call}", 1, 0.1) for when in (BEFORE, AFTER) for call in CALLS]
    ids = [[coupled.submit(domain, work) for work in works] for domain in (there, third)]
    callers = [coupled.submit(here, work, "-h") for work in works]
    for domain, jobs in zip((there, third), ids, strict=True):
        coupled.until(lambda d=domain, js=jobs: all(job_of(d, job, has_waited) for job in js), "all to wait")
    coupled.until(lambda: all(job_of(here, job, knows_members) for job in callers), "all to know their groups")
    gate = Gate({str(work.name): caller for work, caller in zip(works, callers, strict=True)})
    coupled.lab.relays[there.name].happening = gate.happening
    assert isinstance(here, Pbs)
    here.cluster.run("qrls", *callers)
    coupled.until(gate.all_arrived, "all calls")
    VICTIMS[victims](coupled)
    gate.open()
    check_groups_started_whole(coupled, coupled.outcome(callers, *ids), len(works))


@pytest.mark.parametrize("victims", VICTIMS)
@pytest.mark.parametrize("state", ["offered", "held"])
def test_a_member_that_waits_outlives_all_kills(coupled: Coupled, state: str, victims: str) -> None:
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
    check_groups_started_whole(coupled, coupled.outcome(*ids), 1)


@pytest.mark.parametrize("schemes", MIXTURES, ids="-".join)
def test_what_is_killed_at_random_parts_no_group(coupled: Coupled, schemes: tuple[str, ...]) -> None:
    coupled.lab.serve(schemes, **BUSY)
    works = contended(SEED, GROUPS, ALONE, domains=len(KINDS))

    def kill_server(submitted: bool, chance: random.Random) -> None:
        """Once all jobs are submitted PBS servers are killed, too."""
        if submitted and chance.random() < 0.3:
            server(chance.randrange(2))(coupled)

    check_groups_started_whole(coupled, coupled.run_while_killed(works, SEED, kill_server), GROUPS, ALONE)
