"""What must always hold where running jobs change their size for jobs that have mates, checked after every event."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from cosched.core.allocation import SizeChanged
from cosched.core.effects import Record, Start
from cosched.core.job import JobState
from cosched.core.story import What, Why
from tests.papers.fluid.fluid_exact import fluid_domain, fluid_jobs, setup
from tests.sim.exact import pairing_of, some_pairs
from tests.sim.schedulers.together import Watched, watched
from tests.tiers import seeds

LOAD = {"loose": 6, "tight": 14}


KEPT = (Why.ENDED, Why.MATE_CHANGED)  # a slot that its job does not need any more


class WatchedFluid(Watched):
    """Checks sizes and slots, too; `seen` counts what happened."""

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self._tells_all = True  # the rules hear of jobs without mates, too, whose sizes count here
        self.seen: Counter[str] = Counter()
        self.sizes: dict[str, int] = {}
        self.slots: dict[str, int] = {}

    def _check(self, change) -> None:
        super()._check(change)
        if type(change) is Start:
            self.seen["pairs"] += self._core.jobs[change.job].mate is not None
            self.sizes[change.job] = change.allocation.nodes
            self._check_size(change.job)
        elif type(change) is SizeChanged:
            self._check_resize(change)
        elif type(change) is Record:
            self._check_slot(change)

    def _check_resize(self, resized: SizeChanged) -> None:
        """Only running jobs give, and they give to one that starts at once."""
        had, has = self.sizes[resized.job], resized.allocation.nodes
        assert (has < had) == (resized.gave_to is not None)
        self.seen["harvested" if has < had else "grown"] += 1
        self.sizes[resized.job] = has
        self._check_size(resized.job)

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
        trace = self._jobs[self._row[job]]
        assert trace.columns.least <= self.sizes[job] <= trace.nodes

    def _check_nodes(self) -> None:
        """What is held is the least of those that hold."""
        super()._check_nodes()
        holding = [id for id, job in self._core.jobs.items() if job.state is JobState.HOLDING]
        assert self._core.ledger.held_nodes == sum(self._jobs[self._row[id]].columns.least for id in holding)
        self.seen["holds"] += bool(holding)


def play(seed: int, load: int, schemes: Sequence[str] = ("hold", "yield")) -> Counter[str]:
    """Two fluid domains; every job starts, and mates together."""
    random = Random(f"{seed} {load}")
    domains = [fluid_domain(random, name, fluid_jobs(random, load), scheme=random.choice(schemes)) for name in "AB"]
    setups = [setup(domain) for domain in domains]
    players = watched(setups, pairing_of(some_pairs(random, domains, most=load), setups), WatchedFluid)
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
