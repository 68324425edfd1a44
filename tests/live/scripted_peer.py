"""A peer that answers as a test tells it: a real server of CoschedulingService, behind a network with faults."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import grpc
from google.protobuf.message import Message

from cosched.v1 import coscheduling_pb2 as wire
from tests.service.faulty_proxy import FaultyProxy

MATE = "9"  # its only job


def _requests(*names: str) -> dict[str, type[Message]]:
    return {name: getattr(wire, f"{name}Request") for name in names}


REQUESTS = _requests("GetMateJobId", "GetMateStatus", "TryStartMate", "StartJob")
OF_GROUPS = _requests("GetMember", "ProposeGroupStart", "SettleGroupStart", "GetProposal")
CLOCKS = _requests("CompareClocks")  # which also says that it takes members of groups
HOLDING = wire.GetMateStatusResponse(status=wire.MATE_STATUS_HOLDING, hold_generation=3)
QUEUING = wire.GetMateStatusResponse(status=wire.MATE_STATUS_QUEUING)

Happening = Callable[[grpc.ServicerContext], None]


class ScriptedPeer:
    """The domain `name` with one job, the mate of whoever asks; a service under test reaches it at `address`.

    `answers`: what each call is answered, or who tells that, given its message. `happens`: what happens when a call has
    arrived, before its answer is sent (once: it is taken out). `asked`: name and message of each call that arrived, in
    order.
    """

    def __init__(self, name: str, callers: int = 4, *, groups: bool = False) -> None:
        """`callers`: how many calls it answers at a time. Without `groups` it is of a version that has neither them nor
        slots.
        """
        self.name = name
        self.asked: list[tuple[str, Message]] = []
        self.happens: dict[str, Happening] = {}
        self.over = threading.Event()  # the test is: nobody waits for anything any more
        self._requests = REQUESTS | (OF_GROUPS | CLOCKS if groups else {})
        found, mate = wire.MATE_LOOKUP_FOUND, wire.JobRef(domain=name, job_id=MATE)
        self.answers: dict[str, Message | Callable[[Any], Message]] = {
            "GetMateJobId": wire.GetMateJobIdResponse(lookup=found, mate=mate),
            "GetMateStatus": wire.GetMateStatusResponse(status=wire.MATE_STATUS_QUEUING, may_book=groups),
            "GetMember": wire.GetMemberResponse(lookup=found, member=mate),
            "CompareClocks": wire.CompareClocksResponse(takes_groups=True),
            "TryStartMate": wire.TryStartMateResponse(started=True),
            "StartJob": wire.StartJobResponse(started=True),
        }
        self._threads = ThreadPoolExecutor(max_workers=callers)
        self._server = grpc.server(self._threads, options=[("grpc.so_reuseport", 0)])
        self._server.add_generic_rpc_handlers((self._handlers(),))
        self._proxy = FaultyProxy(f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}")

    def __enter__(self) -> Self:
        self._server.start()
        self.network = self._proxy.__enter__()
        self.address = self.network.address
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._proxy.__exit__()
        self._server.stop(None).wait()
        self._threads.shutdown()

    def calls(self, name: str) -> list[Message]:
        """The messages of all calls of that name that arrived."""
        return [message for call, message in self.asked if call == name]

    def _handlers(self) -> grpc.GenericRpcHandler:
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(self._answerer(name), request.FromString)
            for name, request in self._requests.items()
        }
        return grpc.method_handlers_generic_handler("cosched.v1.CoschedulingService", handlers)

    def _answerer(self, name: str) -> Callable[[Message, grpc.ServicerContext], bytes]:
        def answer(message: Message, context: grpc.ServicerContext) -> bytes:
            self.asked.append((name, message))
            if (happen := self.happens.pop(name, None)) is not None:
                happen(context)
            told = self.answers[name]
            return (told(message) if callable(told) else told).SerializeToString()

        return answer
