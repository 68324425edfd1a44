"""Whoever asks for much, or connects and says little, keeps neither other domains nor other users from being served."""

import os
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from cosched.service.api.quotas import STREAMS
from cosched.service.wire.tls_files import TlsFiles
from cosched.v1 import domain_pb2
from cosched.v1.domain_pb2_grpc import DomainServiceStub
from cosched.words.error_details import error_info
from tests.live import workloads
from tests.live.attacked import Peer, write_history
from tests.live.attacks import under_attack
from tests.live.other_users import a_public_folder, call_as, needs_root
from tests.live.secured import USERS, secure
from tests.live.services import COMMAND, Pair, Service, wait_until
from tests.service.pki import Pki

PAIRS, FEW, SLOTS, SEED = 50, 12, 6, 10  # few while attackers take all the processors, in the short tier
SMALL, BIG = 10_000, 300_000  # jobs of history, with five events each
NOBODY = "nobody" if os.geteuid() == 0 else None  # who attacks over the socket


class World:
    """A pair of domains, of which a has a history, and how they are attacked."""

    def __init__(self, pair: Pair, folder: Path, history: int, tls: bool) -> None:
        self.pair = workloads.set_up(pair, SLOTS, release_interval="2s", max_held_fraction=0.7)
        self.pki = Pki(folder / "pki") if tls else None
        for service, peer in ((pair.a, pair.b), (pair.b, pair.a)):
            service.config["domain"].update(log_level="info", http=service.listen_to_http())
            if self.pki is not None:
                self.pki.files(service.name)
                secure(service, self.pki.folder, [peer], user_identity=USERS)
        self.user: TlsFiles | None = self.pki.files("ann", user=True) if self.pki is not None else None
        pair.a.config["domain"]["socket"] = str(folder / "sock")
        pair.a.__class__ = _Elsewhere
        write_history(pair.a.folder / "state.db", history)
        pair.start()

    def attack(self, kind: str, where: str) -> Any:
        if where == "socket":
            return under_attack(kind, self.pair.a.socket, user=NOBODY)
        return under_attack(kind, self.pair.a.address, self.user)

    def check(self, history: int, pairs: int = FEW) -> None:
        """Run pairs, under attack: each starts together, and no call between the domains fails."""
        peer = Peer(self.pair.a, self.pki)
        with peer.asking():
            outcome = workloads.run(self.pair, workloads.contended(SEED, pairs, 0))
        assert outcome.states == Counter(completed=2 * pairs, cancelled=history)
        assert outcome.alone() == {}
        assert len(outcome.whys) == pairs
        assert set(peer.answers) == {"OK"}
        assert [failed for service in self.pair.both for failed in failed_calls(service)] == []


class _Elsewhere(Service):
    """A service whose socket everybody can reach."""

    @property
    def socket(self) -> str:
        return f"unix:{self.config['domain']['socket']}"


def failed_calls(service: Service) -> list[str]:
    """Its calls to peers that were not answered, by its metrics."""
    calls = [name for name in service.metrics() if name.startswith("cosched_peer_calls_total{")]
    assert calls, service.name
    return [name for name in calls if 'outcome="answered"' not in name]


@pytest.fixture
def make_world(make_pair):
    with a_public_folder() as folder:
        yield lambda history, *, tls: World(make_pair(scheme="hold"), folder, history, tls)


KINDS = ("history", "half_open")
WITH = [pytest.param(True, id="TLS"), pytest.param(False, marks=pytest.mark.soak, id="plaintext")]


@pytest.mark.parametrize("tls", WITH)
def test_pairs_start_together_while_both_ways_in_are_attacked(make_world, tls):
    world = make_world(SMALL, tls=tls)
    with ExitStack() as stack:
        for kind in KINDS:
            for where in ("socket", "address"):
                stack.enter_context(world.attack(kind, where))
        world.check(SMALL)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["socket", "plaintext", "TLS"])
def test_pairs_start_together_while_one_way_in_is_attacked_beside_a_long_history(make_world, where, kind):
    world = make_world(BIG, tls=where == "TLS")
    with world.attack(kind, where):
        world.check(BIG, PAIRS)


@pytest.mark.soak  # tests/service/test_connections.py has it in one process
def test_connections_that_say_nothing_take_no_call_and_fill_no_log(make_world):
    world = make_world(0, tls=False)
    world.pair.a.kill()
    world.pair.a.wrapper = ("bash", "-c", 'ulimit -n 1024; exec "$0" "$@"', *COMMAND)
    world.pair.a.start()
    with world.attack("silent", "address"):
        world.check(0)
    assert len(world.pair.a.log) < 100_000
    assert "xception" not in world.pair.a.log


@needs_root
def test_one_user_who_watches_very_often_denies_it_to_nobody_else(make_world):
    world = make_world(0, tls=False)
    with world.attack("watchers", "socket"):
        [other] = call_as("daemon", world.pair.a.socket, [("GetDomain", domain_pb2.GetDomainRequest())])
        assert other.code == "OK"
        with grpc.insecure_channel(world.pair.a.socket) as channel:
            watching = DomainServiceStub(channel).WatchEvents(domain_pb2.WatchEventsRequest(after_sequence=0))
            with world.pair.a.client() as client:
                client.submit("#!/bin/sh\n")
            assert next(watching).event.sequence == 1
    with grpc.insecure_channel(world.pair.a.address) as channel:
        stub = DomainServiceStub(channel)
        calls = [stub.WatchEvents(domain_pb2.WatchEventsRequest()) for _ in range(40)]
        wait_until(lambda: sum(call.done() for call in calls) == len(calls) - STREAMS.user, "as many as are too many")
        errors = [call for call in calls if call.done()]
    said = {(error.code().name, error_info(error)[0]) for error in errors}
    assert said == {("RESOURCE_EXHAUSTED", "TOO_MANY_WATCHERS")}
