"""Errors of the API, through a real call: what the service refuses is what the client reads."""

import grpc
import pytest
from google.rpc.status_pb2 import Status

from cosched.service.wire.errors import MAX_MESSAGE, Refusal, abort
from cosched.v1.domain_pb2 import GetDomainRequest
from cosched.v1.domain_pb2_grpc import DomainServiceServicer, DomainServiceStub, add_DomainServiceServicer_to_server
from cosched.words.error_details import error_info
from tests.service.pki import running

REFUSAL = Refusal(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND", "no job Ü17", {"job_id": "17"})


async def answer(fail):
    """The error of a call whose handler does `fail(context)`."""

    class Servicer(DomainServiceServicer):
        async def GetDomain(self, request, context):  # noqa: N802, ARG002
            await fail(context)

    server = grpc.aio.server()
    add_DomainServiceServicer_to_server(Servicer(), server)
    async with running(server) as address, grpc.aio.insecure_channel(address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await DomainServiceStub(channel).GetDomain(GetDomainRequest(), timeout=600)
    return raised.value


async def test_a_refusal_arrives_whole_and_is_what_google_rpc_says_it_is():
    error = await answer(lambda context: abort(context, REFUSAL))
    assert (error.code(), error.details()) == (grpc.StatusCode.NOT_FOUND, "no job Ü17")
    assert error_info(error) == ("JOB_NOT_FOUND", {"job_id": "17"})
    status = Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    assert (status.code, status.message) == (grpc.StatusCode.NOT_FOUND.value[0], "no job Ü17")
    assert [detail.TypeName() for detail in status.details] == ["google.rpc.ErrorInfo"]


async def test_a_long_message_is_cut_so_that_it_arrives():
    long = Refusal(grpc.StatusCode.INTERNAL, "INTERNAL", "Ü" * 100_000)
    error = await answer(lambda context: abort(context, long))
    assert (error.code(), error.details()) == (grpc.StatusCode.INTERNAL, "Ü" * MAX_MESSAGE)
    assert error_info(error) == ("INTERNAL", {})


@pytest.mark.parametrize("details", [None, b"\xff", b""])
async def test_other_errors_and_somebody_else_s_details_have_no_reason(details):
    metadata = (("grpc-status-details-bin", details),) if details is not None else ()
    error = await answer(lambda context: context.abort(grpc.StatusCode.NOT_FOUND, "gone", metadata))
    assert error_info(error) is None
