"""Each of the four calls, and each way in which it can get no answer: what becomes of the job that asks.

The service under test is real; each of its peers is scripted, so that a fault hits the very call that is meant.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from cosched.client import Client, Job
from tests.live.scripted_peer import HOLDING, MATE, QUEUING, ScriptedPeer
from tests.live.services import Service, noted, script_that_notes, wait_until, whys
from tests.service.faulty_proxy import BLACK_HOLE, PASS, REFUSE, SWALLOW_REPLIES, Fault

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


def outcome(service: Service, client: Client, job: Job, call: str, fault: str, peer: ScriptedPeer) -> Outcome:
    now, arrived = client.job(job), peer.calls(call)
    ids = {message.request_id for message in arrived} if call in ORDERS else set()
    starts = whys(service, job)
    assert len(starts) == (now.state == "completed")
    became = starts[0] if starts else f"{now.state}: {now.reason}"
    asked = len(arrived)
    if call == "GetMateStatus":  # a running job asks, too, when its mate began; and so does who looks at a job
        asked = min(asked, expected(call, fault).arrived)
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
        tasks = Path(f"/proc/{self._service.process.pid}/task").glob("*/stat")
        try:
            return all(task.read_text().rpartition(")")[2].split()[0] == "T" for task in tasks)
        except (FileNotFoundError, ProcessLookupError):  # one has just ended: they are not stopped yet
            return False

    def _signal(self, number: int) -> None:
        os.kill(self._service.process.pid, number)


def _unread_from(address: str) -> int:
    """The bytes that have arrived from HOST:PORT (of this host) and have not been read."""
    port = f":{int(address.rpartition(':')[2]):04X}"
    tables = (Path(f"/proc/net/{table}").read_text() for table in ("tcp", "tcp6"))
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return max((int(row[4].partition(":")[2], 16) for row in rows if row[2].endswith(port)), default=0)


def ask_again(peer: ScriptedPeer, call: str) -> None:
    """Give no answer before it has been asked again."""
    while len(peer.calls(call)) < 2 and not peer.over.wait(0.01):
        pass


def say_not_now(context: grpc.ServicerContext) -> None:
    status = Status(code=grpc.StatusCode.UNAVAILABLE.value[0])
    status.details.add().Pack(ErrorInfo(reason="STOPPING", domain="cosched"))
    context.set_trailing_metadata([("grpc-status-details-bin", status.SerializeToString())])
    context.abort(grpc.StatusCode.UNAVAILABLE, "stopping")


# What happens at its peer when it has been asked.
HAPPENS: dict[str, Callable[[ScriptedPeer, str, grpc.ServicerContext], object]] = {
    "dies_during": lambda peer, *_: peer.network.set(REFUSE),
    "never_answers": lambda peer, *_: peer.network.set(SWALLOW_REPLIES),
    "loses_the_reply": lambda peer, *_: peer.network.cut(),  # and carries the call out; the next connection is good
    "answers_late": lambda peer, call, _: ask_again(peer, call),
    "is_slow": lambda peer, *_: peer.network.set(Fault(delay=LATE)),  # from this call on
    "says_not_now": lambda _, __, context: say_not_now(context),
    "denies": lambda _, __, context: context.abort(grpc.StatusCode.PERMISSION_DENIED, "who are you?"),
}


def let(fault: str, call: str, peer: ScriptedPeer, moments: Moments) -> None:
    """Have that go wrong with the call, once."""
    if fault == "gone_after":
        moments.after(call, peer, REFUSE)
    elif fault in HAPPENS:
        peer.happens[call] = partial(HAPPENS[fault], peer, call)
    else:
        moments.before(call, peer, {"refused_before": REFUSE, "silent_before": BLACK_HOLE}[fault])


# The table

FAULTS = {
    "refused_before": (Outcome(ALONE, 0, 0), Outcome(ALONE, 0, 0)),
    "silent_before": (Outcome(ALONE, 0, 0), Outcome(ALONE, 0, 0)),
    "dies_during": (Outcome(ALONE, 1, 0), Outcome(ALONE, 1, 1)),
    "never_answers": (Outcome(ALONE, 1, 0), Outcome(ALONE, 1, 1)),
    "loses_the_reply": (Outcome("together", 2, 0), Outcome("together", 2, 1)),
    "answers_late": (Outcome("together", 2, 0), Outcome("together", 2, 1)),  # it is alive, and asked again
    "is_slow": (Outcome(ALONE, 1, 0), Outcome(ALONE, 1, 1)),
    "says_not_now": (Outcome(ALONE, 1, 0), Outcome(ALONE, 1, 1)),
    "denies": (Outcome("holding: PeerRefused", 1, 0), Outcome("holding: PeerRefused", 1, 1)),
    "gone_after": (Outcome(ALONE, 1, 0), Outcome("together", 1, 1)),
}  # what becomes of a question, and of an order
CASES = [(call, fault) for call in (*QUESTIONS, *ORDERS) for fault in FAULTS]


def expected(call: str, fault: str) -> Outcome:
    return FAULTS[fault][call in ORDERS]


@pytest.fixture
def peers() -> Iterator[dict[tuple[str, str], ScriptedPeer]]:
    """One for each case."""
    with ExitStack() as stack:
        yield {(call, fault): stack.enter_context(ScriptedPeer(f"{call}-{fault}")) for call, fault in CASES}


def test_every_call_and_every_fault_end_as_the_protocol_says(make_service, peers):
    service = a_service(make_service, peers.values(), peer_timeout=TIMEOUT, peer_patience=PATIENCE).start()
    moments = Moments(service)
    with service.client() as client:
        jobs = {case: submit(service, client, peer) for case, peer in peers.items()}
        for (call, fault), peer in peers.items():
            peer.answers["GetMateStatus"] = HOLDING if call == "StartJob" else QUEUING
            peer.asked.clear()
            let(fault, call, peer, moments)
            client.release(jobs[call, fault])
            moments.wait()
        wait_until(lambda: all(is_settled(client, job) for job in jobs.values()), "all are settled")
        outcomes = {case: outcome(service, client, jobs[case], *case, peer) for case, peer in peers.items()}
    assert outcomes == {case: expected(*case) for case in CASES}
    assert len(noted(service.folder)) == len({job for _, job, _, _ in noted(service.folder)})


@pytest.mark.parametrize(
    ("choice", "waits"), [("hold", "held"), pytest.param("yield", "yielded", marks=pytest.mark.soak)]
)
def test_a_job_waits_for_a_lost_peer_where_that_is_configured(make_service, choice, waits):
    troubles = {"GetMateJobId": "silent_before", "GetMateStatus": "dies_during", "TryStartMate": "dies_during",
                "StartJob": "refused_before"}  # fmt: skip
    with ExitStack() as stack:
        peers = {call: stack.enter_context(ScriptedPeer(call)) for call in troubles}
        impatient = {"peer_timeout": 1.5, "peer_patience": 3, "release_interval": 2}  # a call too many changes nothing
        service = a_service(make_service, peers.values(), on_peer_unreachable=choice, **impatient).start()
        moments = Moments(service)
        with service.client() as client:
            jobs = [submit(service, client, peer) for peer in peers.values()]
            for (call, fault), job in zip(troubles.items(), jobs, strict=True):
                peers[call].answers["GetMateStatus"] = HOLDING if call == "StartJob" else QUEUING
                let(fault, call, peers[call], moments)
                client.release(job)
                moments.wait()
            for job in jobs:
                wait_until(lambda job=job: ALONE in whys(service, job, kind=waits), "it waits")
            assert noted(service.folder) == []
            for peer in peers.values():
                peer.network.set(PASS)
            wait_until(lambda: all(client.job(job).state == "completed" for job in jobs), "all have started")
            assert all(whys(service, job)[0] in TOGETHER for job in jobs)
        assert len(noted(service.folder)) == len(jobs)
