"""Each of the four calls, and each way in which it can get no answer: what becomes of the job that asks.

The service under test is real; each of its peers is scripted, so that a fault hits the very call that is meant.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from cosched.client import Client, Job
from tests.live.scripted_peer import HOLDING, MATE, QUEUING, ScriptedPeer
from tests.live.services import Service, noted, script_that_notes, wait_until
from tests.service.faulty_proxy import BLACK_HOLE, PASS, REFUSE, SWALLOW_REPLIES, Fault, delay_replies

QUESTIONS, ORDERS = ("GetMateJobId", "GetMateStatus"), ("TryStartMate", "StartJob")
CALL_BEFORE = {"GetMateStatus": "GetMateJobId", "TryStartMate": "GetMateStatus", "StartJob": "GetMateStatus"}
TOGETHER = ("its mate could start", "its holding mate started")
ALONE = "PeerUnreachable"
# Seconds for each call of the service under test, and for all attempts at one: a call that nothing is wrong with is
# answered in time, and one that can be repeated is, even if a process gets no CPU for some seconds.
TIMEOUT, PATIENCE = 8, 15
LATE = 10 * TIMEOUT
AN_ANSWER = 40  # bytes; more than frames without an answer have (a ping and a window: 30), less than any answer


class Outcome(NamedTuple):
    """What the job did and why, how often its call arrived at the peer, with how many request ids."""

    became: str
    arrived: int
    ids: int


def a_service(make_service, peers: Iterable[ScriptedPeer], **coscheduling) -> Service:
    """With slots for all, and no other calls to its peers than those of its jobs."""
    service = make_service("a", heartbeat_interval=0, hold_check=0, **coscheduling)
    service.config["manager"]["slots"] = 100
    for peer in peers:
        service.add_peer(peer.name, peer.address)
    return service


def submit(service: Service, client: Client, peer: ScriptedPeer) -> Job:
    """A job with this mate, which waits for its release; its announcement has been answered."""
    return client.submit(script_that_notes(service.folder), mate=f"{peer.name}:{MATE}", hold=True)


def is_settled(client: Client, job: Job) -> bool:
    state = client.job(job).state
    return state in ("completed", "holding") or (state == "queued" and client.job(job).reason in (ALONE, "PeerRefused"))


def whys(client: Client, job: Job, kind: str) -> list[str]:
    """Why events of that kind happened to the job."""
    return [event.detail["why"] for event in client.events(0, [job], [kind], until_now=True)]


def outcome(client: Client, job: Job, call: str, fault: str, peer: ScriptedPeer) -> Outcome:
    now, arrived = client.job(job), peer.calls(call)
    ids = {message.request_id for message in arrived} if call in ORDERS else set()
    starts = whys(client, job, "started")
    assert len(starts) == (now.state == "completed")
    became = starts[0] if starts else f"{now.state}: {now.reason}"
    asked = len(arrived)
    if call == "GetMateStatus":  # a running job asks, too, when its mate began; and so does who looks at a job
        asked = min(asked, expected(call, globals()[fault]).arrived)
    return Outcome("together" if became in TOGETHER else became, asked, len(ids))


# What can go wrong


class Moments:
    """The moments at which faults begin, for one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._to_come = 0

    def before(self, call: str, peer: ScriptedPeer, fault: Fault) -> None:
        """The fault is there when the call is made."""
        if call in CALL_BEFORE:
            self.after(CALL_BEFORE[call], peer, fault)
        else:
            peer.network.set(fault)

    def after(self, call: str, peer: ScriptedPeer, fault: Fault) -> None:
        """The fault begins when the answer to the call has arrived, before the service can do anything about it."""

        def stop(context: grpc.ServicerContext) -> None:
            self._signal(signal.SIGSTOP)
            wait_until(self._is_stopped, "the service is stopped")
            context.add_callback(lambda: threading.Thread(target=arrived).start())

        def arrived() -> None:
            try:
                wait_until(lambda: _unread_from(peer.address) >= AN_ANSWER, "the answer arrives")
                peer.network.set(fault)
            finally:
                self._to_come -= 1
                self._signal(signal.SIGCONT)

        self._to_come += 1
        peer.happens[call] = stop

    def wait(self) -> None:
        """Until the last one of `after` is over: the service is stopped meanwhile."""
        wait_until(lambda: self._to_come == 0, "the fault begins")

    def _is_stopped(self) -> bool:
        """Whether all its threads are."""
        assert self._service.process is not None
        tasks = Path(f"/proc/{self._service.process.pid}/task").glob("*/stat")
        try:
            return all(task.read_text().rpartition(")")[2].split()[0] == "T" for task in tasks)
        except (FileNotFoundError, ProcessLookupError):  # one has just ended: they are not stopped yet
            return False

    def _signal(self, number: int) -> None:
        assert self._service.process is not None
        os.kill(self._service.process.pid, number)


