"""Small workloads whose schedules were worked out by hand from meet.md.

As on that page a job is "(submit, run, requested, nodes)" behind its domain and number. Pairs are a4-b1, groups
a4-b1-c2, windows a4-b1@0..10, given instants "a4-b1 at 100", starts are "a4 40", or "a4 never". Machines have 10
nodes, FCFS and EASY, and pairs meet, unless a case says otherwise. A job that comes first at 0 and before its mate is
ready once, and yields; the job behind it may then keep it waiting.
"""

import re
from dataclasses import dataclass, field

from . import RefDomain, RefJob, simulate

Config = dict[str, object]
Name = tuple[str, int]
Window = tuple[int, int]


def starts(text: str) -> dict[str, int | None]:
    return {job: None if start == "never" else int(start) for job, start in re.findall(r"(\w+) (\d+|never)", text)}


def is_group(link: dict[Name, Window]) -> bool:
    return len(link) > 2 or any(window != (0, 0) for window in link.values())


@dataclass
class Case:
    jobs: str
    pairs: str
    starts: str
    config: Config = field(default_factory=dict)
    of: dict[str, Config] = field(default_factory=dict)  # what one domain has of its own

    def expected(self) -> dict[str, int | None]:
        return starts(self.starts)

    def simulate(self, **options) -> dict[str, int | None]:
        outcomes = simulate(
            self.domains(),
            self.mates(),
            groups=self.groups(),
            windows=self.windows(),
            instants=self.instants(),
            **options,
        )
        return {f"{domain}{number}": outcome.start for (domain, number), outcome in outcomes.items()}

    def linked(self) -> list[dict[Name, Window]]:
        """The jobs of each pair or group, with their windows."""
        links = (re.findall(r"([a-z])(\d+)(?:@(-?\d+)\.\.(-?\d+))?", link) for link in self.pairs.split(", "))
        return [{(d, int(number)): (int(low or 0), int(high or 0)) for d, number, low, high in link} for link in links]

    def mates(self) -> list[tuple[Name, Name]]:
        instants = self.instants()
        links = enumerate(self.linked(), 1)
        return [tuple(link) for name, link in links if not is_group(link) and str(name) not in instants]

    def groups(self) -> dict[str, list[Name]]:
        instants, links = self.instants(), enumerate(self.linked(), 1)
        return {str(name): list(link) for name, link in links if is_group(link) or str(name) in instants}

    def instants(self) -> dict[str, int]:
        found = ((str(name), re.search(r" at (\d+)", link)) for name, link in enumerate(self.pairs.split(", "), 1))
        return {name: int(at[1]) for name, at in found if at}

    def windows(self) -> dict[Name, Window]:
        return {job: window for link in self.linked() for job, window in link.items()}

    def domains(self) -> list[RefDomain]:
        jobs: dict[str, list[RefJob]] = {}
        for name, *numbers in re.findall(r"([a-z])(\d+) \((\d+), (\d+), (\d+), (\d+)\)", self.jobs):
            jobs.setdefault(name, []).append(RefJob(*map(int, numbers)))
        return [self._domain(name, its_jobs) for name, its_jobs in jobs.items()]

    def _domain(self, name: str, jobs: list[RefJob]) -> RefDomain:
        config = {"scheme": "meet", "nodes": 10, "release_jitter": "0", "max_held_fraction": "1", **self.config}
        return RefDomain(name=name, jobs=jobs, **{**config, **self.of.get(name, {})})


YIELD: Config = {"scheme": "yield"}
SLOTS_ALONE: Config = {"scheme": "yield", "slots": True}
HOLD: Config = {"scheme": "hold"}

# The page's jobs: of cases 1 and 2, and of case 3.
WANTED = (
    "a0 (0, 40, 40, 4), a1 (0, 100, 100, 6), a2 (10, 100, 100, 6), a3 (20, 100, 100, 4), a4 (30, 50, 50, 4), "
    "b1 (5, 50, 50, 4)"
)
GUARDED = "a0 (0, 40, 40, 4), a1 (0, 100, 100, 6), a2 ({}, 100, 100, 10), a4 (30, {}, {}, 4), b1 (5, 50, 50, 4)"
SLOTTED = (
    "a1 (10, 100, 100, 6), a2 (20, 150, 400, 8), a5 (200, {}, {}, 8), "
    "b1 (0, 100, 300, 6), b2 (10, 100, 100, 6), b3 (110, 200, {}, 6)"
)
FIGURE_2 = "a1 (0, 100, 100, 6), a2 (5, 100, 100, 6), b2 (0, 100, 100, 6), b1 (5, 100, 100, 6)"

