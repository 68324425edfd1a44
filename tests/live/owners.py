"""Owners who change their minds: jobs of pairs and groups follow each other, are cancelled, replaced, preempted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Over
from typing import Any

from cosched.client import Client, ClientError, Unreachable
from tests.live.kill_campaign import PatientClient
from tests.live.services import COMMAND, Federation, Service, installed

EVERY = 0.2  # seconds between two of an owner's commands, on average
CHANGES = 1.0  # of an owner for each submission, on average
NEARBY = 6  # places by which the order of submissions differs between owners, at most
LONGEST = 4.0  # seconds for which jobs run that end by themselves
FOLLOWS = 45  # seconds: the time limit of a job that ends only with its mate; less than the tests' patience
LIMIT = 600  # seconds, of other jobs
SHORT = 20  # seconds: the time limit of jobs that take the nodes of others, where a domain is preemptive
NODES = 3
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@dataclass(frozen=True, slots=True)
class Together:
    """A pair, or group, and how its jobs follow each other; the same on all sides, but `main` is followed."""

    name: str
    requeue: bool  # all are queued again if one is
    main: str | None  # the domain whose job the others end with; these run until then
    fails: str | None  # the domain whose job fails; the others fail together with it

    def options(self, domain: str, domains: Sequence[str]) -> dict[str, Any]:
        """Of the job of this domain."""
        others = [name for name in domains if name != domain]
        named = {"group": self.name, "members": others} if len(others) > 1 else {"pair": self.name}
        ends = [self.main] if self.main not in (None, domain) else []
        choice = "requeue" if self.requeue else "continue"
        return {**named, "ends_with": ends, "fail_together": self.fails not in (None, domain), "if_requeued": choice}

    def script(self, domain: str, folder: Path, seconds: float) -> str:
        """A job that notes each of its starts, and if it runs twice at the same time."""
        ends = f"exec sleep {seconds}" if self.fails != domain else f"sleep {seconds}; exit 3"
        if self.main not in (None, domain) or self.fails not in (None, domain):
            ends = "exec sleep 3600"
        return f"""#!/bin/bash
exec 9>> {folder}/lock.$COSCHED_DOMAIN.$COSCHED_JOB_ID
flock -n 9 || echo $COSCHED_DOMAIN:$COSCHED_JOB_ID >> {folder}/doubled
echo "$COSCHED_DOMAIN $COSCHED_JOB_ID {self.name} $EPOCHREALTIME" >> {folder}/starts
{ends}
"""

    def time_limit(self, domain: str) -> int:
        """Seconds."""
        return FOLLOWS if {self.main, self.fails} - {None, domain} else LIMIT


def followers(seed: int, count: int, domains: Sequence[str]) -> list[Together]:
    """So many, all of which are queued again together, and end with one of them."""
    chance = random.Random(seed)
    return [Together(f"p{number}", True, chance.choice(domains), None) for number in range(count)]


def some(seed: int, count: int, domains: Sequence[str]) -> list[Together]:
    """So many, of all kinds."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        kind, one = chance.choice(["plain", "main", "fails", "plain"]), chance.choice(domains)
        followed = {"main": None, "fails": None} | ({kind: one} if kind != "plain" else {})
        made.append(Together(f"p{number}", chance.random() < 0.6, **followed))
    return made


@dataclass(slots=True)
class Told:
    """What owners have submitted, and what they heard."""

    jobs: dict[tuple[str, str], str] = field(default_factory=dict)  # by domain and id: the name
    touched: set[str] = field(default_factory=set)  # names of those one of which was cancelled, replaced, unlinked
    progress: Counter[str] = field(default_factory=Counter)  # submissions, by domain
    refused: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)


class Owner:
    """The owner of the jobs of one domain."""

    def __init__(
        self, service: Service, domains: Sequence[str], work: Sequence[Together], told: Told, seed: int, changes: float
    ) -> None:
        self.service, self.domains, self.told = service, domains, told
        self.chance = random.Random(f"{seed} {service.name}")
        places = {each: number + self.chance.uniform(0, NEARBY) for number, each in enumerate(work)}
        self.work = sorted(work, key=places.__getitem__)
        self.goes_on = changes / (1 + changes)  # the chance of one more
        self.by_name = {each.name: each for each in work}
        self.changing = {each.name for each in work[::2]}  # the others show what follows by itself

    def __call__(self, over: Over) -> None:
        """Submit all, and change some meanwhile."""
        with PatientClient(self.service) as client:
            for each in self.work:
                self._try("submit", lambda each=each: self._submit(client, each))
                self.told.progress[self.service.name] += 1
                over.wait(self.chance.uniform(0, 2 * EVERY))
                while not over.is_set() and (self._is_ahead() or self.chance.random() < self.goes_on):
                    self._change(client)
                    over.wait(self.chance.uniform(0, 2 * EVERY))
            while not over.is_set():
                self._change(client)
                over.wait(self.chance.uniform(0, 2 * EVERY))

    def _is_ahead(self) -> bool:
        """Whether another owner has still to submit this job's mate, perhaps: it could lose patience."""
        progress = self.told.progress
        return progress[self.service.name] > min(progress[name] for name in self.domains) + 1

    def _submit(self, client: Client, each: Together, **more: Any) -> None:
        name, folder = self.service.name, self.service.folder.parent
        script = each.script(name, folder, round(self.chance.uniform(0.1, LONGEST), 2))
        named = {} if more else each.options(name, self.domains)
        job = client.submit(script, time_limit=each.time_limit(name), **named, **more)
        self.told.jobs[name, job.id] = each.name

    def _change(self, client: Client) -> None:
        """Change one job that waits, or runs; or take a machine from one."""
        act = self.chance.choice(["cancel", "again", "in place", "unlink", "stop", "preempt"])
        if act == "preempt":
            if "express" in self.service.config["manager"]:
                self._try(act, lambda: self._preempt(client))
            return
        states = ["running"] if act == "stop" else ["queued", "holding"]
        try:
            named = {job.id: self.told.jobs.get((self.service.name, job.id)) for job in client.jobs(states)}
        except Unreachable:
            return
        if jobs := [job for job, name in named.items() if name in self.changing]:
            job = self.chance.choice(jobs)
            each = self.by_name[named[job]]
            self.told.touched.add(each.name)
            self._try(act, lambda: self._carry_out(act, client, job, each))

    def _carry_out(self, act: str, client: Client, job: str, each: Together) -> None:
        if act == "in place":
            self._submit(client, each, in_place_of=job)
        elif act == "unlink":
            client.unlink(job)
        else:
            client.cancel(job, final=self.chance.random() < 0.5)
        if act == "again":
            self._submit(client, each)

    def _preempt(self, client: Client) -> None:
        for _ in range(NODES):
            job = client.submit("#!/bin/bash\nsleep 0.3\n", time_limit=SHORT)
            self.told.jobs[self.service.name, job.id] = ""

    def _try(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Unreachable:
            raise
        except ClientError as error:
            self.told.refused[error.reason] += 1
        else:
            self.told.done[what] += 1


def preemptive(service: Service) -> None:
    """Have a domain take the nodes of running jobs, also of those with mates, for short ones: the package's example."""
    service.wrapper = COMMAND
    service.environment = installed(service.folder.parent, "examples", "express = example_scheduler:EXPRESS", EXAMPLES)
    service.schedule_by("express", express=SHORT, slots=NODES)


def owners(domains: Federation, work: Sequence[Together], told: Told, seed: int, changes: float) -> list[Owner]:
    """One for each domain."""
    names = [service.name for service in domains.services]
    return [Owner(service, names, work, told, seed, changes) for service in domains.services]
