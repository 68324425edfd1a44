"""Between two services: passes each call on to the real peer, and lets things happen just before and just after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from cosched.v1 import coscheduling_pb2 as wire
from deploy.slurm.lab import CoupledLab, Domain
from deploy.slurm.lab.service import Sections
from tests.live.scripted_peer import REQUESTS, ScriptedPeer

CALLS = {name: getattr(wire, f"{name}Response") for name in (*REQUESTS, "CompareClocks")}
PATIENCE = 20.0  # seconds
Happening = Callable[[], None]


class Relay(ScriptedPeer):
    """Stands for the domain `name`, whose service is at `target`.

    `before`, `after`: what happens (once) before a call is passed on, and when its answer is known but not told yet;
    neither for calls that cannot be passed on.
    """

    def __init__(self, name: str) -> None:
        self.target = ""
        self.before: dict[str, Happening] = {}
        self.after: dict[str, Happening] = {}
        super().__init__(name)

    def _handlers(self) -> grpc.GenericRpcHandler:
        handlers = {name: grpc.unary_unary_rpc_method_handler(self._passer(name)) for name in CALLS}
        return grpc.method_handlers_generic_handler("cosched.v1.CoschedulingService", handlers)

    def _passer(self, name: str) -> Callable[[bytes, grpc.ServicerContext], bytes]:
        def pass_on(message: bytes, context: grpc.ServicerContext) -> bytes:
            if name in REQUESTS:
                self.asked.append((name, REQUESTS[name].FromString(message)))
            self.before.pop(name, _nothing)()
            try:
                answer = self._call(name, message)
            except grpc.RpcError as error:
                context.set_trailing_metadata(error.trailing_metadata() or ())
                context.abort(error.code(), error.details())
            self.after.pop(name, _nothing)()
            return answer

        return pass_on

    def _call(self, name: str, message: bytes) -> Any:
        with grpc.insecure_channel(self.target) as channel:
            return channel.unary_unary(f"/cosched.v1.CoschedulingService/{name}")(message, timeout=PATIENCE)


class RelayedLab(CoupledLab):
    """A coupled laboratory whose services reach each other by relays: `relays[name]` is in front of the domain `name`."""

    relays: dict[str, Relay]

    def _sections(self, domain: Domain, scheme: str) -> Sections:
        sections = {**super()._sections(domain, scheme)}
        for peer in self:
            self.relays[peer.name].target = peer.address
        peers = (peer.name for peer in self if peer is not domain)
        return sections | {"peer": [{"name": peer, "address": self.relays[peer].address} for peer in peers]}

    def start(self) -> None:
        """As of a coupled laboratory."""
        self.relays = {name: Relay(name).__enter__() for name in self.lab.names}
        super().start()

    def stop(self) -> None:
        """As of a coupled laboratory."""
        super().stop()
        while self.relays:
            self.relays.popitem()[1].__exit__()


def _nothing() -> None:
    pass
