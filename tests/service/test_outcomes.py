"""What an error is taken for, and how it is told; what comes over real connections is in test_peers."""

import pytest
from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata

from cosched.core.protocol import Failure
from cosched.service.peers.outcomes import MAX_PROBLEM, failure, is_lost

UNREACHABLE, TIMEOUT, REFUSED = Failure.UNREACHABLE, Failure.TIMEOUT, Failure.REFUSED
BUSY, SLOW = Failure.BUSY, Failure.SLOW


def error(code: StatusCode, reason: str = "", text: str = "", domain: str = "cosched", **metadata: str) -> AioRpcError:
    trailing = Metadata()
    if reason:
        detail = Any()
        detail.Pack(ErrorInfo(reason=reason, domain=domain, metadata=metadata))
        trailing.add("grpc-status-details-bin", Status(code=code.value[0], details=[detail]).SerializeToString())
    return AioRpcError(code, Metadata(), trailing, text)


@pytest.mark.parametrize(
    ("code", "reason", "question", "order"),
    [
        (StatusCode.PERMISSION_DENIED, "PEER_UNKNOWN", REFUSED, REFUSED),
        (StatusCode.PERMISSION_DENIED, "CALLER_NOT_PEER", REFUSED, REFUSED),
        (StatusCode.PERMISSION_DENIED, "", REFUSED, REFUSED),
        (StatusCode.PERMISSION_DENIED, "STALLED", REFUSED, REFUSED),  # the code decides
        (StatusCode.UNAUTHENTICATED, "", REFUSED, REFUSED),
        (StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", REFUSED, REFUSED),
        (StatusCode.INVALID_ARGUMENT, "WRONG_DOMAIN", REFUSED, REFUSED),
        (StatusCode.UNIMPLEMENTED, "", REFUSED, REFUSED),
        (StatusCode.NOT_FOUND, "", REFUSED, REFUSED),  # this, and those below, break the contract
        (StatusCode.ALREADY_EXISTS, "", REFUSED, REFUSED),
        (StatusCode.FAILED_PRECONDITION, "", REFUSED, REFUSED),
        (StatusCode.ABORTED, "", REFUSED, REFUSED),
        (StatusCode.OUT_OF_RANGE, "", REFUSED, REFUSED),
        (StatusCode.DATA_LOSS, "", REFUSED, REFUSED),
        (StatusCode.UNAVAILABLE, "STARTING", BUSY, BUSY),
        (StatusCode.UNAVAILABLE, "STOPPING", UNREACHABLE, UNREACHABLE),
        (StatusCode.UNAVAILABLE, "STALLED", BUSY, BUSY),
        (StatusCode.UNAVAILABLE, "", UNREACHABLE, TIMEOUT),
        (StatusCode.UNAVAILABLE, "SOMETHING_NEW", UNREACHABLE, TIMEOUT),
        (StatusCode.DEADLINE_EXCEEDED, "", UNREACHABLE, TIMEOUT),
        (StatusCode.INTERNAL, "INTERNAL", UNREACHABLE, TIMEOUT),
        (StatusCode.INTERNAL, "STALLED", UNREACHABLE, TIMEOUT),
        (StatusCode.UNKNOWN, "", UNREACHABLE, TIMEOUT),
        (StatusCode.CANCELLED, "", UNREACHABLE, TIMEOUT),
        (StatusCode.RESOURCE_EXHAUSTED, "", BUSY, SLOW),  # by gRPC itself, perhaps after it has begun
        (StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_CALLS", BUSY, BUSY),
    ],
)
def test_what_an_error_means_to_a_question_and_to_an_order(code, reason, question, order):
    assert failure(error(code, reason), mutating=False).failure is question
    assert failure(error(code, reason), mutating=True).failure is order


def test_a_reason_of_another_software_is_none() -> None:
    assert failure(error(StatusCode.UNAVAILABLE, "STALLED", domain="proxy"), mutating=True).failure is TIMEOUT


def test_a_call_is_lost_if_the_peer_has_said_nothing() -> None:
    assert is_lost(error(StatusCode.UNAVAILABLE))
    assert not is_lost(error(StatusCode.UNAVAILABLE, "STALLED"))
    assert not is_lost(error(StatusCode.DEADLINE_EXCEEDED))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            error(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", "must have 1 to 128 characters", field="job.job_id"),
            "INVALID_ARGUMENT INVALID_FIELD job.job_id: must have 1 to 128 characters",
        ),
        (error(StatusCode.UNAVAILABLE, "STALLED", "cannot write"), "UNAVAILABLE STALLED: cannot write"),
        (
            error(
                StatusCode.UNAVAILABLE,
                text="failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:77: Connection refused",
            ),
            "UNAVAILABLE: ipv4:10.0.0.1:77: Connection refused",
        ),
        (error(StatusCode.CANCELLED), "CANCELLED"),
        (error(StatusCode.UNKNOWN, text="two\nlines\x1b[31m\x00 and  more"), "UNKNOWN: two lines [31m and more"),
    ],
)
def test_the_problem_is_one_clean_line(given: AioRpcError, told: str) -> None:
    assert failure(given, mutating=False).problem == told


def test_a_long_problem_is_cut() -> None:
    assert len(failure(error(StatusCode.UNKNOWN, text="x" * 5000), mutating=False).problem) == MAX_PROBLEM
