"""A gRPC client that knows nothing of this software, `buf curl`, learns all that it needs from the service itself."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.rpc.error_details_pb2 import ErrorInfo

from cosched.client import Client
from cosched.v1 import coscheduling_pb2, domain_pb2
from tests.live.services import PATIENCE, Service, script_that_notes, wait_until

BUF, TOUR = Path(sys.executable).with_name("buf"), Path(__file__).resolve().parents[2] / "docs" / "tour.md"
CALLS, USERS, *OTHERS, REFLECTION = (
    "cosched.v1.CoschedulingService",
    "cosched.v1.DomainService",
    "cosched.v1.ExplainService",
    "cosched.v1.MachinesService",
    "cosched.v1.PageService",
    "cosched.v1.RendezvousService",
    "cosched.v1.RunTimesService",
    "cosched.v1.UsageService",
    "grpc.reflection.v1alpha.ServerReflection",
)
INVALID_ARGUMENT, PERMISSION_DENIED = 3 << 3, 7 << 3  # as exit codes of `buf curl`


class World:
    """The service a, and a job of it that holds: the mate of b's job 7."""

    def __init__(self, service: Service, client: Client) -> None:
        self.service, self.client = service, client
        self.job = self.client.submit(script_that_notes(service.folder), mate="b:7").id
        wait_until(lambda: self.client.job(self.job).state == "holding")
        self.about_the_job = {"job": {"domain": "a", "job_id": self.job}, "caller": {"domain": "b", "job_id": "7"}}

    def buf(self, path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(BUF), "curl", "--protocol", "grpc", "--http2-prior-knowledge", *arguments]
        command.append(f"http://{self.service.address}{path}")
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def call(self, method: str, request: dict[str, Any], *arguments: str) -> dict[str, Any]:
        done = self.buf(f"/{method}", "-d", json.dumps(request), *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def error(self, method: str, request: dict[str, Any]) -> tuple[int, str, ErrorInfo]:
        """Exit code, message and ErrorInfo of a call that fails."""
        done = self.buf(f"/{method}", "-d", json.dumps(request))
        error = json.loads(done.stderr)
        [detail] = error["details"]
        assert detail["type"] == "google.rpc.ErrorInfo"
        return done.returncode, error["message"], ErrorInfo.FromString(base64.b64decode(detail["value"] + "=="))


@pytest.fixture
def world(make_service):
    service = make_service("a", on_peer_unreachable="hold", release_interval=0)
    service.add_peer("b", "127.0.0.1:1")
    with service.start().client() as client:
        yield World(service, client)


def test_it_lists_and_describes_what_there_is(world):
    listed = world.buf("", "--list-services").stdout
    assert listed in TOUR.read_text(encoding="utf-8")
    assert listed.split() == [CALLS, USERS, *OTHERS, "grpc.health.v1.Health", REFLECTION]
    methods = world.buf("", "--list-methods").stdout.split()
    for module, service in ((coscheduling_pb2, CALLS), (domain_pb2, USERS)):
        described = module.DESCRIPTOR.services_by_name[service.rpartition(".")[2]]
        assert {method.name for method in described.methods} == {
            name.rpartition("/")[2] for name in methods if name.startswith(service)
        }
    answer = world.call(f"{REFLECTION}/ServerReflectionInfo", {"file_containing_symbol": CALLS})
    files = answer["fileDescriptorResponse"]["fileDescriptorProto"]
    described = FileDescriptorProto.FromString(base64.b64decode(files[0]))
    assert described.name == coscheduling_pb2.DESCRIPTOR.name
    assert [field.name for message in described.message_type for field in message.field] == [
        field.name for message in coscheduling_pb2.DESCRIPTOR.message_types_by_name.values() for field in message.fields
    ]
    assert world.call("grpc.health.v1.Health/Check", {}) == {"status": "SERVING"}


def test_it_makes_each_of_the_four_calls(world):
    link = {"job": {"domain": "b", "job_id": "7"}, "owner": world.client.job(world.job).owner}
    found = {"lookup": "MATE_LOOKUP_FOUND", "mate": {"domain": "a", "jobId": world.job}}
    assert world.call(f"{CALLS}/GetMateJobId", link) == found
    holds = {"status": "MATE_STATUS_HOLDING", "holdGeneration": "1"}
    assert world.call(f"{CALLS}/GetMateStatus", world.about_the_job) == holds
    # Of an own job, as the proto file shows: grpcurl -d '{"job": {"domain": "intrepid", "job_id": "17"}}' ...
    found["mate"] = {"domain": "b", "jobId": "7"}
    assert world.call(f"{CALLS}/GetMateJobId", {"job": {"domain": "a", "job_id": world.job}}) == found
    order = {**world.about_the_job, "hold_generation": 99}
    assert world.call(f"{CALLS}/StartJob", {**order, "request_id": "b/7/1"}) == {}
    for _ in range(2):
        assert world.call(f"{CALLS}/TryStartMate", {**world.about_the_job, "request_id": "b/7/2"}) == {"started": True}
    wait_until(lambda: world.client.job(world.job).state == "completed")
    status = world.call(f"{CALLS}/GetMateStatus", world.about_the_job)
    assert status["status"] == "MATE_STATUS_ENDED"
    assert "startedAt" in status


def test_an_error_tells_it_what_is_wrong(world):
    code, message, info = world.error(f"{CALLS}/GetMateStatus", {"job": {"domain": "a", "job_id": world.job}})
    assert (code, message) == (INVALID_ARGUMENT, "caller: is missing")
    assert (info.reason, info.domain, info.metadata["field"]) == ("INVALID_FIELD", "cosched", "caller")
    code, _, info = world.error(f"{USERS}/CancelJob", {"request_id": "1", "job": {"job_id": world.job}})
    assert (code, info.reason) == (PERMISSION_DENIED, "USER_UNKNOWN")


def test_it_changes_something_through_the_unix_socket_as_the_user_that_it_runs_as(world):
    socket = ("--unix-socket", world.service.socket.removeprefix("unix:"))
    answer = world.call(f"{USERS}/CancelJob", {"request_id": "1", "job": {"job_id": world.job}}, *socket)
    assert answer["job"]["state"] == "JOB_STATE_CANCELLED"
    listed = world.call(f"{USERS}/ListJobs", {"states": ["JOB_STATE_UNSPECIFIED"]})
    assert [job["ref"]["jobId"] for job in listed["jobs"]] == [world.job]
