"""A peer that speaks a newer minor version of the protocol: what is new in it is ignored, or refused; never guessed."""

import grpc
import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from cosched.client import Job
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from tests.live.scripted_peer import HOLDING, QUEUING, ScriptedPeer
from tests.live.services import PATIENCE, Service, noted, script_that_notes, wait_until, whys

START_AT, GROUP, OTHER = 10, 11, 1000  # fields: the first two are kept for what is to come
NEW_VALUE = 77  # of an enum


def field(number: int, value: Message) -> bytes:
    """A field with a message, as it is encoded."""
    data = value.SerializeToString()
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


NEWS = (
    field(START_AT, Timestamp(seconds=4_000_000_000))
    + field(GROUP, wire.JobRef(domain="c", job_id="1"))
    + field(GROUP, wire.JobRef(domain="d", job_id="2"))
    + field(OTHER, wire.JobRef(domain="e"))
)


def newer(message: Message) -> Message:
    """The same with fields that no version knows yet."""
    made = type(message).FromString(message.SerializeToString() + NEWS)
    assert made.SerializeToString() == message.SerializeToString() + NEWS
    return made


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The domain a, which holds, and its peer, the domain b, with one job."""
    settings = {"scheme": "hold", "release_interval": "1s", "release_jitter": 0, "heartbeat_interval": 0}
    with ScriptedPeer("b") as peer, Service(tmp_path_factory.mktemp("newer") / "a", "a") as service:
        service.config["coscheduling"] |= settings
        service.add_peer("b", peer.address)
        yield service.start(), peer, dict(peer.answers)


@pytest.fixture
def service(both) -> Service:
    return both[0]


@pytest.fixture
def peer(both) -> ScriptedPeer:
    """It answers as usual at first."""
    both[1].asked.clear()
    both[1].answers = dict(both[2])
    return both[1]


def runs(service: Service, job: Job) -> int:
    """How often it ran."""
    return sum(start[1] == job.id for start in noted(service.folder))


# Its answers


@pytest.mark.parametrize(
    ("status", "why"), [(HOLDING, "its holding mate started"), (QUEUING, "its mate could start")], ids=["hold", "queue"]
)
def test_new_fields_in_answers_are_ignored(service, peer, status, why):
    peer.answers["GetMateStatus"] = status
    peer.answers = {name: newer(message) for name, message in peer.answers.items()}
    with service.client() as client:
        job = client.submit(script_that_notes(service.folder), pair="p")
        wait_until(lambda: client.job(job).state == "completed", "it starts with its mate")
        assert whys(service, job) == [why]
    order = peer.calls("StartJob" if status is HOLDING else "TryStartMate")
    assert [message.job.job_id for message in order] == ["9"]


LOOKUPS = {"GetMateJobId": wire.GetMateJobIdResponse(lookup=NEW_VALUE)}
STATUSES = {"GetMateStatus": wire.GetMateStatusResponse(status=NEW_VALUE)}
NOTHING = {"GetMateStatus": wire.GetMateStatusResponse()}


@pytest.mark.parametrize("strange", [LOOKUPS, STATUSES, NOTHING], ids=["lookup", "status", "unspecified"])
def test_new_enum_values_are_refused_and_never_start_a_job_alone(service, peer, strange):
    usual = dict(peer.answers)
    peer.answers |= strange
    (call,) = strange
    with service.client() as client:
        job = client.submit(script_that_notes(service.folder), pair="p")
        wait_until(lambda: client.job(job).reason == "PeerRefused", "it waits")
        asked = len(peer.calls(call))
        wait_until(lambda: len(peer.calls(call)) > asked + 1, "it asks again and again")
        assert client.job(job).state in ("queued", "ready", "holding")
        assert list(client.events(after=0, jobs=[job], kinds=["warning"], until_now=True))
        assert runs(service, job) == 0
        peer.answers = usual
        wait_until(lambda: client.job(job).state == "completed", "it starts with its mate as soon as that is possible")
        assert whys(service, job) == ["its mate could start"]
    assert "breaks the protocol" in service.log


# What it asks


@pytest.fixture
def stub(service):
    """The service as its peer calls it."""
    with grpc.insecure_channel(service.address) as channel:
        yield CoschedulingServiceStub(channel)


def test_new_fields_in_requests_are_ignored(service, peer, stub):
    peer.answers["GetMateJobId"] = wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_UNSUBMITTED)
    with service.client() as client:
        jobs = [client.submit(script_that_notes(service.folder), pair=name, nodes=2) for name in ("held", "queued")]
        wait_until(lambda: client.job(jobs[0]).state == "holding", "the first holds")
        wait_until(lambda: client.job(jobs[1]).reason == "HeldCap", "the second waits")
        for number, (name, job) in enumerate(zip(("held", "queued"), jobs, strict=True), 1):
            caller, ref = wire.JobRef(domain="b", job_id=str(number)), wire.JobRef(domain="a", job_id=job.id)
            found = stub.GetMateJobId(newer(wire.GetMateJobIdRequest(job=caller, pair=name, owner=job.owner)))
            assert found == wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_FOUND, mate=ref)
            status = stub.GetMateStatus(newer(wire.GetMateStatusRequest(job=ref, caller=caller)))
            assert status.status in (wire.MATE_STATUS_HOLDING, wire.MATE_STATUS_QUEUING)
            order = {"request_id": f"b/{number}/1", "job": ref, "caller": caller}
            started = stub.TryStartMate(newer(wire.TryStartMateRequest(**order)))
            assert started == wire.TryStartMateResponse(started=True)
            order |= {"request_id": f"b/{number}/2", "hold_generation": 1}
            again = stub.StartJob(newer(wire.StartJobRequest(**order)))
            assert again == wire.StartJobResponse(started=True)  # and no agreed instant, of which it knows nothing
        wait_until(lambda: all(client.job(job).state == "completed" for job in jobs), "both have run")
        assert whys(service, *jobs) == ["asked by b"] * 2
    assert [runs(service, job) for job in jobs] == [1, 1]


@pytest.mark.parametrize(
    "method",
    [
        "cosched.v1.CoschedulingService/StartGroup",
        "cosched.v1.CoschedulingService/ProposeStart",  # by which older versions agreed on slots of pairs
        "cosched.v2.CoschedulingService/StartJob",
    ],
)
def test_calls_that_are_not_known_are_unimplemented(service, method):
    with grpc.insecure_channel(service.address) as channel:
        call = channel.unary_unary(f"/{method}", bytes, bytes)
        with pytest.raises(grpc.RpcError) as caught:
            call(NEWS, timeout=PATIENCE)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert service.is_serving()
