"""Workloads for a pair of services: pairs of jobs among jobs without mates, more than there are slots for."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.live.services import Pair, Service, noted, script_that_notes, wait_until

TIME_LIMIT = 10  # seconds; more than any job needs
TOGETHER = ("its holding mate started", "its mate could start")  # why a job started whose mate was asked to


@dataclass(frozen=True, slots=True)
class Work:
    """A job to be submitted; `pair` None: it has no mate."""

    pair: str | None
    nodes: int
    seconds: float


Sides = tuple[list[Work], list[Work]]


@dataclass(slots=True)
class Outcome:
    """What became of a workload."""

    states: Counter[str] = field(default_factory=Counter)
    whys: dict[str, list[str]] = field(default_factory=dict)  # by pair: why its jobs started, as their stories tell
    times: dict[str, list[float]] = field(default_factory=dict)  # by pair: when, as the jobs themselves noted
    runs: Counter[tuple[str, str]] = field(default_factory=Counter)  # by domain and job: how often it ran

    def alone(self) -> dict[str, list[str]]:
        """The pairs of which a job did not start with its mate."""
        return {pair: whys for pair, whys in self.whys.items() if not _are_together(whys)}

    def skews(self) -> list[float]:
        """Seconds between the first instructions of two mates, of each pair."""
        return [max(both) - min(both) for both in self.times.values()]


def _are_together(whys: Sequence[str]) -> bool:
    """Whether one mate asked for the other, or each for the other at the same moment."""
    asked = sum(why.startswith("asked by ") for why in whys)
    return len(whys) == 2 and asked > 0 and asked + sum(why in TOGETHER for why in whys) == 2


def contended(seed: int, pairs: int, unpaired: int, most_nodes: int = 3) -> Sides:
    """So many pairs, and so many other jobs on each side, in an order of its own each; equal seeds, equal work."""
    chance = random.Random(seed)

    def side() -> list[Work]:
        names = [*(f"p{number}" for number in range(pairs)), *[None] * unpaired]
        chance.shuffle(names)
        return [Work(name, chance.randint(1, most_nodes), round(chance.uniform(0.05, 0.5), 3)) for name in names]

    return side(), side()


def run(pair: Pair, sides: Sides) -> Outcome:
    """Submit the work, to both domains at once, and see it to its end."""
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(_submit, service, work) for service, work in zip(pair.both, sides, strict=True)]:
            done.result()
    wait_until(lambda: all(_is_idle(service) for service in pair.both), "all jobs have ended")
    return outcome(pair)


def _submit(service: Service, work: Sequence[Work]) -> None:
    folder = service.folder.parent
    with service.client() as client:
        for job in work:
            script = script_that_notes(folder, job.seconds)
            client.submit(script, nodes=job.nodes, time_limit=TIME_LIMIT, pair=job.pair, directory=service.folder)


def _is_idle(service: Service) -> bool:
    with service.client() as client:
        return not client.jobs()


def outcome(pair: Pair) -> Outcome:
    """What became of all jobs so far, by both domains' records and the jobs' own notes."""
    found = Outcome()
    for service in pair.both:
        with service.client() as client:
            jobs = {str(job): job for job in client.jobs(["completed", "failed", "cancelled"])}
            found.states.update(job.state for job in jobs.values())
            for event in client.events(after=0, kinds=["started"], until_now=True):
                name = jobs[event.job].mates[0].pair if event.job in jobs and jobs[event.job].mates else None
                if name is not None:
                    found.whys.setdefault(name, []).append(event.detail["why"])
    for domain, job, name, at in noted(pair.folder):
        found.runs[domain, job] += 1
        if name != "-":
            found.times.setdefault(name, []).append(at)
    return found