def _unread_from(address: str) -> int:
    """The bytes that have arrived from HOST:PORT (of this host) and have not been read."""
    port = f":{int(address.rpartition(':')[2]):04X}"
    tables = (Path(f"/proc/net/{table}").read_text() for table in ("tcp", "tcp6"))
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return max((int(row[4].partition(":")[2], 16) for row in rows if row[2].endswith(port)), default=0)


def refused_before(call: str, peer: ScriptedPeer, moments: Moments) -> None:
    moments.before(call, peer, REFUSE)


def silent_before(call: str, peer: ScriptedPeer, moments: Moments) -> None:
    moments.before(call, peer, BLACK_HOLE)


def dies_during(call: str, peer: ScriptedPeer, _: Moments) -> None:
    peer.happens[call] = lambda _: peer.network.set(REFUSE)


def never_answers(call: str, peer: ScriptedPeer, _: Moments) -> None:
    peer.happens[call] = lambda _: peer.network.set(SWALLOW_REPLIES)


def loses_the_reply(call: str, peer: ScriptedPeer, _: Moments) -> None:
    """The connection breaks, while the peer carries the call out; the next connection is good."""
    peer.happens[call] = lambda _: peer.network.cut()


def answers_late(call: str, peer: ScriptedPeer, _: Moments) -> None:
    """Not before it has been asked again."""

    def wait(_: grpc.ServicerContext) -> None:
        while len(peer.calls(call)) < 2 and not peer.over.wait(0.01):
            pass

    peer.happens[call] = wait


def is_slow(call: str, peer: ScriptedPeer, _: Moments) -> None:
    """From this call on all that it says arrives too late."""
    peer.happens[call] = lambda _: peer.network.set(delay_replies(LATE))


def says_not_now(call: str, peer: ScriptedPeer, _: Moments) -> None:
    def say(context: grpc.ServicerContext) -> None:
        status = Status(code=grpc.StatusCode.UNAVAILABLE.value[0])
        status.details.add().Pack(ErrorInfo(reason="STOPPING", domain="cosched"))
        context.set_trailing_metadata([("grpc-status-details-bin", status.SerializeToString())])
        context.abort(grpc.StatusCode.UNAVAILABLE, "stopping")

    peer.happens[call] = say


def denies(call: str, peer: ScriptedPeer, _: Moments) -> None:
    peer.happens[call] = lambda context: context.abort(grpc.StatusCode.PERMISSION_DENIED, "who are you?")


def gone_after(call: str, peer: ScriptedPeer, moments: Moments) -> None:
    moments.after(call, peer, REFUSE)


# The table

