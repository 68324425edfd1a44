"""Groups on three real Slurm clusters whose services are killed: in each phase of a start, and at random."""

from collections.abc import Sequence

import pytest

from deploy.slurm.lab import Domain
from tests.live.coupled import known, start, story
from tests.live.test_groups import MIXTURES
from tests.live.workloads import Outcome, Work, contended
from tests.slurm.coupled_checks import Served
from tests.slurm.laboratory import laboratory
from tests.slurm.relay import AFTER, BEFORE, RelayedLab
from tests.slurm.test_coupled_service_failures import Gate, waits
from tests.tiers import SEED

NAMES = ("intrepid", "eureka", "mira")
NODES = 10
CALLS = ("GetMember", "GetMateStatus", "ProposeGroupStart", "SettleGroupStart")
PATIENCE = 300  # seconds, of hooks: more than a service needs to start on a busy machine
SETTINGS = {"poll_interval": 1, "try_patience": 2.5, "max_held_fraction": 1, "max_yields": 0, "peer_patience": 20}
PATIENT = {"on_peer_unreachable": "hold", "peer_grace": 600}
WAITING = PATIENT | {"backoff": 600, "release_interval": 30}  # longer than a restart: who yields is kept back
BUSY = PATIENT | {"backoff": 2, "release_interval": 4}
GROUPS, ALONE = 12, 5
running, coupled = laboratory(
    Served, RelayedLab, names=NAMES, schemes=MIXTURES[0], services=False, options={"nodes": NODES}, patience=PATIENCE,
    **SETTINGS,
)  # fmt: skip


def check_groups_started_whole(found: Outcome, groups: int) -> None:
    assert found.states == {"completed": len(NAMES) * groups}
    assert set(found.runs.values()) == {1}
    assert found.alone() == {}


@pytest.mark.soak
@pytest.mark.parametrize("victims", ["caller", "called", "third", "all"])
def test_groups_start_whole_whose_services_are_killed_before_and_after_any_call(coupled: Served, victims: str) -> None:
    """Only the jobs of the first domain propose: those of the others have yielded, for long."""
    coupled.lab.restart(("hold", "yield", "yield"), **WAITING)
    here, there, third = coupled.lab
    works = [Work(f"{when}-{call}", 1, 0.1) for when in (BEFORE, AFTER) for call in CALLS]
    ids = [[coupled.submit(domain, work) for work in works] for domain in (there, third)]
    callers = [coupled.submit(here, work, "--hold") for work in works]
    for domain, jobs in zip((there, third), ids, strict=True):
        coupled.until(lambda domain=domain, jobs=jobs: all(waits(domain, job) for job in jobs), "all to wait")
    coupled.until(lambda: all(knows_members(here, job) for job in callers), "all to know their groups")
    gate = Gate({str(work.name): caller for work, caller in zip(works, callers, strict=True)})
    coupled.lab.relays[there.name].happening = gate.happening
    here.cluster.scontrol("release", ",".join(callers))
    coupled.until(gate.all_arrived, "all calls")
    killed = {"caller": [here], "called": [there], "third": [third], "all": [*coupled.lab]}[victims]
    for domain in killed:
        domain.service.kill()
    gate.open()
    start(*killed)
    check_groups_started_whole(coupled.outcome(callers, *ids), len(works))


def knows_members(domain: Domain, job_id: str) -> bool:
    job = known(domain).get(job_id)
    return job is not None and job.group is not None and all(member.id for member in job.group.members)


@pytest.mark.soak
@pytest.mark.parametrize("schemes", MIXTURES, ids="-".join)
def test_services_that_are_killed_at_random_start_groups_whole(coupled: Served, schemes: Sequence[str]) -> None:
    coupled.lab.restart(schemes, **BUSY)
    works = contended(SEED, GROUPS, ALONE, domains=len(NAMES))
    check_groups_started_whole(coupled.run_while_killed(works, SEED), GROUPS)


@pytest.mark.soak
def test_members_that_do_not_wait_for_a_peer_that_is_gone_for_good_start_and_say_why(coupled: Served) -> None:
    """No half group without a record, and nothing is held for ever."""
    coupled.lab.restart(("hold", "hold", "hold"), on_peer_unreachable="start", peer_grace=0, release_interval=0)
    here, there, third = coupled.lab
    work = Work("left", 1, 0.1)
    ids = [[coupled.submit(domain, work)] for domain in (here, there)]
    for domain, (job,) in zip((here, there), ids, strict=True):
        coupled.until_state(domain, job, "holding")
    third.service.kill()
    last = coupled.submit(third, work)
    late = Work("late", 1, 0.1)
    ids[0].append(coupled.submit(here, late))
    ids[1].append(coupled.submit(there, late))
    for domain, job in ((here, ids[0][1]), (there, ids[1][1])):
        coupled.until_state(domain, job, "completed")
        (started,) = story(domain, job, kinds=["started"])
        assert started.detail["why"].startswith("asked by ") or third.name in started.detail["without"]
    third.service.start()
    found = coupled.outcome(ids[0], ids[1], [last])
    assert set(found.runs.values()) == {1}
    assert found.states == {"completed": 5}
    assert sorted(len(times) for times in found.times.values()) == [2, 3]
