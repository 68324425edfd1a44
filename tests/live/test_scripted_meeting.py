"""A service that meets, with scripted peers: it is killed at the very step that is meant, or they know no slots.

Its job is in a group with those of two peers, or is the mate of one.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from cosched.v1 import coscheduling_pb2 as wire
from tests.live.scripted_peer import MATE, ScriptedPeer
from tests.live.services import PATIENCE, Service, noted, script_that_notes, wait_until, whys
from tests.tiers import soaked

NOT_YET = wire.TryStartMateResponse(may_book=True)


class Meeting:
    """A service that meets, and its peers, whose jobs cannot start before the slot, 2 s after the question.

    `kills`: at which message to them the service is killed, before the answer; once.
    """

    def __init__(self, service: Service, peers: dict[str, ScriptedPeer], kills: Callable[[Any], bool]) -> None:
        self.service, self.peers = service, peers
        self.slot = 0
        self._kills: Callable[[Any], bool] | None = kills
        self._submitted = threading.Event()  # and its user knows: it is not killed before
        for peer in peers.values():
            peer.answers |= {
                "TryStartMate": NOT_YET,
                "ProposeGroupStart": self._proposed,
                "SettleGroupStart": self._settled,
                "GetProposal": wire.GetProposalResponse(outcome=wire.PROPOSAL_OUTCOME_UNKNOWN),
            }
        with service.client() as client:
            script = script_that_notes(service.folder)
            named = {"group": "g", "members": [*peers]} if len(peers) > 1 else {"mate": f"b:{MATE}"}
            self.job = client.submit(script, time_limit=5, **named)
        self._submitted.set()

    def _may_kill(self, message: Any) -> None:
        if self._kills is not None and self._kills(message):
            self._kills = None
            self._submitted.wait(PATIENCE)
            self.service.process.send_signal(signal.SIGKILL)

    def _proposed(self, message: wire.ProposeGroupStartRequest) -> wire.ProposeGroupStartResponse:
        self._may_kill(message)
        if not message.HasField("not_before"):
            return wire.ProposeGroupStartResponse(vote=vote(bool(message.slot_name)))
        self.slot = self.slot or message.not_before.seconds + 2
        at = max(self.slot, message.not_before.seconds)
        booked = message.book and at == message.not_before.seconds
        return wire.ProposeGroupStartResponse(vote=vote(booked), earliest=Timestamp(seconds=at))

    def _settled(self, message: wire.SettleGroupStartRequest) -> wire.SettleGroupStartResponse:
        self._may_kill(message)
        return wire.SettleGroupStartResponse(current=True)

    def starts(self, peer: str) -> set[str]:
        """The proposals by which the member of this peer has been told to start."""
        return {message.request_id for message in self.peers[peer].calls("SettleGroupStart") if message.start}


def vote(booked: bool) -> wire.GroupVote:
    return wire.GROUP_VOTE_BOOKED if booked else wire.GROUP_VOTE_NO


PHASES: dict[str, Callable[[Any], bool]] = {
    "it asks": lambda message: bool(getattr(message, "HasField", bool)("lease") and message.HasField("not_before")),
    "it books": lambda message: getattr(message, "book", False),
    "it keeps": lambda message: getattr(message, "keep", False),
    "the slot has come": lambda message: bool(getattr(message, "slot_name", "")) and not message.book,
    "all start": lambda message: getattr(message, "start", False),
}


@pytest.fixture
def make_meeting(make_service) -> Iterator:
    with ScriptedPeer("b", groups=True) as b, ScriptedPeer("c", groups=True) as c:

        def make(names: str, kills: Callable[[Any], bool]) -> Meeting:
            service = make_service("a", scheme="meet", heartbeat_interval=0)
            peers = {name: peer for name, peer in (("b", b), ("c", c)) if name in names}
            for name, peer in peers.items():
                service.add_peer(name, peer.address)
            return Meeting(service.start(), peers, kills)

        yield make


@pytest.mark.parametrize("case", soaked([("b", "all start"), *product(["b", "bc"], PHASES)], 1), ids=" ".join)
def test_a_service_that_is_killed_in_any_phase_starts_its_job_once_and_by_one_proposal(make_meeting, case):
    names, phase = case
    made = make_meeting(names, PHASES[phase])
    assert made.service.process.wait(60) == -signal.SIGKILL
    assert noted(made.service.folder) == [] or phase == "all start"
    made.service.start()
    with made.service.client() as client:
        wait_until(lambda: client.job(made.job).state == "completed", "it starts")
    assert len(noted(made.service.folder)) == 1
    assert whys(made.service, made.job) == ["at its slot"]
    wait_until(lambda: all(made.starts(name) for name in names), "the others are told")
    (starts,) = {frozenset(made.starts(name)) for name in names}
    assert len(starts) == 1, "of one proposal"


def test_a_job_starts_at_its_slot_by_the_answer_of_its_mate_s_domain(make_meeting):
    made = make_meeting("b", lambda _: False)
    with made.service.client() as client:
        wait_until(lambda: client.job(made.job).state == "completed", "it starts")
    ((_, _, _, at),) = noted(made.service.folder)
    assert at >= made.slot
    assert whys(made.service, made.job) == ["at its slot"]
    peer = made.peers["b"]
    *asked, start = peer.calls("ProposeGroupStart")
    first, second, *earlier = asked
    assert (first.slot_name, second.slot_name, first.book, second.book) == ("", "", True, True)
    assert all(message.slot_name == second.request_id for message in (*earlier, start))
    assert all(message.only_before == second.not_before for message in earlier)
    kept, settled = peer.calls("SettleGroupStart")
    assert (kept.request_id, kept.keep) == (second.request_id, True)
    assert (settled.request_id, settled.start) == (start.request_id, True)
    assert peer.calls("StartJob") == []


@pytest.mark.parametrize("not_yet", [wire.TryStartMateResponse(), NOT_YET], ids=["without slots", "without the calls"])
def test_a_peer_that_cannot_agree_on_slots_is_asked_as_ever_and_nothing_starts_alone(make_service, not_yet):
    """If it said that its mate may have a slot, UNIMPLEMENTED would be a refusal, not a fault."""
    with ScriptedPeer("b") as peer:
        peer.answers["TryStartMate"] = not_yet
        service = make_service("a", scheme="meet")
        service.add_peer("b", peer.address)
        with service.start().client() as client:
            job = client.submit(script_that_notes(service.folder), mate=f"b:{MATE}", time_limit=5)
            wait_until(lambda: len(peer.calls("TryStartMate")) > 1, "it asks again and again")
            shown = client.job(job)
            assert (shown.state, shown.slot) in (("queued", None), ("ready", None))
            assert not list(client.events(after=0, jobs=[job], kinds=["warning", "slot"], until_now=True))
            assert noted(service.folder) == []
            assert [view.state for view in client.domain().peers] == ["reachable"]
            peer.answers["TryStartMate"] = wire.TryStartMateResponse(started=True)
            wait_until(lambda: client.job(job).state == "completed", "it starts with its mate")
        assert whys(service, job) == ["its mate could start"]
        assert "PeerRefused" not in service.log
        assert "ProposeGroupStart to b" not in service.log
