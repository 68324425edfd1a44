"""A service is told to stop: it ends in order and soon, its jobs run on, and the next one finds them."""

import signal
import socket
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from cosched.v1 import domain_pb2 as wire
from cosched.v1.domain_pb2_grpc import DomainServiceStub
from tests.live.services import COMMAND, PATIENCE, Service, noted, script_that_waits, wait_until


@pytest.fixture
def service(make_service) -> Service:
    made = make_service("a")
    made.wrapper = COMMAND
    return made


@pytest.fixture
def notices(tmp_path, service):
    """The socket on which a service manager would hear of the service."""
    service.environment["NOTIFY_SOCKET"] = str(tmp_path / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(service.environment["NOTIFY_SOCKET"])
        listener.settimeout(PATIENCE)
        yield listener


def heard(notices: socket.socket) -> str:
    """What is said next, but for what a start does."""
    while (said := notices.recv(200).decode()).startswith("STATUS="):
        pass
    return said


def watch(service: Service, seen: list[str]) -> grpc.StatusCode:
    """Watch to the end of the stream, and add what happened to `seen`: how the stream ended."""
    with grpc.insecure_channel(service.socket) as channel:
        try:
            for answer in DomainServiceStub(channel).WatchEvents(wire.WatchEventsRequest(after_sequence=0)):
                seen.append(answer.event.text)
        except grpc.RpcError as error:
            return error.code()
    return grpc.StatusCode.OK


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)])
def test_a_stop_ends_streams_and_leaves_jobs(service, notices, number):
    go = service.folder / "go"
    service.start()
    assert heard(notices) == f"READY=1\nSTATUS=serving a on {service.address}"
    with service.client() as client, ThreadPoolExecutor(1) as pool:
        job = client.submit(script_that_waits(service.folder, go))
        seen: list[str] = []
        watching = pool.submit(watch, service, seen)
        wait_until(lambda: len(noted(service.folder)) == 1 and "submitted" in seen, "the job runs, as is seen")
        assert service.kill(number) == 0
        ended = watching.result(PATIENCE)
    assert heard(notices) == "STOPPING=1"
    assert ended is not grpc.StatusCode.DEADLINE_EXCEEDED
    assert not (service.folder / "sock").exists()
    service.start()
    assert heard(notices) == f"READY=1\nSTATUS=serving a on {service.address}"
    with service.client() as client:
        assert client.job(job).state == "running"
        go.touch()
        wait_until(lambda: client.job(job).state == "completed", "its end is seen")
    assert len(noted(service.folder)) == 1


def test_a_job_that_ends_while_its_service_is_stopped_is_not_lost(make_service):
    service = make_service("a")
    go = service.folder / "go"
    with service.start().client() as client:
        job = client.submit(script_that_waits(service.folder, go))
        wait_until(lambda: len(noted(service.folder)) == 1, "it runs")
    assert service.stop() == 0
    go.touch()
    spool = service.folder / "state.db.local" / "jobs" / job.id / "record.json"
    wait_until(lambda: '"how": "exited"' in spool.read_text(), "it has ended")
    with service.start().client() as client:
        assert client.job(job).state == "completed"
        assert client.job(job).exit_code == 0
    assert len(noted(service.folder)) == 1
