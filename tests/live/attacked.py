"""What an attacked domain is: with a long history, and asked by a peer all the while."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import grpc

from cosched.core.job import JobState
from cosched.service.store import EventRecord, JobScript, Store
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import domain_pb2
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from tests.live.attacks import RARE
from tests.live.secured import channel_of, refusal
from tests.live.services import Service
from tests.service.job_records import queued
from tests.service.pki import Pki

PAUSE = 0.02  # seconds between two calls of the peer


def write_history(path: Path, jobs: int) -> None:
    """The database of the domain a, with jobs that have been cancelled; no event is of the kind RARE."""
    kinds = [kind for kind in domain_pb2.EventKind.values() if kind != RARE]
    at = int(time.time()) - jobs
    with closing(Store.open(path, "a")) as store, store.transaction():
        for number in range(1, jobs + 1):
            ended = {"state": JobState.CANCELLED, "ended_at": at + number}
            job = queued(number, 1, 60, at, owner="ann", **ended)
            store.add_job(job, JobScript(b"#!/bin/sh\n", (), "/", {}))
        store.add_events(
            EventRecord(number, at, kinds[number % len(kinds)], 1 + number // 5, "submitted", {})
            for number in range(1, 5 * jobs)
        )


class Peer:
    """The domain b, as somebody who asks a as fast as it answers."""

    def __init__(self, a: Service, pki: Pki | None) -> None:
        self._a, self._pki = a, pki
        self._over = threading.Event()
        self.answers: Counter[str] = Counter()
        self.seconds: list[float] = []

    @contextmanager
    def asking(self) -> Iterator[None]:
        """For the time of the block."""
        thread = threading.Thread(target=self._ask)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _ask(self) -> None:
        with self._channel() as channel:
            stub = CoschedulingServiceStub(channel)
            caller = wire.JobRef(domain="b", job_id="7")
            request = wire.GetMateJobIdRequest(job=caller, pair="none", owner="ann")
            while not self._over.wait(PAUSE):
                began = time.perf_counter()
                self.answers[refusal(stub.GetMateJobId, request)[0]] += 1
                self.seconds.append(time.perf_counter() - began)

    def _channel(self) -> Any:
        if self._pki is None:
            return grpc.insecure_channel(self._a.address)
        return channel_of(self._a, self._pki.folder / "ca.pem", self._pki.open("b"))
