"""How a call between domains is written and read: what all calls have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from cosched.core.events import Asked
from cosched.core.protocol import Domain, Reply, Request
from cosched.service.wire.fields import MAX_REQUEST_ID, check_job, check_job_of, check_text
from cosched.service.wire.message_parts import Fields
from cosched.v1.coscheduling_pb2 import JobRef

_Request = TypeVar("_Request", bound=Request)
_Reply = TypeVar("_Reply", bound=Reply)
_Message = TypeVar("_Message", bound=Message)
_Response = TypeVar("_Response", bound=Message)


@dataclass(frozen=True, slots=True)
class CallOnWire(Generic[_Request, _Message, _Reply, _Response]):
    """One call and its answer; what reads or checks raises FieldError.

    A request has, first, what names the call and its jobs: `caller` alone; `job` and `caller`; or `request_id`, `job`
    and `caller`. That is written and read here, and all else by the functions.
    """

    request: type[_Request]
    message: type[_Message]
    response: type[_Response]
    write: Callable[[_Request, Domain], Fields]  # for that peer
    read: Callable[[_Message, Domain, Domain], Sequence[Any]]  # by the first domain, of the second one; in order
    write_reply: Callable[[_Reply, Domain], Fields]  # that domain is called
    read_reply: Callable[[_Response, Domain], _Reply]  # of that domain
    check: Callable[[_Request, _Reply], None] = lambda *_: None  # whether the answer is one to this request

    @property
    def name(self) -> str:
        """The call's name in the protocol."""
        return self.request.__name__

    def write_request(self, request: Any, here: Domain, peer: Domain) -> _Message:
        """Return the message for a request to a peer."""
        named: Fields = {"job": JobRef(domain=here, job_id=request.caller)}
        if "job" in request._fields:
            named = {"job": JobRef(domain=peer, job_id=request.job), "caller": named["job"]}
        if "request_id" in request._fields:
            named["request_id"] = request.request_id
        message: _Message = self.message(**named, **self.write(request, peer))
        return message

    def read_request(self, message: Any, here: Domain) -> Asked:
        """Return a peer's request to this domain, and the peer that the message names."""
        kind: Any = self.request
        if "job" not in kind._fields:
            peer, caller = check_job("job", message.job)
            return Asked(peer, kind(caller, *self.read(message, here, peer)))
        ids = [check_job_of("job", message.job, here)]
        peer, caller = check_job("caller", message.caller)
        if "request_id" in kind._fields:
            ids.insert(0, check_text("request_id", message.request_id, MAX_REQUEST_ID))
        return Asked(peer, kind(*ids, caller, *self.read(message, here, peer)))

    def answer(self, reply: Any, domain: Domain) -> _Response:
        """Return the message for a reply; a mate that it names is a job of `domain`."""
        response: _Response = self.response(**self.write_reply(reply, domain))
        return response
