"""Random workloads: what must always hold where pairs meet."""

import math
import random
from dataclasses import replace

import pytest

from tests.tiers import seeds

from . import RefDomain, World, simulate
from .iteration import iterate
from .order import ordered
from .planned import PlannedIteration
from .test_reference_invariants import check_world, random_case, random_domain

SCHEMES = [
    {"scheme": "hold"}, {"scheme": "yield"}, {"scheme": "off"}, {"scheme": "meet"}, {"scheme": "meet"},
    {"scheme": "hold", "mate_budget": "0.29"}, {"scheme": "yield", "mate_budget": "2"},
    {"scheme": "hold", "slots": True},
]  # fmt: skip


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

    def __init__(self, domains, pairs, **groups):
        super().__init__(domains, pairs, CheckedWorld.check, **groups)
        self.slots = {}
        self.moves = 0

    def check(self):
        check_world(self)
        for entry in self.entries.values():
            members = together(entry)
            assert not half_started(members)
            assert len({member.slot_generation for member in members}) == 1
            self.check_slot(entry, members)

    def check_slot(self, entry, members):
        before, slot = self.slots.get(entry), entry.slot
        self.slots[entry] = slot
        if slot is None:  # "no booking for ever": it ends with a start
            assert before is None or entry.start <= before.at
            return
        assert entry.status == "queuing"
        assert self.now <= slot.at
        assert all(member.ready is not None and member.domain.config.slots for member in members)
        if before not in (None, slot):
            self.moves += 1
            assert slot.at < before.at or (has_windows(members) and slot.at == before.at), "a slot never moves later"

    def _iterations(self):
        before = [self.state_of(domain) for domain in self.domains if not domain.changed]
        super()._iterations()
        for domain in self.domains:
            domain.profile(self.now)  # asserts that slots take no nodes of others
            # After a release a refused TryStartMate may still put its job first, and that is no change.
            if self.state_of(domain) not in before and not domain.released:
                # Nor is it one that a proposal which was dropped has made a member wanted.
                assert all(entry.group is not None and entry.wanted for entry in self.idle_for_nobody(domain))

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


def together(entry):
    """List the jobs that start together with this one, and itself."""
    if entry.group is not None:
        return entry.group.members
    return [entry] if entry.mate is None else [entry, entry.mate]


def has_windows(members):
    return members[0].group is not None and members[0].group.by_slots_only()


def half_started(members):
    """Answer whether some have started, or have slots, and others will not start with them."""
    if not has_windows(members):
        return len({(member.start, member.slot and member.slot.at) for member in members}) > 1
    instants = [member.slot.at if member.slot else member.start for member in members]
    if None in instants:
        return any(instant is not None for instant in instants)
    # "T + lo_i <= s_i <= T + hi_i" for one T
    windows = [member.group.windows[member] for member in members]
    earliest = max(at - high for at, (_, high) in zip(instants, windows, strict=True))
    return earliest > min(at - low for at, (low, _) in zip(instants, windows, strict=True))


def run_checked(domains, pairs, **groups):
    world = CheckedWorld(domains, pairs, **groups)
    while (time := world.next_time()) < math.inf:
        assert time < 10**6
        world.step(time)
    return world


@pytest.mark.parametrize("names", ["AB", "ABC"])
@pytest.mark.parametrize("seed", seeds(60, 200))
def test_mates_start_together_and_every_job_starts(seed, names):
    domains, pairs = random_meet_case(seed, names)
    outcomes = run_checked(domains, pairs).outcomes()
    off = {domain.name for domain in domains if domain.scheme == "off"}
    assert all(outcome.state == "completed" for outcome in outcomes.values())
    for one, other in pairs:
        assert outcomes[one].start == outcomes[other].start or off & {one[0], other[0]}


@pytest.mark.parametrize("seed", seeds(60, 200))
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
