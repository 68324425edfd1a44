"""What must always hold where running jobs change their size for jobs that have mates, checked after every event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from cosched.core.allocation import Resized
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.effects import Record, Start
from cosched.core.job import JobState
from cosched.core.story import What, Why
from cosched.sim.configuration import Domain
from cosched.sim.federation.conductor import Conductor
from cosched.sim.federation.core_player import CorePlayer
from cosched.sim.federation.cores import scheduler_of, trace_jobs
from cosched.sim.link import Link
from tests.reference import RefDomain
from tests.sim.exact import Groups, Pairs, Windows, pairing_of, ref_domain, some_jobs, some_pairs
from tests.sim.fluid_exact import federated, fluid_domain, fluid_jobs, made_fluid, setup
from tests.sim.group_cases import random_case
from tests.tiers import seeds

STARTED = (JobState.RUNNING, JobState.COMPLETED)
LOAD = {"loose": 6, "tight": 14}


KEPT = (Why.ENDED, Why.MATE_CHANGED)  # a slot that its job does not need any more


class Watched(CorePlayer):
    """Checks after every event; `seen` counts what happened."""

    mates: dict[str, PairedJob]  # the jobs of the other domain

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.seen: Counter[str] = Counter()
        self.sizes: dict[str, int] = {}
        self.slots: dict[str, int] = {}

    def _do_all(self, changes) -> None:
        for change in changes:
            if type(change) is Start:
                self._check_start(change)
            elif type(change) is Resized:
                self._check_resize(change)
            elif type(change) is Record:
                self._check_slot(change)
            super()._do_all([change])
        self._check_machine()

    def _check_start(self, start: Start) -> None:
        """A job starts when its mate has started, or waits for the answer that it may start, too."""
        job = self._core.jobs[start.job]
        if job.mate is not None and self._core.settings.enabled:
            mate = self.mates[job.mate]
            assert mate.state in (*STARTED, JobState.READY), job
            self.seen["pairs"] += 1
        self.sizes[start.job] = start.allocation.nodes
        self._check_size(start.job)

    def _check_resize(self, resized: Resized) -> None:
        """Only running jobs give, and they give to one that starts at once."""
        had, has = self.sizes[resized.allocation.job], resized.allocation.nodes
        assert (has < had) == (resized.gave_to is not None)
        self.seen["harvested" if has < had else "grown"] += 1
        self.sizes[resized.allocation.job] = has
        self._check_size(resized.allocation.job)

    def _check_slot(self, record: Record) -> None:
        """A slot that both domains have booked is kept: its job starts then, or before."""
        job = self._core.jobs[record.job]
        if record.what is What.HAS_SLOT:
            self.seen["slots"] += 1
            self.slots[record.job] = job.slot
        elif record.what is What.LOST_SLOT:
            assert record.why in KEPT, record
            del self.slots[record.job]
        elif record.what is What.STARTED and record.job in self.slots:
            assert self._now <= self.slots[record.job]
            self.seen["at slot"] += self._now == self.slots.pop(record.job)

    def _check_size(self, job: str) -> None:
        trace = self._job(job)
        assert trace.malleable.least <= self.sizes[job] <= trace.nodes

    def _check_machine(self) -> None:
        """No processor has two jobs; what is held is the least of those that hold, and below the cap."""
        used = self.scheduler.used()
        assert self.scheduler.free == self.scheduler.nodes - sum(used.values()) >= 0
        ledger = self._core.ledger
        holding = [id for id, job in self._core.jobs.items() if job.state is JobState.HOLDING]
        assert used[JobState.HOLDING] == ledger.held_nodes <= ledger.cap
        assert ledger.held_nodes == sum(self._job(id).malleable.least for id in holding)
        self.seen["holds"] += bool(holding)


def play(seed: int, load: int, schemes: Sequence[str] = ("hold", "yield")) -> Counter[str]:
    """Two fluid domains; every job starts, and mates together."""
    random = Random(f"{seed} {load}")
    domains = [fluid_domain(random, name, fluid_jobs(random, load), scheme=random.choice(schemes)) for name in "AB"]
    setups, link = [setup(domain) for domain in domains], Link()
    pairing = pairing_of(some_pairs(random, domains, most=load), setups)
    players = [
        Watched(each.name, each.coscheduling, scheduler_of(each), trace_jobs(setups, pairing, index), link)
        for index, each in enumerate(setups)
    ]
    for one, other in (players, players[::-1]):
        one.mates = other._core.jobs
    Conductor(players).run()
    outcomes = [player.results(each.name)[0] for player, each in zip(players, setups, strict=True)]
    assert all(job.state == JobState.COMPLETED for jobs in outcomes for job in jobs)
    for sides, rows in zip(pairing.domain.tolist(), pairing.job.tolist(), strict=True):
        one, other = (outcomes[side][row].start for side, row in zip(sides, rows, strict=True))
        assert one == other
    return players[0].seen + players[1].seen


@pytest.mark.parametrize("seed", seeds(8, 200))
def test_booked_jobs_start_at_their_slots(seed):
    for number in range(10):
        play(10 * seed + number, 14, schemes=["meet"])


@pytest.mark.parametrize("load", LOAD.values(), ids=LOAD)
@pytest.mark.parametrize("seed", seeds(5, 200))
def test_what_must_always_hold_does(seed, load):
    for number in range(10):
        play(10 * seed + number, load)


def test_the_cases_have_it_all():
    seen = sum((play(seed, 14) for seed in range(30)), Counter())
    assert min(seen[what] for what in ("pairs", "harvested", "grown", "holds")) > 20, seen
    seen = sum((play(seed, 14, ["meet"]) for seed in range(30)), Counter())
    assert min(seen[what] for what in ("pairs", "harvested", "slots", "at slot")) > 5, seen


def together(
    domains: list[RefDomain], pairs: Pairs, groups: Groups | None = None, windows: Windows | None = None
) -> None:
    """Play; all jobs start, and mates together."""
    run = federated(domains, pairs, groups, windows)
    run.run()
    result = run.result([Domain(name=d.name, trace=".", nodes=d.nodes) for d in domains], {})
    assert not result.stalled
    assert all((domain.jobs.state == JobState.COMPLETED).all() for domain in result.domains.values())
    assert result.pairs["desynchronised"] == result.pairs["never"] == 0
    assert result.groups["desynchronised"] == result.groups["never"] == 0


@pytest.mark.parametrize("seed", seeds(15, 500))
def test_fluid_and_batch_domains_meet(seed):
    random = Random(f"meet {seed}")
    domains = [
        fluid_domain(random, "A", fluid_jobs(random, 12), scheme="meet"),
        ref_domain(random, "B", some_jobs(random, 12), scheme="meet"),
    ]
    random.shuffle(domains)
    together(domains, some_pairs(random, domains, most=9))


@pytest.mark.parametrize("windows", [(), ((0, 0), (0, 10), (-30, 30), (5, 20))], ids=["at once", "windows"])
@pytest.mark.parametrize("seed", seeds(8, 500))
def test_groups_meet_on_fluid_and_batch_domains(seed, windows):
    random = Random(f"groups meet {seed}")
    case = random_case(seed, ["meet"], windows)
    domains = [made_fluid(random, domain) if random.random() < 0.7 else domain for domain in case.domains]
    for domain in domains:
        domain.slots = True
    together(domains, case.pairs, case.groups, case.windows)
