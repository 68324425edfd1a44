"""The client's exceptions."""

from __future__ import annotations

from collections.abc import Mapping

import grpc

from cosched.words.error_details import error_info

# There was no answer, or "not now; nothing was done". The same call may succeed later.
_NO_ANSWER = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}
_NO_TOKEN = "Getting metadata from plugin failed with error: "  # of gRPC: the call was not made
_NOT_NOW = {"STARTING", "STOPPING", "STALLED", "WATCHER_TOO_SLOW"}


class ClientError(Exception):
    """A call failed. `str()` is one line for people.

    `reason` is one of those listed in domain.proto (`NOT_OWNER`, `JOB_NOT_FOUND`, ...), or the name of the gRPC status
    code if the domain gave none; `metadata` holds the details, such as `field`, `state` or `job_id`.
    """

    def __init__(self, reason: str, message: str, metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata: Mapping[str, str] = metadata or {}


class Unreachable(ClientError):  # noqa: N818
    """No attempt got an answer, or only "not now". It is unknown whether a change was made."""


class TlsProblem(Unreachable):
    """TLS keeps the domain out of reach: only one side uses it, or one does not trust the other's certificate."""


def client_error(error: grpc.RpcError, server: str) -> ClientError:
    """Return the exception for a failed call of `server`: Unreachable if the call may be repeated."""
    code, details = error.code(), error.details() or ""
    info = error_info(error)
    if info is not None:
        reason, metadata = info
        return (Unreachable if reason in _NOT_NOW else ClientError)(reason, details, metadata)
    if details.startswith(_NO_TOKEN):
        return ClientError("NO_TOKEN", details.removeprefix(_NO_TOKEN))
    if code not in _NO_ANSWER:
        return ClientError(code.name, details)
    problem = "no answer in time" if code is grpc.StatusCode.DEADLINE_EXCEEDED else details.split("error: ")[-1]
    return Unreachable(code.name, f"{server} cannot be reached: {problem}")
