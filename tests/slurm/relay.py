"""Between two services: passes each call on to the real peer, and lets things happen just before and just after it."""

from collections.abc import Callable

import grpc

from deploy.lab.service import Sections
from deploy.slurm.lab import CoupledLab, Domain
from tests.live import scripted_peer
from tests.live.scripted_peer import ScriptedPeer

REQUESTS = scripted_peer.REQUESTS | scripted_peer.OF_GROUPS
CALLS = (*REQUESTS, "CompareClocks")
PATIENCE = 60.0  # seconds
BEFORE, AFTER = "before", "after"
Happening = Callable[[str, str, str], None]


class Relay(ScriptedPeer):
    """Stands for the domain `name`, whose service is at `target`.

    `happening` is called BEFORE a call is passed on, and AFTER its answer has come, which is told when it returns; with
    one of these words, the call's name, and the id of the job that calls.
    """

    def __init__(self, name: str) -> None:
        self.target = ""
        self.happening: Happening = _nothing
        super().__init__(name, callers=32)

    def _handlers(self) -> grpc.GenericRpcHandler:
        handlers = {name: grpc.unary_unary_rpc_method_handler(self._passer(name)) for name in CALLS}
        return grpc.method_handlers_generic_handler("cosched.v1.CoschedulingService", handlers)

    def _passer(self, name: str) -> Callable[[bytes, grpc.ServicerContext], bytes]:
        def pass_on(message: bytes, context: grpc.ServicerContext) -> bytes:
            caller = _caller(name, message)
            self.happening(BEFORE, name, caller)
            try:
                with grpc.insecure_channel(self.target) as channel:
                    call = channel.unary_unary(f"/cosched.v1.CoschedulingService/{name}")
                    answer: bytes = call(message, timeout=PATIENCE)
            except grpc.RpcError as error:
                context.set_trailing_metadata(error.trailing_metadata() or ())
                context.abort(error.code(), error.details())
            self.happening(AFTER, name, caller)
            return answer

        return pass_on


def _caller(name: str, message: bytes) -> str:
    """The job that calls; none compares clocks."""
    if name not in REQUESTS:
        return ""
    request = REQUESTS[name].FromString(message)
    return str((request.job if name in ("GetMateJobId", "GetMember") else request.caller).job_id)


class RelayedLab(CoupledLab):
    """A coupled laboratory whose services reach each other by relays, `relays[name]` the domain `name`."""

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


def _nothing(*_: str) -> None:
    pass
