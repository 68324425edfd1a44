"""What histories of live domains share: their jobs, what is played, and what is checked afterwards.

coscheduling.md: no member starts by a proposal that another one has not booked, unless a fault was in force
and the record says so; nothing is held for ever.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from cosched.core.story import What
from tests.service.outside import Killed
from tests.service.world import Faults, Node, World

HOLD, YIELD = Scheme.HOLD, Scheme.YIELD
MEET = "meet"
SCHEMES = [(HOLD, YIELD), (YIELD, YIELD), (HOLD, HOLD), (YIELD, HOLD)]
PAIRS, BESIDE_PAIRS = 8, 6  # jobs of a domain that are in pairs, and others
GROUPS, BESIDE_GROUPS = 6, 5
UNTIL = 60_000  # seconds; more than any history needs
TOGETHER = (
    "asked by ", "its holding mate started", "its mate could start", "at its slot",
    "all members of its group are booked",
)  # fmt: skip
PATIENT = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_grace": 10**6}
FAULTS = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30)
POWER_FAILURES = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.03, outage=30, power=0.7, sync=3)
ANYTHING = Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03)


def of_cases(turn: int | None, *of_kinds: Mapping[str, Sequence[tuple[object, ...]]], only: Sequence[str] = ()) -> Any:
    """Parametrise a test with the schemes of these kinds, or `only` some.

    In the short tier each kind has one of its schemes, every kind another one, of one of the mappings, by `turn`: a
    test of pairs and of groups takes pairs of every other kind and groups of the rest, and one of the other turn the
    reverse. None: no kind.
    """
    cases = []
    for number, kind in enumerate(only or of_kinds[0]):
        for place, of in enumerate(of_kinds):
            now = number % len(of[kind]) if turn is not None and (number + turn) % 2 == place % 2 else None
            cases += [
                pytest.param(kind, schemes, id=f"{kind}-{'-'.join(schemes)}", marks=[pytest.mark.soak] * (row != now))
                for row, schemes in enumerate(of[kind])
            ]
    return pytest.mark.parametrize(("kind", "schemes"), cases)


def new_world(
    folder: Path, seed: int, schemes: Sequence[object], faults: Faults, kind: type[World], **settings
) -> World:
    """Two machines of 10 nodes with pairs, or three with groups, and other jobs, submitted over five minutes.

    All is drawn from the seed. `schemes`: of each domain, or MEET.
    """
    in_groups = len(schemes) > 2
    made = kind(folder, seed, chosen("abc", schemes, **settings), faults)
    draw = random.Random(seed)
    together, alone = (GROUPS, BESIDE_GROUPS) if in_groups else (PAIRS, BESIDE_PAIRS)
    for node in made.nodes.values():
        jobs = [f"{'g' if in_groups else 'p'}{n}" for n in range(together)] + [None] * alone
        draw.shuffle(jobs)
        for number, name in enumerate(jobs, 1):
            at = 1000 + draw.randint(0, 300)
            submission = number, draw.randint(1, 8), draw.randint(1, 90)
            named = (None, name) if in_groups else (name, None)
            made.at(at, partial(node.submit, *submission, *named))
            node.expected.add(str(number))
    return made


def chosen(domains: str, schemes: Sequence[object], **settings) -> dict[str, CoschedulingSettings]:
    """What each domain has configured; its scheme may be MEET."""
    common = {"release_interval": 60, "max_held_fraction": Decimal("0.8"), "retry_interval": 1, **settings}
    meets = {"scheme": Scheme.YIELD, "slots": True}
    return {
        name: CoschedulingSettings(**(meets if scheme == MEET else {"scheme": scheme}), **common)
        for name, scheme in zip(domains, schemes, strict=False)
    }


def linked(made: World) -> dict[str, dict[str, str]]:
    """By the name of a pair or a group: the job of each domain."""
    found: dict[str, dict[str, str]] = {}
    for name, node in made.nodes.items():
        for job in node.expected:
            record = node.store.job(int(job))
            if record is not None and (link := record.group_name) is not None:
                found.setdefault(link, {})[name] = job
    return found


def spread(made: World) -> int:
    """The seconds between the first starts of mates, at most."""
    instants = ([first_start(made.nodes[name], job) for name, job in jobs.items()] for jobs in linked(made).values())
    return max(max(started) - min(started) for started in instants)


def first_start(node: Node, job: str) -> int:
    """A run that was preempted at once was perhaps never launched."""
    if job not in node.preempted:
        return node.started_at[job]
    return min(event.at for event in node.store.events(0, [int(job)], [], 10**6) if event.what == "started")


def parted(node: Node, job: str) -> bool:
    """Whether a job was preempted, or lost what it had for its mates to another one: then it starts after these."""
    return job in node.preempted or any(
        event.what == What.LOST_NODES for event in node.store.events(0, [int(job)], [], 10**6)
    )


def apart(made: World) -> list[str]:
    """The jobs that did not start with their mates, but for those that were preempted and started again."""
    return [
        f"{name}{job}: {node.why.get(job)}"
        for jobs in linked(made).values()
        for name, job in jobs.items()
        if not parted(node := made.nodes[name], job)
        and not str(node.why.get(job, "its mate could start")).startswith(TOGETHER)
    ]


def started_by(made: World) -> list[set[str]]:
    """The proposals by which those that are linked have started, but for those that were preempted; empty: by none."""
    return [
        {
            made.nodes[name].store.job(int(job)).job.group.started_by
            for name, job in group.items()
            if not parted(made.nodes[name], job)
        }
        for group in linked(made).values()
    ]


def run(made: World, until: int = UNTIL) -> None:
    """Until all is over; nothing is left then."""
    made.run(until=until)
    assert made.is_over(), f"not over at {made.now}"
    for node in made.nodes.values():
        node.check_over()


def first_acquaintance(made: World) -> None:
    """All have been there once before the first fault."""
    for name, node in made.nodes.items():
        for other in made.others(name):
            node.domain.presence.answers(other, True)


def run_from_acquaintance(made: World, faults: Faults) -> None:
    """No fault parts mates."""
    first_acquaintance(made)
    made.faults = faults
    run(made)
    assert apart(made) == []


def die_at(node: Node, step: int) -> Callable[[], int]:
    """Have a domain die at this step, a thing that it does outside or writes; returns how many there were so far."""
    steps = itertools.count(1)
    done = [0]

    def may_die() -> None:
        done[0] = next(steps)
        if done[0] == step:
            raise Killed

    node.may_die = may_die
    return lambda: done[0]


# Jobs that agree on a slot: node, when it is submitted, job, nodes, how long it runs, what names its mates

# Job 1 of a is ready first, and alone; that of b can start with it when a's job 2 is to end, at 1106.
PAIR = (
    ("a", 1000, 1, 6, 50, "p"),
    ("a", 1001, 2, 8, 100, None),
    ("a", 1002, 3, 9, 30, None),
    ("b", 1010, 1, 6, 50, "p"),
    ("b", 1011, 2, 8, 150, None),
)
# Job 1 of each is the group. That of c is ready last, and all can start when a's job 2 is to end, at 1106.
GROUP = (
    ("a", 1000, 1, 6, 50, "g"),
    ("a", 1001, 2, 8, 100, None),
    ("a", 1002, 3, 9, 30, None),
    ("b", 1005, 1, 6, 50, "g"),
    ("b", 1006, 2, 8, 90, None),
    ("c", 1010, 1, 6, 50, "g"),
    ("c", 1011, 2, 8, 60, None),
)


def agreeing(folder: Path, kind: type[World], seed: int, runs: int, domains: str, faults: Faults) -> World:
    """A world in which job 2 of a, which asks for 105 s, runs for `runs`."""
    settings = {"scheme": Scheme.YIELD, "slots": True, "on_peer_unreachable": OnUnreachable.YIELD}
    made = kind(folder, seed, dict.fromkeys(domains, CoschedulingSettings(**settings)), faults)
    for name, at, job, nodes, run_time, link in PAIR if len(domains) == 2 else GROUP:
        named = (link, None) if len(domains) == 2 else (None, link)
        made.at(at, partial(made.nodes[name].submit, job, nodes, run_time, *named))
        made.nodes[name].expected.add(str(job))
    made.at(1001, partial(made.nodes["a"].run_for, 2, runs))
    return made
