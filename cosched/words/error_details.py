"""The details of the API's errors: a google.rpc.ErrorInfo of the domain "cosched", in the trailing metadata."""

from __future__ import annotations

from collections.abc import Mapping

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

DOMAIN = "cosched"
DETAILS = "grpc-status-details-bin"


def error_info(error: grpc.RpcError) -> tuple[str, Mapping[str, str]] | None:
    """Return the reason and metadata of an error from a cosched service; None for any other error."""
    details = next((value for key, value in error.trailing_metadata() or () if key == DETAILS), b"")
    try:
        return next(filter(None, map(_ours, Status.FromString(details).details)), None)
    except DecodeError:  # not ours: a proxy's, for example
        return None


def _ours(detail: Any) -> tuple[str, Mapping[str, str]] | None:
    info = ErrorInfo()
    if not detail.Unpack(info) or info.domain != DOMAIN:
        return None
    return info.reason, dict(info.metadata)
