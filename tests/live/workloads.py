"""Workloads for services: pairs, or groups, of jobs among jobs without mates, more than there are slots for."""

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from cosched.client import Job
from cosched.core.story import Why
from tests.live.services import Federation, Pair, Service, noted, script_that_notes, wait_until

TIME_LIMIT = 60  # seconds; more than any job needs
RUN_PATIENCE = 1200.0  # seconds; a safety net
SCHEMES = [("hold", "hold"), ("hold", "yield"), ("yield", "hold"), ("yield", "yield")]
MEETING = [("meet", "meet"), ("meet", "hold"), ("yield", "meet")]
# Why a job started that asked its mate, or the others of its group.
TOGETHER = (Why.HOLDING_MATE_STARTED, Why.MATE_COULD_START, Why.AT_SLOT, Why.ALL_BOOKED)


@dataclass(frozen=True, slots=True)
class Work:
    """A job to be submitted; it starts with those of the same name on all other domains. None: with nobody."""

    name: str | None
    nodes: int
    seconds: float
    time_limit: int = TIME_LIMIT
    least: int | None = None  # the fewest nodes, if it is malleable


Sides = Sequence[list[Work]]


@dataclass(slots=True)
class Outcome:
    """What became of a workload."""

    domains: int  # that the workload was for
    states: Counter[str] = field(default_factory=Counter)
    whys: dict[str, list[str]] = field(default_factory=dict)  # by pair or group: why its jobs started, by their stories
    times: dict[str, list[float]] = field(default_factory=dict)  # as above: when, as the jobs themselves noted
    runs: Counter[tuple[str, str]] = field(default_factory=Counter)  # by domain and job: how often it ran

    def alone(self) -> dict[str, list[str]]:
        """The pairs, or groups, of which a job did not start with the others."""
        return {name: whys for name, whys in self.whys.items() if not are_together(whys, self.domains)}

    def skews(self) -> list[float]:
        """Seconds between the first instructions of the jobs of each pair, or group."""
        return [max(times) - min(times) for times in self.times.values()]


def are_together(whys: Sequence[str], jobs: int = 2) -> bool:
    """Whether one of so many jobs asked for the others, or several did at the same moment."""
    asked = sum(why.startswith("asked by ") for why in whys)
    return len(whys) == jobs and asked > 0 and asked + sum(why in TOGETHER for why in whys) == jobs


def contended(
    seed: int, together: int, alone: int, most_nodes: int = 3, seconds: float = 0.5, time_limit: int = TIME_LIMIT,
    domains: int = 2,
) -> Sides:  # fmt: skip
    """So many pairs, or groups of more domains, and so many other jobs on each side, in an order of its own each.

    Equal seeds, equal work. `seconds`: how long a job takes at most.
    """
    chance = random.Random(seed)

    def side() -> list[Work]:
        names = [*(f"p{number}" for number in range(together)), *[None] * alone]
        chance.shuffle(names)
        return [
            Work(name, chance.randint(1, most_nodes), round(chance.uniform(0.05, seconds), 3), time_limit)
            for name in names
        ]

    return [side() for _ in range(domains)]


def set_up(pair: Pair, slots: int, schemes: tuple[str, str] = ("hold", "hold"), **coscheduling: object) -> Pair:
    """Configure both services, which are not started yet; only events make them schedule."""
    for service, scheme in zip(pair.both, schemes, strict=True):
        service.config["domain"]["schedule_interval"] = 0
        service.config["manager"]["slots"] = slots
        service.config["coscheduling"].update(coscheduling, scheme=scheme)
    return pair


def run(pair: Pair, sides: Sides) -> Outcome:
    """Submit the work, to both domains at once, and see it to its end."""
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(submit, service, work) for service, work in zip(pair.both, sides, strict=True)]:
            done.result()
    wait_until(lambda: is_idle(pair), "all jobs have ended", RUN_PATIENCE)
    return outcome(pair)


def submit(service: Service, work: Sequence[Work]) -> list[Job]:
    """Submit the work to one domain, in this order."""
    with service.client() as client:
        return [
            client.submit(
                script_that_notes(service.folder.parent, job.seconds),
                nodes=job.nodes, time_limit=job.time_limit, pair=job.name,
            )
            for job in work
        ]  # fmt: skip


def is_idle(domains: Federation) -> bool:
    """Whether all jobs have ended."""
    return not any(jobs(service) for service in domains.services)


def jobs(service: Service) -> list[Job]:
    """All jobs of a domain that have not ended, in the order of submission."""
    with service.client() as client:
        return client.jobs()


def outcome(domains: Federation) -> Outcome:
    """What became of all jobs, once they have ended, by the domains' records and the jobs' own notes."""
    found = Outcome(len(domains.services))
    for service in domains.services:
        with service.client() as client:
            ended = {str(job): job for job in client.jobs(["completed", "failed", "cancelled"])}
            found.states.update(job.state for job in ended.values())
            for event in client.events(after=0, kinds=["started"], until_now=True):
                job = ended[str(event.job)]
                for name in [job.group.name] if job.group else [str(mate.pair) for mate in job.mates]:
                    found.whys.setdefault(name, []).append(event.detail["why"])
    for domain, job, name, at in noted(domains.folder):
        found.runs[domain, job] += 1
        if name != "-":
            found.times.setdefault(name, []).append(at)
    return found
