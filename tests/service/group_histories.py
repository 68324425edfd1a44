"""What histories of groups share: three domains and their jobs, what they play, and what is checked afterwards.

groups.md, What must hold: no member starts by a proposal that another one has not booked, unless a fault was in force
and the record says so; nothing is held for ever.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from contextlib import ExitStack, contextmanager

from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from tests.service.test_histories import check_every_job_ran_once, chosen, first_acquaintance
from tests.service.test_meeting_histories import die_at
from tests.service.world import Faults, World

GROUPS, ALONE = 6, 5
UNTIL = 60_000  # seconds; more than any history needs
TOGETHER = ("all members of its group are booked", "asked by ", "at its slot")
PATIENT = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_grace": 10**6}
FAULTS = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30)
POWER_FAILURES = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.03, outage=30, power=0.7, sync=3)


@contextmanager
def worlds_of_groups(folder, kind: type[World] = World):
    """Makes worlds of this kind, and closes them."""
    with ExitStack() as made:

        def make(*arguments, **settings) -> World:
            new = new_world(folder, *arguments, kind=kind, **settings)
            made.callback(new.close)
            return new

        yield make


def new_world(folder, seed: int, schemes, faults: Faults, *, kind: type[World], **settings) -> World:
    """Three machines of 10 nodes, groups and other jobs, submitted over five minutes; all drawn from the seed."""
    made = kind(folder, seed, chosen("abc", schemes, **settings), faults)
    draw = random.Random(seed)
    for node in made.nodes.values():
        jobs = [f"g{n}" for n in range(GROUPS)] + [None] * ALONE
        draw.shuffle(jobs)
        for number, group in enumerate(jobs, 1):
            at = 1000 + draw.randint(0, 300)
            submission = number, draw.randint(1, 8), draw.randint(1, 90), None, group
            made.at(at, lambda node=node, submission=submission: node.submit(*submission))
            node.expected.add(str(number))
    return made


def groups_of(made: World) -> dict[str, dict[str, str]]:
    """By name: the job of each domain."""
    groups: dict[str, dict[str, str]] = {}
    for name, node in made.nodes.items():
        for job in node.expected:
            record = node.store.job(int(job))
            if record is not None and record.group_name is not None:
                groups.setdefault(record.group_name, {})[name] = job
    return groups


def check_nothing_is_left(made: World) -> None:
    """Every job ran once, no node is held, no job is booked, and nobody has to be told of a decision."""
    check_every_job_ran_once(made)
    for node in made.nodes.values():
        assert node.domain.core.ledger.held_nodes == 0
        assert node.domain.scheduler.free == 10
        assert all(job.group is None or job.group.booking is None for job in node.domain.core.jobs.values())


def apart(made: World) -> list[str]:
    """The members of groups that did not start with their group."""
    return [
        f"{name}{job}: {made.nodes[name].why.get(job)}"
        for group in groups_of(made).values()
        for name, job in group.items()
        if not str(made.nodes[name].why.get(job, "asked by ")).startswith(TOGETHER)
    ]


def started_by(made: World) -> dict[str, set[str]]:
    """The proposals by which the members of each group have started."""
    return {
        name: {
            made.nodes[domain].store.job(int(job)).memory["group"].get("started_by", "")
            for domain, job in group.items()
        }
        for name, group in groups_of(made).items()
    }


# What is played; `check` is what holds when all is over


def play_without_faults(made: World, check: Callable[[World], None]) -> None:
    """All members of a group start at the same instant."""
    made.run(until=UNTIL)
    check(made)
    assert apart(made) == []
    for group in groups_of(made).values():
        assert len({made.nodes[name].started_at[job] for name, job in group.items()}) == 1


def play_with_a_slow_link(made: World, check: Callable[[World], None]) -> None:
    """The members of a group start as far apart as a call takes, at most."""
    made.run(until=UNTIL)
    check(made)
    for group in groups_of(made).values():
        started = [made.nodes[name].started_at[job] for name, job in group.items()]
        assert max(started) - min(started) <= made.faults.delay


def play_with_patience(made: World, check: Callable[[World], None]) -> None:
    """All members start by one proposal, whatever is lost, and whoever dies."""
    play_from_acquaintance(made, FAULTS, check)
    assert all(len(proposals) == 1 and proposals != {""} for proposals in started_by(made).values())


def play_from_acquaintance(made: World, faults: Faults, check: Callable[[World], None]) -> None:
    """No fault parts a group."""
    first_acquaintance(made)
    made.faults = faults
    made.run(until=UNTIL)
    check(made)
    assert apart(made) == []


def play_a_death_at_each_step(
    folder, kind: type[World], dies: str, every: int, submit: Callable[[World], None], check: Callable[[World], None]
) -> None:
    """A domain dies once, at its n-th step; n rises by `every` up to the last one. All start by one proposal."""
    settings = {"scheme": Scheme.YIELD, "slots": True, "on_peer_unreachable": OnUnreachable.YIELD}
    for step in itertools.count(1, every):
        (own := folder / str(step)).mkdir()
        made = kind(own, step, dict.fromkeys("abc", CoschedulingSettings(**settings)), Faults(outage=7))
        done = die_at(made.nodes[dies], step)
        submit(made)
        made.run(until=3000)
        check(made)
        assert apart(made) == [], step
        assert len(set.union(*started_by(made).values())) == 1, step
        started = [node.started_at["1"] for node in made.nodes.values()]
        assert max(started) - min(started) <= made.faults.outage, step
        made.close()
        if done() < step:
            assert made.slots  # nobody died
            return
