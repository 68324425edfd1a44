"""Errors of the API as google.rpc errors: a gRPC status code and an ErrorInfo of the domain "cosched"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from cosched.words.error_details import DETAILS, DOMAIN

MAX_MESSAGE = 500  # characters: it travels twice, in headers that have about 8 KB in all


class Refusal(Exception):  # noqa: N818  (the API's own word)
    """A call is answered by this error. Raise it anywhere below the servicers.

    `reason` is one of the protocol files' reasons, `message` is one line for people, `metadata` has the details that
    the protocol files promise for the reason.
    """

    def __init__(
        self, code: grpc.StatusCode, reason: str, message: str, metadata: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.metadata: Mapping[str, str] = metadata or {}


async def abort(context: grpc.aio.ServicerContext, refusal: Refusal) -> NoReturn:
    """End the call with this error, by an exception that ends the handler."""
    message = refusal.message[:MAX_MESSAGE]
    info = ErrorInfo(reason=refusal.reason, domain=DOMAIN, metadata=refusal.metadata)
    status = Status(code=refusal.code.value[0], message=message)
    status.details.add().Pack(info)
    await context.abort(refusal.code, message, ((DETAILS, status.SerializeToString()),))
    raise AssertionError("a call that was aborted goes on")