FAULTS = {
    refused_before: (Outcome(ALONE, 0, 0), Outcome(ALONE, 0, 0)),
    silent_before: (Outcome(ALONE, 0, 0), Outcome(ALONE, 0, 0)),
    dies_during: (Outcome(ALONE, 1, 0), Outcome(ALONE, 1, 1)),
    never_answers: (Outcome(ALONE, 1, 0), Outcome(ALONE, 1, 1)),
    loses_the_reply: (Outcome("together", 2, 0), Outcome("together", 2, 1)),
    answers_late: (Outcome("together", 2, 0), Outcome("together", 2, 1)),  # it is alive, and asked again
    is_slow: (Outcome(ALONE, 1, 0), Outcome(ALONE, 1, 1)),
    says_not_now: (Outcome(ALONE, 1, 0), Outcome(ALONE, 1, 1)),
    denies: (Outcome("holding: PeerRefused", 1, 0), Outcome("holding: PeerRefused", 1, 1)),
    gone_after: (Outcome(ALONE, 1, 0), Outcome("together", 1, 1)),
}  # what becomes of a question, and of an order
CASES = [(call, fault) for call in (*QUESTIONS, *ORDERS) for fault in FAULTS]


def expected(call: str, fault: Callable[..., None]) -> Outcome:
    return FAULTS[fault][call in ORDERS]


@pytest.fixture
def peers() -> Iterator[dict[tuple[str, str], ScriptedPeer]]:
    """One for each case."""
    with ExitStack() as stack:
        yield {
            (call, fault.__name__): stack.enter_context(ScriptedPeer(f"{call}-{fault.__name__}"))
            for call, fault in CASES
        }


def test_every_call_and_every_fault_end_as_the_protocol_says(make_service, peers):
    service = a_service(make_service, peers.values(), peer_timeout=TIMEOUT, peer_patience=PATIENCE).start()
    moments = Moments(service)
    with service.client() as client:
        jobs = {case: submit(service, client, peer) for case, peer in peers.items()}
        for (call, fault), (case, peer) in zip(CASES, peers.items(), strict=True):
            peer.answers["GetMateStatus"] = HOLDING if call == "StartJob" else QUEUING
            peer.asked.clear()
            fault(call, peer, moments)
            client.release(jobs[case])
            moments.wait()
        wait_until(lambda: all(is_settled(client, job) for job in jobs.values()), "all are settled")
        outcomes = {case: outcome(client, jobs[case], *case, peer) for case, peer in peers.items()}
    assert outcomes == {(call, fault.__name__): expected(call, fault) for call, fault in CASES}
    assert len(noted(service.folder)) == len({job for _, job, _, _ in noted(service.folder)})


@pytest.mark.parametrize(
    ("choice", "waits"), [("hold", "held"), pytest.param("yield", "yielded", marks=pytest.mark.soak)]
)
def test_a_job_waits_for_a_lost_peer_where_that_is_configured(make_service, choice, waits):
    troubles = {"GetMateJobId": silent_before, "GetMateStatus": dies_during, "TryStartMate": dies_during,
                "StartJob": refused_before}  # fmt: skip
    with ExitStack() as stack:
        peers = {call: stack.enter_context(ScriptedPeer(call)) for call in troubles}
        impatient = {"peer_timeout": 1.5, "peer_patience": 3, "release_interval": 2}  # a call too many changes nothing
        service = a_service(make_service, peers.values(), on_peer_unreachable=choice, **impatient).start()
        moments = Moments(service)
        with service.client() as client:
            jobs = [submit(service, client, peer) for peer in peers.values()]
            for (call, fault), job in zip(troubles.items(), jobs, strict=True):
                peers[call].answers["GetMateStatus"] = HOLDING if call == "StartJob" else QUEUING
                fault(call, peers[call], moments)
                client.release(job)
                moments.wait()
            for job in jobs:
                wait_until(lambda job=job: ALONE in whys(client, job, waits), "it waits")
            assert noted(service.folder) == []
            for peer in peers.values():
                peer.network.set(PASS)
            wait_until(lambda: all(client.job(job).state == "completed" for job in jobs), "all have started")
            assert all(whys(client, job, "started")[0] in TOGETHER for job in jobs)
        assert len(noted(service.folder)) == len(jobs)
