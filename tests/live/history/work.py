"""The work of a history: pairs of jobs between any two domains, and jobs without mates, without end.

Each job notes when it began and when it ended, by the host's clock, with its id. A domain gets more work as fast as it
ends what it has, so that a slow machine has less of it at a time than it can bear.
"""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from cosched.client import Unreachable
from tests.live.history.world import World
from tests.live.kill_campaign import PatientClient
from tests.live.services import Service, wait_until
from tests.live.workloads import RUN_PATIENCE

PAIRS = 3  # between any two domains, in a block of work
BACKLOG = 16  # jobs of a domain that have not ended; two blocks at least, since mates come in orders of their own
MOST_NODES = 3
TIME_LIMIT = 600  # seconds; more than any job needs


@dataclass(frozen=True, slots=True)
class Work:
    """A job to be submitted; without a peer it has no mate."""

    name: str
    peer: str
    nodes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that a domain has accepted."""

    domain: str
    job: str
    work: Work


@dataclass(frozen=True, slots=True)
class Stamp:
    """A line that a job wrote: `what` is begin or end; `at` in seconds since 1970."""

    what: str
    domain: str
    job: str
    at: float


def script(folder: Path, seconds: float) -> str:
    """A job that notes its begin and its end; a line is one write, so lines do not mix."""
    note = f'"$COSCHED_DOMAIN $COSCHED_JOB_ID $EPOCHREALTIME" >> {folder}/stamps-$COSCHED_DOMAIN'
    return f"#!/bin/bash\necho begin {note}\nsleep {seconds}\necho end {note}\n"


def stamps(folder: Path, domain: str) -> list[Stamp]:
    """What the jobs of a domain have noted, in that order."""
    path = folder / f"stamps-{domain}"
    lines = path.read_text().splitlines() if path.exists() else []
    return [Stamp(what, name, job, float(at)) for what, name, job, at in map(str.split, lines)]


def blocks(seed: int, names: list[str]) -> Iterator[dict[str, list[Work]]]:
    """Blocks of work: for each domain, in an order of its own; each pair has one block."""
    chance, number = random.Random(seed), 0

    def work(name: str, peer: str = "") -> Work:
        return Work(name, peer, chance.randint(1, MOST_NODES), round(chance.uniform(0.05, 0.5), 3))

    while True:
        block = {name: [work(f"alone-{name}{number}")] for name in names}
        for one, other in combinations(names, 2):
            for _ in range(PAIRS):
                number += 1
                block[one].append(work(f"{one}{other}{number}", other))
                block[other].append(work(f"{one}{other}{number}", one))
        for its in block.values():
            chance.shuffle(its)
        yield block


class Submitters:
    """A thread for each domain, which submits its part of every block until `stop`."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._seed = seed
        self._over = threading.Event()
        self._turn = threading.Lock()
        self._begun = 0  # blocks that some domain has begun: all others have them too, in the end
        self.submitted: list[Submitted] = []

    def run(self, service: Service) -> None:
        """What the thread of this domain does; to be told by `stop`."""
        with PatientClient(service) as client:
            for number, block in enumerate(blocks(self._seed, list(self._world.places)), 1):
                with self._turn:
                    if self._over.is_set() and number > self._begun:
                        return
                    self._begun = max(self._begun, number)
                for work in block[service.name]:
                    wait_until(lambda: self._open(service.name) < BACKLOG, f"{service.name} ends jobs", RUN_PATIENCE)
                    self._submit(client, service, work)

    def stop(self) -> None:
        """Begin no more blocks."""
        self._over.set()

    def _submit(self, client: PatientClient, service: Service, work: Work) -> None:
        mate = {"pair": work.name, "pair_domain": work.peer, "or_alone": True} if work.peer else {}
        asked = {"name": work.name, "nodes": work.nodes, "time_limit": TIME_LIMIT, **mate}
        job = client.submit(script(self._world.folder, work.seconds), **asked)
        self.submitted.append(Submitted(service.name, job.id, work))

    def _open(self, domain: str) -> int:
        """How many of its jobs have not noted their end."""
        ended = sum(stamp.what == "end" for stamp in stamps(self._world.folder, domain))
        return Counter(entry.domain for entry in self.submitted)[domain] - ended


def has_jobs(service: Service) -> bool:
    """Whether a domain has jobs that have not ended, or gives no answer."""
    try:
        with service.client() as client:
            return bool(client.jobs())
    except Unreachable:
        return True
