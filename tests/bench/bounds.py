"""What the bounds on owners cost those who mean well (meet.md, Abuse): months of the study of meet, with owners.

python -m tests.bench.bounds [SEEDS [DAYS]]

A month's pairs are drawn to owners, of whom the first have most, as Zipf's law says. A row for a load of Eureka and a
value of one bound, the other one off: how long pairs wait, which part of meet's gain over yield is lost, and how long
jobs without mates wait on Intrepid and on Eureka.
"""

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate
from typing import ClassVar

import numpy as np

from cosched.core.events import Submitted
from cosched.core.job import JobState
from cosched.core.scheduling.batch.meeting_cluster import MeetingCluster, Turn
from cosched.core.scheduling.starts import RecentStarts
from cosched_papers.studies.meet.measuring import PAIR_WAIT, WAIT, measures
from cosched_papers.studies.meet.schemes import MEET, under
from cosched_papers.studies.tang2011.setup import LOADS, MACHINES, GeneratedMonths, Plan
from cosched_sim import world
from cosched_sim.batch_domain import MeetingDomain
from cosched_sim.configuration import replay_config
from cosched_sim.engine import Engine
from cosched_sim.replaying import Replay

OWNERS = 20  # the first one has more than a quarter of the pairs
WEIGHTS = list(accumulate(1 / rank for rank in range(1, OWNERS + 1)))
NO_BOUND = Decimal(1)
BOUNDS = {
    "mate_budget_share": tuple(map(Decimal, ("1", "0.95", "0.9", "0.85", "0.8"))),
    "slot_share": tuple(map(Decimal, ("0.05", "0.01", "0.003", "0.001"))),
}


def owner_of(pair: str) -> str:
    """Return whose pair this is."""
    return f"u{random.Random(pair).choices(range(OWNERS), cum_weights=WEIGHTS)[0]}"


class SharingCluster(MeetingCluster):
    """One that bounds starts before the turn, as that of a service. It counts jobs with mates, as one beside Slurm."""

    share = NO_BOUND
    owners: ClassVar[dict[int, str]] = defaultdict(str)  # by row; of the small runs that compile kernels: nobody

    def __init__(self, *of) -> None:
        super().__init__(*of)
        self.starts, self.pushed = RecentStarts(self.share), {}

    def _bound(self, now: int) -> None:
        under_way = Counter(self.owners[row] for row in self.pushed)
        wanted = [row for row in self.owners if self.tables.slots[row]["wanted"] and self.state(row) is JobState.QUEUED]
        front = self.front(now) if wanted and self.share < 1 else None
        in_front = None if front is None else self.owners.get(front)
        for row in wanted if self.share < 1 else ():
            owner = self.owners[row]
            may = owner != in_front and self.starts.may_start_before_turn(owner, now, under_way[owner])
            self.keep_in_turn(row, not may)

    def _note(self, row: int, now: int, *, tried: bool) -> None:
        if (pushed := self.pushes(row, now, tried=tried)) is not None:
            self.pushed[row] = pushed

    def _count(self, row: int, now: int) -> None:
        self.starts.count(self.owners[row], now, self.pushed.pop(row, None))

    def meet(self, now: int) -> Turn | None:
        self._bound(now)
        turn = super().meet(now)
        if turn is not None and turn.ready:
            self._note(turn.row, now, tried=False)
        return turn

    def try_start(self, row: int, now: int, wanted_until: int) -> bool:
        self._bound(now)
        started = super().try_start(row, now, wanted_until)
        if started:
            self._note(row, now, tried=True)
            self._count(row, now)
        return started

    def start(self, row: int, now: int) -> None:
        super().start(row, now)
        self._count(row, now)

    def pass_over(self, row: int, now: int, boost: float) -> None:
        super().pass_over(row, now, boost)
        self.pushed.pop(row, None)


def with_owners(slot_share: Decimal) -> None:
    """Have all worlds tell the core of owners, and bound slots."""

    def begin(self, *of, **more) -> None:
        made(self, *of, **more)
        for core, scheduler in zip(self.coschedulers, self.schedulers, strict=True):
            core.ledger.configure(replace(core.settings, slot_share=slot_share))
            scheduler.cluster.owners = {row: owner_of(self._named[row].pair) for row in scheduler.row.values()}

    made = world.World.__init__
    Engine.__init__ = begin
    world.Submitted = lambda job, named: Submitted(job, named, owner_of(named.pair))
    world._scheduler = lambda *of: MeetingDomain(SharingCluster(*of))


def waits(settings: dict, schemes: str) -> np.ndarray:
    """Mean waits in minutes: of pairs, and of jobs without mates on both machines; and what slots have kept there."""
    config = replay_config("case", {**under(settings, schemes), "events": True})
    kept = [0, 0]
    ended = Engine.run

    def run(self, *of, **more) -> None:
        ended(self, *of, **more)
        for side, (core, setup) in enumerate(zip(self.coschedulers, self.domains, strict=True)):
            kept[side] = sum(job.slot_node_seconds for job in core.jobs.values()) / setup.cluster.nodes / self.now

    Engine.run = run
    try:
        result = Replay(config).run()
    finally:
        Engine.run = ended
    row = measures(result, result)
    return np.array([row[PAIR_WAIT], *(row[f"{name} {WAIT}"] for name in MACHINES), *(100 * part for part in kept)])


def means(bound: str, value: Decimal, load: float, seeds: int, days: float) -> np.ndarray:
    """Of all seeds, if all domains meet."""
    SharingCluster.share = value if bound == "mate_budget_share" else NO_BOUND
    with_owners(value if bound == "slot_share" else NO_BOUND)
    plan = Plan(seeds, 1, False, days, GeneratedMonths())
    return np.mean([waits(plan.by_load("none", load, seed), MEET) for seed in range(1, seeds + 1)], axis=0)


def rows(seeds: int, days: float) -> Iterator[str]:
    """Yield the table, row by row."""
    plan = Plan(seeds, 1, False, days, GeneratedMonths())
    for load in LOADS:
        yields = np.mean([waits(plan.by_load("none", load, seed), "YY") for seed in range(1, seeds + 1)], axis=0)
        yield f"{load} yield: {np.round(yields, 2)}"
        free = None
        for bound, values in BOUNDS.items():
            for value in values:
                found = means(bound, value, load, seeds, days)
                free = found if free is None else free
                lost = 100 * (found[0] - free[0]) / (yields[0] - free[0])
                yield f"{load} {bound} {value}: lost {lost:.1f} %, {np.round(found, 2)}"


if __name__ == "__main__":
    for line in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 5, float(sys.argv[2]) if len(sys.argv) > 2 else 30):
        print(line, flush=True)
