"""Three real Slurm clusters that meet, and groups of three jobs: slots that are booked, moved and kept."""

import time
from datetime import UTC, datetime

import pytest

from deploy.slurm.lab import Domain
from tests.live.coupled import known
from tests.live.workloads import Work, contended
from tests.slurm.coupled import Coupled
from tests.slurm.coupled_checks import reservations_of, story, whys
from tests.slurm.laboratory import laboratory
from tests.slurm.test_coupled_slots import LIMIT, PATIENCE, SETTINGS, fill
from tests.tiers import SEED

pytestmark = pytest.mark.soak
NAMES = ("intrepid", "eureka", "mira")
NODES = 4
MEET = ("meet",) * 3
MIXTURES = [MEET, ("meet", "meet", "hold"), ("yield", "meet", "meet")]
GROUPS, ALONE = 10, 5
ROUNDING = 1  # second: instants are whole ones
running, coupled = laboratory(names=NAMES, schemes=MEET, options={"nodes": NODES}, patience=PATIENCE, **SETTINGS)


class Slot:
    """The members of a group that have a slot: each was ready when others' nodes were not free; who is in their way."""

    def __init__(self, coupled: Coupled, group: str) -> None:
        self.coupled = coupled
        first, second, third = coupled.lab
        before = fill(first, NODES)
        work = Work(group, 2, 1.0)
        ids = {domain.name: coupled.submit(domain, work, LIMIT) for domain in (second, third)}
        for domain in (second, third):
            coupled.until_job(domain, ids[domain.name], lambda job: job.holds.yields > 0, "has yielded")
        self.busy = fill(second, NODES - 1)
        ids[first.name] = coupled.submit(first, Work(group, NODES, 1.0), LIMIT)
        first.cluster.scancel(before)
        self.jobs = {domain.name: ids[domain.name] for domain in coupled.lab}
        for domain in coupled.lab:
            coupled.until_job(domain, ids[domain.name], lambda job: job.slot is not None, "has a slot")
            coupled.until(lambda domain=domain: len(reservations_of(domain)) == 1, "its reservation, and no other one")

    def free(self) -> None:
        """End the job that is in the way."""
        self.coupled.lab["eureka"].cluster.scancel(self.busy)

    def check_started(self, *left_out: str) -> list[str]:
        """All members run, once each and together; why they have started."""
        ids = [[self.jobs[domain.name]] * (domain.name not in left_out) for domain in self.coupled.lab]
        found = self.coupled.outcome(*ids)
        assert set(found.states) == {"completed"}
        assert sorted(found.runs.values()) == [1] * sum(map(len, ids))
        if not left_out:
            assert found.alone() == {}
        return [why for domain in self.coupled.lab for why in whys(domain, self.jobs[domain.name])]


def test_a_slot_moves_and_all_start_as_soon_as_nodes_are_free_everywhere(coupled: Coupled) -> None:
    slot = Slot(coupled, "early")
    slot.free()
    slot.check_started()


def test_all_start_at_their_slot_though_a_job_before_it_ends_late(coupled: Coupled) -> None:
    """Slurm ends jobs that come to their limits some seconds after these."""
    assert "at its slot" in Slot(coupled, "due").check_started()


def submit_all(coupled: Coupled, group: str, words: str) -> dict[str, str]:
    """A job on each cluster, whose comment says when the group starts, too; their ids."""
    ids = {}
    for domain in coupled.lab:
        others = "+".join(other.name for other in coupled.lab if other is not domain)
        comment = f"--comment=cosched:group={group}@{others} {words}"
        ids[domain.name] = coupled.submit(domain, Work(group, 2, 1.0), LIMIT, comment)
    return ids


def starts(coupled: Coupled, ids: dict[str, str]) -> dict[str, float]:
    """When each job has started, once all have ended."""
    for domain in coupled.lab:
        coupled.until_job(domain, ids[domain.name], lambda job: job.state == "completed", "has ended")
    jobs = {domain.name: known(domain)[ids[domain.name]] for domain in coupled.lab}
    return {name: job.started_at.timestamp() for name, job in jobs.items()}


def test_jobs_start_apart_as_their_comments_say(coupled: Coupled) -> None:
    ids = submit_all(coupled, "apart", "cosched:window=mira:20..20")
    found = starts(coupled, ids)
    stories = {domain.name: story(domain, ids[domain.name]) for domain in coupled.lab}
    slots = {name: max(int(e.detail["slot"]) for e in told if "slot" in e.detail) for name, told in stories.items()}
    assert abs(slots["intrepid"] - slots["eureka"]) <= ROUNDING
    assert found["mira"] - slots["intrepid"] >= 20 - ROUNDING


def test_jobs_start_at_the_instant_that_their_comments_give(coupled: Coupled) -> None:
    at = int(time.time()) + 40
    instant = datetime.fromtimestamp(at, UTC).isoformat()
    found = starts(coupled, submit_all(coupled, "given", f"cosched:at={instant}"))
    assert min(found.values()) >= at - ROUNDING


@pytest.mark.parametrize("kill", [False, True])
def test_services_that_are_started_again_keep_the_slot_or_agree_anew(coupled: Coupled, kill: bool) -> None:
    """Anew if they end while they look for an earlier one."""
    slot = Slot(coupled, f"restart-{kill}")
    for domain in coupled.lab:
        (domain.service.kill if kill else domain.service.stop)()
        domain.service.start()
    for domain in coupled.lab:
        coupled.until(lambda domain=domain: len(reservations_of(domain)) == 1, "one reservation")
    slot.free()
    slot.check_started()


def test_a_member_that_is_cancelled_takes_the_slot_with_it_and_the_others_start(coupled: Coupled) -> None:
    slot = Slot(coupled, "cancelled")
    third = coupled.lab["mira"]
    third.cluster.scancel(int(slot.jobs[third.name]))
    coupled.until(lambda: not reservations_of(third), "no reservation of that member")
    slot.free()
    slot.check_started(third.name)


def test_a_service_that_meets_no_longer_takes_the_slots_away(coupled: Coupled) -> None:
    slot = Slot(coupled, "rolled-back")
    try:
        serve(coupled, ("yield",) * 3)
        coupled.until(lambda: not any(map(reservations_of, coupled.lab)), "no reservation")
        slot.free()
        slot.check_started()
    finally:
        serve(coupled, MEET)


@pytest.mark.parametrize("schemes", MIXTURES, ids="-".join)
def test_many_groups_among_other_jobs_start_together(coupled: Coupled, schemes: tuple[str, ...]) -> None:
    serve(coupled, schemes, backoff=2)
    try:
        found = coupled.run(contended(SEED, GROUPS, ALONE, domains=3))
        assert found.states == {"completed": len(NAMES) * GROUPS}
        assert set(found.runs.values()) == {1}
        assert found.alone() == {}
    finally:
        serve(coupled, MEET)


def serve(coupled: Coupled, schemes: tuple[str, ...], **settings: object) -> None:
    """Have all domains served with these schemes."""
    coupled.lab.configure(schemes, **SETTINGS | settings)
    for domain in coupled.lab:
        restart(domain)


def restart(domain: Domain) -> None:
    domain.service.stop()
    domain.service.start()
