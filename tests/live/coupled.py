"""Work for the domains of a laboratory, and what became of it: by the jobs' own notes, and by what cosched says."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event as Flag
from typing import Any

from cosched.client import Client, Event, Job
from tests.live.workloads import Outcome, Sides, Work

PATIENCE = 300.0  # seconds; a safety net
INTERVAL = 0.2  # seconds between two looks
KILLS = 12
MOST_ALIVE, MOST_AWAY = 4.0, 3.0  # seconds between two kills, and that a service is away
ENDED = ("completed", "failed", "cancelled")
STATES = ("queued", "ready", "holding", "running", *ENDED)
Domain = Any  # of a laboratory: it has a `name` and a `service`


class CoupledWork(ABC):
    """The domains of a laboratory that is up; jobs note their ids, `name` and begin."""

    def __init__(self, domains: Iterable[Domain]) -> None:
        self.domains = tuple(domains)
        self.here, self.there, *_ = self.domains

    @abstractmethod
    def submit(self, domain: Domain, work: Work, *options: str) -> str:
        """Submit a job, which notes when it begins; its id."""

    @abstractmethod
    def notes(self, domain: Domain) -> Path:
        """Where the domain's jobs note that; there is no such file before the first."""

    @abstractmethod
    def unended(self, domain: Domain) -> set[str]:
        """The jobs that have not ended, by the batch system or by cosched."""

    @abstractmethod
    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait for a condition; LabError with the ends of the logs."""

    def run(self, sides: Sides) -> Outcome:
        """Submit the work, to all domains at once, and see it to its end."""
        with ThreadPoolExecutor(len(sides)) as pool:
            ids = list(pool.map(lambda domain, works: [self.submit(domain, w) for w in works], self.domains, sides))
        return self.outcome(*ids)

    def run_while_killed(
        self, sides: Sides, seed: int, also: Callable[[bool, random.Random], None] = lambda *_: None
    ) -> Outcome:
        """`run`, to one domain after the other, while services are killed at random: one, or all at once.

        `also` is called after each kill, with whether all work has been submitted.
        """
        over, submitted, ids = Flag(), Flag(), [list[str]() for _ in sides]

        def kill(chance: random.Random) -> None:
            for _ in range(KILLS):
                over.wait(chance.uniform(0, MOST_ALIVE))
                killed = chance.choice([*([domain] for domain in self.domains), [*self.domains]])
                for domain in killed:
                    domain.service.kill()
                time.sleep(chance.uniform(0, MOST_AWAY))
                start(*killed)
                also(submitted.is_set(), chance)

        with ThreadPoolExecutor(1) as pool:
            killing = pool.submit(kill, random.Random(seed))
            try:
                for domain, its, works in zip(self.domains, ids, sides, strict=True):
                    its += [self.submit(domain, work) for work in works]
                submitted.set()
                killing.result()
            finally:
                over.set()
        return self.outcome(*ids)

    def outcome(self, *ids: Sequence[str]) -> Outcome:
        """What became of these jobs of each domain, once they have ended."""
        found = Outcome(len(self.domains))
        for domain, jobs in zip(self.domains, ids, strict=True):
            ended = lambda domain=domain, jobs=jobs: not set(jobs) & self.unended(domain)  # noqa: E731
            self.until(ended, f"all ends on {domain.name}")
            self._look(found, domain, set(jobs))
        return found

    def _look(self, found: Outcome, domain: Domain, ids: set[str]) -> None:
        notes = self.notes(domain)
        for job_id, name, at in map(str.split, notes.read_text().splitlines() if notes.exists() else ()):
            if job_id in ids:
                found.runs[domain.name, job_id] += 1
                if name != "-":
                    found.times.setdefault(name, []).append(float(at))
        jobs = {job_id: job for job_id, job in known(domain).items() if job_id in ids and named(job)}
        found.states.update(job.state for job in jobs.values())
        for event in story(domain, kinds=["started"]):
            if (job := jobs.get(str(event.job).rpartition(":")[2])) is not None:
                found.whys.setdefault(named(job), []).append(event.detail["why"])

    def check_started_together(self, *ids: Sequence[str]) -> Outcome:
        """These jobs of each domain complete, each ran once, and each with its mate, or the others of its group."""
        found = self.outcome(*ids)
        jobs = sum(map(len, ids))
        assert found.states == {"completed": jobs}
        assert len(found.runs) == jobs
        self.check_that_jobs_ran_once(found)
        assert found.alone() == {}
        return found

    def check_that_jobs_ran_once(self, found: Outcome) -> None:
        """No job ran twice."""
        assert set(found.runs.values()) == {1}

    def job(self, domain: Domain, job_id: str) -> Job | None:
        """A job as cosched knows it, if it does."""
        return known(domain).get(job_id)

    def until_job(self, domain: Domain, job_id: str, condition: Callable[[Job], bool], what: str) -> Job:
        """Wait until something is true of a job, as cosched knows it."""
        return self.until(lambda: (job := self.job(domain, job_id)) and condition(job) and job, f"{job_id} {what}")

    def until_state(self, domain: Domain, job_id: str, *states: str) -> Job:
        """Wait until cosched says that a job is in one of these states."""
        what = f"to be {' or '.join(states)} on {domain.name}"
        return self.until_job(domain, job_id, lambda job: job.state in states, what)


def start(*domains: Domain) -> None:
    """Start the services of these domains, at once."""
    with ExitStack() as stack:
        for domain in domains:
            stack.enter_context(domain.service.starting())


def named(job: Job) -> str:
    """The name of a job's group or pair; empty if it has none."""
    return job.group.name if job.group is not None else str(job.mates[0].pair) if job.mates else ""


def known(domain: Domain) -> dict[str, Job]:
    """The jobs that the service knows, those that have ended too."""
    with Client(domain.service.server, timeout=PATIENCE) as client:
        return {job.id: job for job in client.jobs(STATES)}


def unended(domain: Domain) -> set[str]:
    """The jobs that have not ended, by cosched."""
    return {job_id for job_id, job in known(domain).items() if job.state not in ENDED}


def story(domain: Domain, *jobs: str, kinds: Sequence[str] = ()) -> list[Event]:
    """What happened on a domain to these jobs, or to all, by cosched; of these kinds, or all."""
    with Client(domain.service.server, timeout=PATIENCE) as client:
        return list(client.events(0, jobs, kinds, until_now=True))
