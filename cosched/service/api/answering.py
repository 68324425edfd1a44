"""Answers every call: counts and times it, and turns refusals into gRPC errors."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import grpc

from cosched.core.protocol import Domain
from cosched.schedulers.faults import blamed
from cosched.service.api.requests import Requests, UserRequest
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import StoreError
from cosched.service.wire.callers import Caller, Identify
from cosched.service.wire.errors import Refusal, abort
from cosched.service.wire.fields import MAX_REQUEST_ID, FieldError, check_text

Reply = TypeVar("Reply")
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_LOG = logging.getLogger(__name__)


class HasDomain(Protocol):
    """A gRPC service, or the parts that it uses."""

    @property
    def domain(self) -> LiveDomain:
        """The domain that is called."""


_Parts = TypeVar("_Parts", bound=HasDomain)
_Api = TypeVar("_Api", bound=HasDomain)
_Message = TypeVar("_Message")


class ApiFor(Generic[_Parts]):
    """What answers the calls of the callers of one listener, with the parts of a service that it uses."""

    def __init__(self, serving: _Parts, identify: Identify) -> None:
        self._serving = serving
        self.domain = serving.domain
        self._identify = identify


class ApiForPeers(ApiFor[_Parts]):
    """The same, also for other domains."""

    def __init__(self, serving: _Parts, identify: Identify, check_peer: Callable[[Caller, Domain], None]) -> None:
        """`check_peer`: Refusal if the caller does not speak for that peer."""
        super().__init__(serving, identify)
        self._check_peer = check_peer


Method: TypeAlias = Callable[[_Api, _Message, Context], Coroutine[Any, Any, Reply]]


def answered(work: Method[_Api, _Message, Reply], name: str = "") -> Method[_Api, _Message, Reply]:
    """Return a method of an API that answers the call of this name, its own if empty, or ends it by an error.

    What the reply shows of the domain is on disk by then, so that a power failure cannot undo it.
    """
    call = name or work.__name__

    @wraps(work)
    async def method(api: _Api, message: _Message, context: Context) -> Reply:
        metrics, durable, began = api.domain.metrics, api.domain.turns.durable, time.perf_counter()
        try:
            reply = await work(api, message, context)
            await durable()
        except (Refusal, FieldError, StoreError) as error:
            await durable()
            refusal = as_refusal(error)
        except Exception as error:
            _LOG.exception("a fault of the service, in %s", call)
            fault = blamed(error, api.domain.kind)
            said = f"internal error: see the log of {api.domain.name}" if fault is None else fault.short
            refusal = Refusal(grpc.StatusCode.INTERNAL, "INTERNAL", said)
        else:
            metrics.request(call, "OK", time.perf_counter() - began)
            return reply
        metrics.request(call, refusal.code.name, time.perf_counter() - began)
        return await abort(context, refusal)

    return method


@contextmanager
def requested(requests: Requests, caller: Caller, request: Any) -> Iterator[UserRequest]:
    """Yield who requests a change; what is wrong in the block with the fields of the request is audited."""
    user_request = UserRequest(caller, type(request).__name__.removesuffix("Request"), request.request_id)
    try:
        check_text("request_id", request.request_id, MAX_REQUEST_ID)
        yield user_request
    except FieldError as error:
        requests.refused(user_request, as_refusal(error))
        raise


def as_refusal(error: Refusal | FieldError | StoreError) -> Refusal:
    """Return the refusal that the caller gets for an error."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, FieldError):
        return Refusal(grpc.StatusCode.INVALID_ARGUMENT, error.reason, str(error), {"field": error.field})
    _LOG.error("the database: %s", error)
    return Refusal(grpc.StatusCode.INTERNAL, "INTERNAL", "the database cannot be read or written")
