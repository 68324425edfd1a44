"""Messages between domains to protobuf messages and back, whatever the call."""

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message

from cosched.core.events import Asked
from cosched.core.protocol import Domain, Reply, Request
from cosched.service.wire.fields import FieldError
from cosched.service.wire.translation import CALLS, ON_WIRE

_OF_MESSAGE = {kind: call for call in CALLS for kind in (call.message, call.response)}


def write_request(request: Request, here: Domain, peer: Domain) -> Any:
    return ON_WIRE[type(request)].write_request(request, here, peer)


def read_request(message: Message, here: Domain) -> Asked:
    return _OF_MESSAGE[type(message)].read_request(message, here)


def refused(read: Callable[..., object], *of: object) -> str:
    """The field for which a message is refused."""
    with pytest.raises(FieldError) as caught:
        read(*of)
    assert caught.value.reason in ("INVALID_FIELD", "WRONG_DOMAIN")
    assert str(caught.value) == f"{caught.value.field}: {caught.value.problem}"
    return caught.value.field


def refused_field(message: Message) -> str:
    """That of a request to eureka."""
    return refused(read_request, message, "eureka")


def write_reply(call: type[Request], reply: Reply, domain: Domain) -> Any:
    return ON_WIRE[call].answer(reply, domain)


def read_reply(message: Message, peer: Domain) -> Reply:
    return _OF_MESSAGE[type(message)].read_reply(message, peer)


def check_answer(request: Request, reply: Reply) -> None:
    ON_WIRE[type(request)].check(request, reply)
