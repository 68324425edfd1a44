"""A busy pair of services, what of it was told to others, and what would be left of it after a power failure."""

import json
import pickle
import random
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from cosched.client import ClientError
from cosched.core.job import JobState
from tests.live import sync_recorder
from tests.live.services import Pair, Service, noted, script_that_notes
from tests.live.sync_recorder import Round
from tests.live.workloads import TOGETHER


@dataclass(frozen=True, slots=True)
class Told:
    """Something that has left a domain by the instant `at` of the monotonic clock."""

    at: float
    domain: str
    job: int
    what: str  # "submitted", "cancelled" or "started"


@dataclass(slots=True)
class Image:
    """What is in the database of a domain, as it would be found."""

    states: dict[int, JobState] = field(default_factory=dict)
    mates: dict[int, tuple[str, str | None]] = field(default_factory=dict)  # its mate's id, and the pair's name
    asked: set[int] = field(default_factory=set)  # jobs that have started since the mate did
    cancelled: set[int] = field(default_factory=set)


def record(service: Service) -> None:
    """Have the service note, from its next start on, what of its database is on disk."""
    service.wrapper = (sys.executable, sync_recorder.__file__, str(service.folder / "rounds"))


def be_busy(pair: Pair, seconds: float, seed: int) -> list[Told]:
    """Submit pairs and other jobs on both sides, and cancel some, for so long; then both are killed."""
    told: list[Told] = []
    over = threading.Event()
    with ThreadPoolExecutor(6) as pool:
        for service in pair.both:
            for number in range(3):
                pool.submit(_submit, pair, service, number, told, over, random.Random(f"{seed} {number}"))
        time.sleep(seconds)
        over.set()
    for service in pair.both:
        service.kill()
    ahead = time.time() - time.monotonic()
    told += [Told(at - ahead, domain, int(job), "started") for domain, job, _, at in noted(pair.folder)]
    return sorted(told, key=lambda one: one.at)


def _submit(
    pair: Pair, service: Service, number: int, told: list[Told], over: threading.Event, chance: random.Random
) -> None:
    with service.client() as client:
        for count in range(10**6):
            named = f"p{number}-{count}" if chance.random() < 0.6 else None
            script = script_that_notes(pair.folder, 0)
            job = client.submit(script, pair=named, nodes=chance.randint(1, 2), time_limit=60)
            told.append(Told(time.monotonic(), service.name, int(job.id), "submitted"))
            if named is None and chance.random() < 0.3:
                try:
                    client.cancel(job)
                except ClientError:  # it has ended
                    continue
                told.append(Told(time.monotonic(), service.name, int(job.id), "cancelled"))
            if over.is_set():
                return


class Disk:
    """The disk of one domain, at the end of each round of synchronisation."""

    def __init__(self, service: Service) -> None:
        self._folder = service.folder / "rounds"
        with (self._folder / "rounds").open("rb") as file:
            self._rounds = list(_rounds(file))

    def cuts(self) -> list[float]:
        """The instants just before each round ended."""
        return [ended.ended for ended in self._rounds[1:]]

    def write(self, at: float, path: Path) -> None:
        """The database, as a power failure at that instant would leave it."""
        log, database = bytearray(), 0
        for done in self._rounds:
            if done.ended >= at and database:
                break
            if done.database != database:
                log, database = bytearray(), done.database
            for place, piece in done.pieces.items():
                log[place : place + len(piece)] = piece
        path.write_bytes((self._folder / f"{database}.db").read_bytes())
        path.with_name(f"{path.name}-wal").write_bytes(log)

    def image(self, at: float, scratch: Path) -> Image:
        """What would be found then; `scratch` is a file that may be overwritten."""
        for ending in ("", "-wal", "-shm"):
            scratch.with_name(scratch.name + ending).unlink(missing_ok=True)
        self.write(at, scratch)
        with closing(sqlite3.connect(scratch)) as database:
            found = Image()
            columns = "jobs.id, state, mate.value, group_name, cancelled_by"
            rows = database.execute(f"SELECT {columns} FROM jobs LEFT JOIN json_each(mates) AS mate")
            for id, state, mate, pair, by in rows:
                found.states[id] = JobState(state)
                if mate is not None:
                    found.mates[id] = mate, pair
                if by is not None or state == JobState.CANCELLED:
                    found.cancelled.add(id)
            for job, detail in database.execute("SELECT job, detail FROM events WHERE what = 'started'"):
                if json.loads(detail)["why"] in TOGETHER:
                    found.asked.add(job)
        return found


def _rounds(file: BinaryIO) -> Iterator[Round]:
    while True:
        try:
            yield Round(*pickle.load(file))
        except (EOFError, pickle.UnpicklingError):  # it was killed just then
            return


def lost(told: list[Told], at: float, images: dict[str, Image]) -> list[str]:
    """What has left a domain by that instant, and a power failure would take back."""
    found = [
        f"{one.domain}{one.job} was {one.what}" for one in told if one.at < at and not _has(images[one.domain], one)
    ]
    for domain, other in (("a", "b"), ("b", "a")):
        here, there = images[domain], images[other]
        for job, (mate, pair) in here.mates.items():
            if int(mate) not in there.states:
                found.append(f"{domain}{job} has the mate {other}{mate} (pair {pair})")
            elif job in here.asked and there.states[int(mate)] < JobState.RUNNING:
                found.append(f"{domain}{job} has started, as {other}{mate} did")
    return found


def _has(image: Image, told: Told) -> bool:
    if told.what == "started":
        return image.states.get(told.job, JobState.PENDING) >= JobState.RUNNING
    if told.what == "cancelled":
        return told.job in image.cancelled or image.states.get(told.job, JobState.PENDING).final
    return told.job in image.states