# At 40 a6 may not start: guard(a2) is 145. a3 goes first as soon as it comes, and moves a2 to 149.
OVERTAKEN = "a0 (0, 40, 40, 5), a1 (0, 100, 100, 5), a2 (10, 100, 100, 10), a3 (50, 99, 99, 4), a6 (30, 110, 110, 5), "
URGENT: Config = {"policy": lambda wait, requested, _nodes: wait + 1000 * (requested == 99)}

UNITS: Config = {"nodes": 40, "layout": (4, 10)}

CASES = {
    # The page's hand-worked cases
    "wanted first": Case(WANTED, "a4-b1", "a0 0, a1 0, a4 40, b1 40, a3 90, a2 100"),
    "yield instead": Case(WANTED, "a4-b1", "a0 0, a1 0, a3 40, a2 100, a4 140, b1 140", YIELD),
    "guard": Case(GUARDED.format(10, 105, 105), "a4-b1", "a0 0, a1 0, a4 40, b1 40, a2 145"),
    "guard exceeded": Case(GUARDED.format(10, 106, 106), "a4-b1", "a0 0, a1 0, a2 100, a4 200, b1 200"),
    "one sum": Case(
        GUARDED.format(10, 105, 105) + ", a5 (31, 60, 60, 6), b2 (6, 50, 50, 4)",
        "a4-b1, a5-b2",
        "a0 0, a1 0, a4 40, b1 40, a2 145, a5 245, b2 245",
    ),
    "early": Case(SLOTTED.format(50, 220, 310), "a1-b2", "a2 20, b1 0, b3 110, a5 200, a1 310, b2 310"),
    "slot kept": Case(
        SLOTTED.format(220, 220, 310) + ", b6 (300, 500, 500, 8)",
        "a1-b2",
        "a2 20, b1 0, b3 110, a5 200, a1 420, b2 420, b6 520",
    ),
    "yield instead of the slot": Case(
        SLOTTED.format(220, 220, 310) + ", b6 (300, 500, 500, 8)",
        "a1-b2",
        "a2 20, b1 0, b3 110, a5 200, b6 310, a1 810, b2 810",
        YIELD,
    ),
    "too long to come before the slot": Case(
        SLOTTED.format(220, 221, 311), "a1-b2", "a2 20, b1 0, a1 170, b2 170, b3 270, a5 270"
    ),
    "figure 2": Case(FIGURE_2, "a1-b1, a2-b2", "a1 5, b1 5, a2 105, b2 105"),
    "figure 2, b holds": Case(FIGURE_2, "a1-b1, a2-b2", "a1 105, b1 105, a2 5, b2 5", of={"b": HOLD}),
    #
    # Rule 2
    #
    # guard(a2) is 100 + 44.
    "guard rounded down": Case(GUARDED.format(11, 105, 105), "a4-b1", "a0 0, a1 0, a2 100, a4 200, b1 200"),
    # At 50 b1 is asked for the first time. Until 140 it moves b2 from 100 to 140, and guard(b2) is 145.
    "wanted when first asked": Case(
        "a1 (50, 20, 20, 4), b0 (0, 100, 100, 6), b2 (10, 50, 50, 10), b1 (20, 90, 90, 4)",
        "a1-b1",
        "b0 0, a1 50, b1 50, b2 140",
    ),
    # At 40 a4 does not fit, so it does not keep a3 from starting, which comes before it.
    "wanted jobs reserve nothing": Case(
        "a0 (0, 40, 40, 4), a1 (0, 100, 100, 6), a3 (20, 200, 200, 4), a4 (30, 50, 50, 10), b1 (0, 50, 50, 4)",
        "a4-b1",
        "a0 0, a1 0, a3 40, a4 240, b1 240",
    ),
    # a1 was ready at 0. At 2 it is the first job and does not fit. It waits for b1 anyway, so a3 may move it to 202.
    "no guard of a job that has been ready": Case(
        "a1 (0, 100, 100, 8), a2 (1, 100, 100, 6), a3 (2, 200, 200, 4), b3 (0, 10, 10, 1), b1 (3, 10, 10, 1)",
        "a1-b1, a3-b3",
        "a2 1, a3 2, b3 2, a1 202, b1 202",
    ),
    # At 30 a1 is the first job and has its turn. It yields, and a4 starts without a limit, though a2 is moved to 530.
    "no guard behind a first job that yields": Case(
        "a0 (0, 100, 100, 6), a1 (5, 10, 10, 1), a2 (10, 100, 100, 10), a4 (30, 500, 500, 3), "
        "b4 (0, 500, 500, 1), b1 (400, 10, 10, 1)",
        "a1-b1, a4-b4",
        "a0 0, a4 30, b4 30, a1 400, b1 400, a2 530",
    ),
    # At 40 guard(a2) is fixed at 200 + 95, since a5 is wanted. At 60 a1 has ended long before its time: a2's earliest
    # is 100, and a4 may not move it beyond 145.
    "guard beyond what is due": Case(
        "a0 (0, 40, 40, 4), a1 (0, 60, 200, 3), a9 (0, 100, 100, 3), a2 (10, 100, 100, 10), a5 (30, 300, 300, 4), "
        "a4 (60, 100, 100, 4), b5 (0, 10, 10, 1), b4 (0, 10, 10, 1)",
        "a4-b4, a5-b5",
        "a0 0, a1 0, a9 0, a2 100, a4 200, b4 200, a5 200, b5 200",
    ),
    # At 52 a2 is past its guard, but a4 does not delay it further, and starts instead of a5.
    "guard passed by others": Case(
        OVERTAKEN + "a5 (52, 90, 90, 1), a4 (52, 95, 95, 1), b4 (0, 95, 95, 1), b6 (0, 110, 110, 1)",
        "a4-b4, a6-b6",
        "a0 0, a1 0, a3 50, a4 52, b4 52, a2 149, a5 249, a6 249, b6 249",
        of={"a": URGENT},
    ),
    # At 40 nobody is wanted, and at 45 it is a dry run that looks at a2. So guard(a2) is fixed at 52: 149 + 69. a4 runs
    # until 172, and a6 from 100 to 210.
    "guard not fixed in a dry run": Case(
        OVERTAKEN + "a4 (52, 120, 120, 1), b4 (0, 120, 120, 1), b6 (45, 110, 110, 1)",
        "a4-b4, a6-b6",
        "a0 0, a1 0, a3 50, a4 52, b4 52, a6 100, b6 100, a2 210",
        of={"a": URGENT},
    ),
    # At 30 a4 has its RunJob out of turn, and is refused. If it held, a2 would start at 200.
    "no hold out of turn": Case(
        "a0 (0, 100, 100, 6), a2 (10, 100, 100, 10), a4 (30, 50, 50, 4), b4 (0, 50, 50, 6), b0 (0, 150, 150, 6)",
        "a4-b4",
        "a0 0, b0 0, a2 100, a4 200, b4 200",
        {"scheme": "yield", "mate_budget": "0.5"},
        of={"a": HOLD},
    ),
    # Four units of 10 nodes. At 40 the units 1 and 3 are free, and a2 is to have 0 and 1 at 100. a4 gets unit 3.
    "out of turn beside the first job's block": Case(
        "a0 (0, 100, 100, 10), a6 (0, 40, 40, 10), a5 (0, 300, 300, 10), a7 (0, 40, 40, 10), a2 (10, 100, 100, 20), "
        "a3 (20, 200, 200, 10), a4 (30, 200, 200, 10), b4 (0, 10, 10, 1)",
        "a4-b4",
        "a0 0, a6 0, a5 0, a7 0, a4 40, b4 40, a2 100, a3 200",
        of={"a": UNITS},
    ),
    #
    # Rules 3 and 4
    #
    "slots instead of holds": Case(
        FIGURE_2, "a1-b1, a2-b2", "a1 5, b1 5, a2 105, b2 105", {**HOLD, "mate_budget": "0.5", "slots": True}
    ),
    # At 30 a4 is refused out of turn. Its slot may not delay a2, which is to run from 100 to 200. Having a slot, it is
    # not wanted out of turn any more: else the pair would start at 60.
    "slot behind the first job": Case(
        "a0 (0, 100, 100, 6), a2 (10, 100, 100, 10), a4 (30, 80, 80, 4), b4 (0, 50, 50, 6), b0 (0, 60, 60, 6)",
        "a4-b4",
        "a0 0, b0 0, a2 100, a4 200, b4 200",
    ),
    # b1 was ready at 20, a1 is at 60, when b5 is reserved from 100 to 300.
    "slot behind a reservation": Case(
        "a1 (60, 50, 50, 4), b0 (0, 100, 100, 6), b5 (10, 200, 200, 10), b1 (20, 50, 50, 4)",
        "a1-b1",
        "b0 0, b5 100, a1 300, b1 300",
        SLOTS_ALONE,
    ),
    "slot behind the reservation of a job with a mate": Case(
        "a5 (10, 200, 200, 1), a1 (60, 50, 50, 4), b0 (0, 100, 100, 6), b5 (10, 200, 200, 10), b1 (20, 50, 50, 4)",
        "a1-b1, a5-b5",
        "b0 0, a5 100, b5 100, a1 300, b1 300",
        SLOTS_ALONE,
    ),
    # b6 has a place from 200 to 300, behind b5.
    "slot behind a plan": Case(
        "a1 (90, 20, 20, 4), b0 (0, 100, 100, 6), b5 (1, 100, 100, 10), b6 (2, 100, 100, 10), b1 (3, 20, 20, 4)",
        "a1-b1",
        "b0 0, b5 100, b6 200, a1 300, b1 300",
        {**SLOTS_ALONE, "backfill": "conservative"},
    ),
    # b1, reserved at 300, keeps b2 from starting. At 50 it gets a slot at 400 instead, when a8 is to end.
    "a slot lets others start": Case(
        "a7 (0, 100, 100, 5), a8 (10, 300, 300, 10), a1 (50, 40, 40, 5), "
        "b1 (0, 100, 100, 8), b0 (0, 300, 300, 6), b2 (20, 350, 350, 4)",
        "a1-b1",
        "a7 0, b0 0, b2 50, a8 100, a1 400, b1 400",
    ),
    # Without backfilling the first that does not fit stops all others, but b2 has a slot.
    "a slot stops nobody": Case(
        SLOTTED.format(220, 220, 310) + ", b7 (299, 10, 10, 1)",
        "a1-b2",
        "a2 20, b1 0, b3 110, a5 200, b7 299, a1 420, b2 420",
        {"backfill": "none"},
    ),
    # Both of b are ready at 0. At 50 the queue stops at b3, so TryStartMate(b1) is refused. But b1 delays nobody.
    "agreed on now": Case(
        "a1 (50, 30, 30, 1), a3 (60, 50, 50, 1), b3 (0, 50, 50, 10), b1 (0, 30, 30, 4), b0 (0, 100, 100, 6)",
        "a1-b1, a3-b3",
        "b0 0, a1 50, b1 50, a3 100, b3 100",
        {**SLOTS_ALONE, "backfill": "none"},
    ),
    # b1's slot is from 100 to 150. So b2's is not at 120, when c2 could, but at 150.
    "three domains": Case(
        "a1 (0, 50, 50, 10), a0 (0, 100, 100, 10), b1 (5, 50, 50, 6), b2 (6, 50, 50, 6), "
        "c2 (0, 50, 50, 10), c0 (0, 120, 120, 10)",
        "a1-b1, b2-c2",
        "a0 0, c0 0, a1 100, b1 100, b2 150, c2 150",
    ),
    # Four units of 10 nodes. a1's slot is at 150, on units 2 and 3. So a8 has to wait for unit 0 until 100, though 10
    # nodes are free all the time. a9 ends just in time.
    "a slot has a block": Case(
        "a0 (0, 100, 100, 10), a7 (0, 200, 200, 10), a1 (5, 50, 50, 20), a8 (10, 300, 300, 10), a9 (11, 139, 139, 10), "
        "b1 (0, 50, 50, 10), b0 (0, 150, 150, 10)",
        "a1-b1",
        "a0 0, a7 0, b0 0, a9 11, a8 100, a1 150, b1 150",
        of={"a": UNITS},
    ),
}
