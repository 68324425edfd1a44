"""What decisions cost: one synchronisation of the disk at most on each side, and one for many at once."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from tests.live import sync_counter
from tests.live.scripted_peer import HOLDING, QUEUING, ScriptedPeer
from tests.live.secured import ME
from tests.live.services import PATIENCE, Service, noted, script_that_notes, wait_until

MANY = 40


class Counted:
    """A service that counts its synchronisations."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._file = service.folder / "rounds"
        service.wrapper = (sys.executable, sync_counter.__file__, str(self._file))
        service.config["coscheduling"].update(
            heartbeat_interval=0, scheme="hold", release_interval="10m", on_peer_unreachable="hold", max_held_fraction=1
        )
        service.config["manager"]["slots"] = MANY
        service.start()

    @property
    def rounds(self) -> int:
        return self._file.stat().st_size

    @contextmanager
    def at_most_one(self) -> Iterator[None]:
        before = self.rounds
        yield
        assert self.rounds - before <= 1

    @contextmanager
    def closed(self) -> Iterator[None]:
        """In this block no round ends."""
        closed = self._file.with_suffix(".closed")
        closed.touch()
        yield
        closed.unlink()

    def started(self) -> int:
        """How many jobs have started by what is written, be it on disk or not."""
        return len(self.service.rows("SELECT * FROM events WHERE what = 'started'"))


@pytest.fixture
def called(make_service) -> Counted:
    """The peer b calls it."""
    service = make_service("a")
    service.add_peer("b", "127.0.0.1:1")
    return Counted(service)


def caller(pair: str) -> wire.JobRef:
    return wire.JobRef(domain="b", job_id=pair)


def find(peer: CoschedulingServiceStub, pair: str) -> wire.JobRef:
    return peer.GetMateJobId(wire.GetMateJobIdRequest(job=caller(pair), pair=pair, owner=ME)).mate


def order(peer: CoschedulingServiceStub, pair: str) -> wire.StartJobRequest:
    """The last call of a decision whose mate holds."""
    ids = {"job": find(peer, pair), "caller": caller(pair)}
    status = peer.GetMateStatus(wire.GetMateStatusRequest(**ids))
    return wire.StartJobRequest(request_id=f"b/{pair}/1", **ids, hold_generation=status.hold_generation)


@contextmanager
def held(service: Service, count: int) -> Iterator[tuple[CoschedulingServiceStub, list[wire.StartJobRequest]]]:
    """As the peer, of so many jobs that hold: the orders to start them."""
    with service.client() as client, grpc.insecure_channel(service.address) as channel:
        jobs = [client.submit("#!/bin/sh\nsleep 600\n", pair=f"p{n}") for n in range(count)]
        wait_until(lambda: all(client.job(job).state == "holding" for job in jobs), "all hold")
        peer = CoschedulingServiceStub(channel)
        yield peer, [order(peer, f"p{n}") for n in range(count)]


def test_a_start_that_a_peer_asks_for_costs_one(called: Counted) -> None:
    with held(called.service, 1) as (peer, orders), called.at_most_one():
        assert peer.StartJob(orders[0], timeout=PATIENCE).started


def test_a_try_that_a_peer_asks_for_costs_one(called: Counted) -> None:
    with called.service.client() as client, grpc.insecure_channel(called.service.address) as channel:
        blocker = client.submit("#!/bin/sh\nsleep 600\n", nodes=MANY)
        wait_until(lambda: client.job(blocker).state == "running", "all slots are taken")
        client.submit("#!/bin/sh\n", pair="p")
        peer = CoschedulingServiceStub(channel)
        request = wire.TryStartMateRequest(request_id="b/p/1", job=find(peer, "p"), caller=caller("p"))
        with called.at_most_one():
            assert not peer.TryStartMate(request, timeout=PATIENCE).started


def test_many_starts_at_once_share_two(called: Counted) -> None:
    """One is under way when the others come, and these have the next one together."""
    with held(called.service, MANY) as (peer, orders):
        before = called.rounds
        with called.closed():
            answers = [peer.StartJob.future(order, timeout=PATIENCE) for order in orders]
            wait_until(lambda: called.started() == MANY, "all are written")
        assert all(answer.result().started for answer in answers)
        assert called.rounds - before <= 2


@pytest.mark.parametrize("status", [HOLDING, pytest.param(QUEUING, marks=pytest.mark.soak)], ids=["holds", "queues"])
def test_a_decision_of_ones_own_costs_one(make_service, tmp_path: Path, status: wire.GetMateStatusResponse) -> None:
    """From its release to its first instruction: the release, which is answered, and the decision."""
    with ScriptedPeer("b") as peer:
        peer.answers["GetMateStatus"] = status
        service = make_service("a")
        service.add_peer("b", peer.address)
        calling = Counted(service)
        with service.client() as client:
            job = client.submit(script_that_notes(tmp_path), mate="b:9", hold=True)
            wait_until(lambda: client.job(job).mates[0].lookup == "found", "its mate is known")
            before = calling.rounds
            client.release(job)
            wait_until(lambda: noted(tmp_path), "it has started")
            assert calling.rounds - before <= 2
