"""Random workloads: what must always hold where pairs meet."""

import math
import random
from dataclasses import replace

import pytest

from . import RefDomain, World, simulate
from .iteration import iterate
from .order import ordered
from .planned import PlannedIteration
from .test_reference_invariants import check_world, random_case, random_domain

SCHEMES = [
    {"scheme": "hold"},
    {"scheme": "yield"},
    {"scheme": "off"},
    {"scheme": "meet"},
    {"scheme": "meet"},
    {"scheme": "hold", "mate_budget": "0.29"},
    {"scheme": "yield", "mate_budget": "2"},
    {"scheme": "hold", "slots": True},
]


def random_meet_case(seed, names="AB"):
    """Half of the workloads meet everywhere, the others in any mixture."""
    rng = random.Random(seed)
    jobs = rng.randint(4, 14)
    everywhere = rng.random() < 0.5
    domains = [
        replace(random_domain(rng, name, jobs), **({"scheme": "meet"} if everywhere else rng.choice(SCHEMES)))
        for name in names
    ]
    free = [(name, job_id) for name in names for job_id in range(1, jobs + 1)]
    rng.shuffle(free)
    pairs = []
    for _ in range(rng.randint(1, jobs)):
        one = free.pop()
        other = next((name for name in free if name[0] != one[0]), None)
        if other is not None:
            free.remove(other)
            pairs.append((one, other))
    return domains, pairs


class CheckedWorld(World):
    """Also keeps what was seen before, and looks for nodes that are idle for nobody at the end of each instant."""

    def __init__(self, domains, pairs):
        super().__init__(domains, pairs, CheckedWorld.check)
        self.slots = {}
        self.moves = 0

    def check(self):
        check_world(self)
        for entry in self.entries.values():
            assert entry.mate is None or entry.mate.start == entry.start, "no half pair"
            self.check_slot(entry)

    def check_slot(self, entry):
        before, slot = self.slots.get(entry), entry.slot
        self.slots[entry] = slot
        if slot is None:  # "no booking for ever": it ends with a start
            assert before is None or entry.start <= before.at
            return
        assert entry.status == "queuing"
        assert self.now <= slot.at
        assert (entry.mate.slot.at, entry.mate.slot_generation) == (slot.at, slot.generation)
        assert entry.ready is not None
        assert entry.mate.ready is not None
        if before not in (None, slot):
            self.moves += 1
            assert slot.at < before.at, "a slot never moves later by itself"

    def _iterations(self):
        before = [self.state_of(domain) for domain in self.domains if not domain.changed]
        super()._iterations()
        for domain in self.domains:
            domain.profile(self.now)  # asserts that slots take no nodes of others
            # After a release a refused TryStartMate may still put its job first, and that is no change.
            if self.state_of(domain) not in before and not domain.released:
                assert not self.idle_for_nobody(domain)

    @staticmethod
    def state_of(domain):
        return domain, [(entry.status, entry.slot) for entry in domain.entries]

    def idle_for_nobody(self, domain):
        """Find who would start in another iteration."""
        found = []

        def attempt(entry, *_where):
            found.append(entry)

        order = [entry for entry in ordered(domain, self.now) if entry not in domain.yielded]
        if domain.config.meets():
            PlannedIteration(domain.profile(self.now), order, self.now, attempt).run(domain.config, dry_run=True)
        else:
            iterate(domain, order, self.now, attempt)
        return found


def run_checked(domains, pairs):
    world = CheckedWorld(domains, pairs)
    while (time := world.next_time()) < math.inf:
        assert time < 10**6
        world.step(time)
    return world


@pytest.mark.parametrize("names", ["AB", "ABC"])
@pytest.mark.parametrize("seed", range(200))
def test_mates_start_together_and_every_job_starts(seed, names):
    domains, pairs = random_meet_case(seed, names)
    outcomes = run_checked(domains, pairs).outcomes()
    off = {domain.name for domain in domains if domain.scheme == "off"}
    assert all(outcome.state == "completed" for outcome in outcomes.values())
    for one, other in pairs:
        assert outcomes[one].start == outcomes[other].start or off & {one[0], other[0]}


@pytest.mark.parametrize("seed", range(200))
def test_without_slots_and_wanted_jobs_the_profile_starts_the_same_jobs(seed, monkeypatch):
    """ "Without slots and wanted jobs an EASY iteration starts exactly the jobs of scheduling.md" """
    domains, pairs = random_case(seed)
    usual = simulate(domains, pairs)
    monkeypatch.setattr(RefDomain, "meets", lambda _: True)
    assert simulate(domains, pairs) == usual


@pytest.mark.parametrize("seed", range(50))
def test_without_pairs_each_schedule_is_the_usual_one(seed):
    domains, _ = random_case(seed)
    assert simulate([replace(domain, scheme="meet") for domain in domains], []) == simulate(domains, [])
