"""Three services that meet: their groups start together, at slots too, and nobody holds; also if they are killed.

And one with scripted peers, so that the service is killed at the very step that is meant: with two, whose jobs are in a
group with its own, or with one, whose job is its job's mate.
"""

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from cosched.v1 import coscheduling_pb2 as wire
from tests.live.scripted_peer import MATE, ScriptedPeer
from tests.live.services import PATIENCE, Federation, Service, noted, script_that_notes, script_that_waits, wait_until
from tests.live.test_groups import DOMAINS, TOGETHER
from tests.live.test_meeting import LIMIT, LONG, NODES, NOT_YET, kill, whys
from tests.live.wall_clock import Clock
from tests.tiers import soaked


class Slot:
    """A job on each domain, and their slot: c's job is ready last, when another job has a's nodes.

    `ahead`: how far each domain's clock is ahead of the host's, in seconds. `limit`: of that other job.
    """

    def __init__(self, federation: Federation, ahead: dict[str, float] | None = None, limit: int = LIMIT) -> None:
        self.federation = federation
        self.services: dict[str, Service] = {service.name: service for service in federation.services}
        self.go = federation.folder / "go"
        self.jobs = {name: self._submitted(name) for name in DOMAINS[:2]}
        with self.services["a"].client() as client:
            client.submit(script_that_waits(federation.folder, self.go), nodes=NODES, time_limit=limit)
        wait_until(lambda: noted(federation.folder), "another one has the nodes")
        self.jobs["c"] = self._submitted("c", waits=False)
        wait_until(lambda: all(self.slots().values()), "they agree")
        instants = [at - (ahead or {}).get(name, 0.0) for name, at in self.slots().items() if at is not None]
        self.at = max(instants)
        assert self.at - min(instants) <= 1.0  # all are whole seconds

    def _submitted(self, name: str, *, waits: bool = True) -> Any:
        others = [other for other in DOMAINS if other != name]
        with self.services[name].client() as client:
            script = script_that_notes(self.federation.folder)
            job = client.submit(script, group="g", members=others, nodes=NODES, time_limit=5)
            if waits:
                wait_until(lambda: client.job(job).reason == "MateUnsubmitted", "it is ready, and yields")
        return job

    def slots(self) -> dict[str, float | None]:
        """When each member starts, by its domain's clock."""
        found = {}
        for name, job in self.jobs.items():
            with self.services[name].client() as client:
                slot = client.job(job).slot
                found[name] = slot.timestamp() if slot is not None else None
        return found

    def starts(self) -> dict[str, float]:
        """When each member has started, by domain; each once."""
        starts = [(domain, at) for domain, _, group, at in noted(self.federation.folder) if group == "g"]
        assert len(starts) == len(dict(starts))
        return dict(starts)

    def wait_for_starts(self) -> list[float]:
        """Of all, which are together, and as they say so; nobody has held."""
        wait_until(lambda: len(self.starts()) == len(DOMAINS), "all start")
        for name, job in self.jobs.items():
            assert all(why.startswith(TOGETHER) for why in whys(self.services[name], job))
            with self.services[name].client() as client:
                assert client.job(job).holds.holds == 0
            assert not self.services[name].faults()
        return sorted(self.starts().values())


def meeting(make_federation, **settings) -> Federation:
    return make_federation(DOMAINS, scheme="meet", **settings)


@pytest.mark.parametrize("killed", soaked(["abc", "", "a", "b", "c"], 1))
def test_a_group_waits_for_its_slot_and_holds_nothing(make_federation, killed):
    """Also if services are killed meanwhile."""
    slot = Slot(meeting(make_federation, peer_grace="2m").start())
    told = slot.services["c"].run("show", slot.jobs["c"].id).stdout
    assert re.search(r"has a slot at [-0-9: UTC]+ with its group$", told, re.M)
    for name in killed:
        slot.services[name].kill()
    for name in killed:
        slot.services[name].start()
    assert slot.wait_for_starts()[0] >= slot.at - 1.0  # the other one has run until its limit


@pytest.mark.soak
def test_a_group_starts_before_its_slot_if_all_can(make_federation):
    slot = Slot(meeting(make_federation).start(), limit=LONG)
    slot.go.touch()
    assert slot.wait_for_starts()[-1] < slot.at


@pytest.mark.soak
def test_members_have_no_slot_any_more_if_one_is_cancelled_and_the_others_start_without(make_federation):
    slot = Slot(meeting(make_federation).start())
    with slot.services["b"].client() as client:
        client.cancel(slot.jobs.pop("b"))
    wait_until(lambda: len(slot.starts()) == 2, "the others start")
    assert slot.starts().keys() == {"a", "c"}


@pytest.mark.soak
@pytest.mark.parametrize("away", DOMAINS)
def test_a_domain_that_is_away_at_the_slot_is_waited_for(make_federation, away):
    slot = Slot(meeting(make_federation, peer_grace="2m").start())
    slot.services[away].kill()
    time.sleep(max(0.0, slot.at + 3 - time.time()))
    assert slot.starts() == {}
    slot.services[away].start()
    slot.wait_for_starts()


@pytest.mark.soak
def test_members_start_at_their_slot_together_though_the_clocks_are_apart(make_federation):
    ahead = {"a": 600.4, "b": -300.3, "c": 0.0}
    federation = meeting(make_federation)
    for service in federation.services:
        Clock(service).set(ahead[service.name])
    federation.start()
    for service in federation.services:
        for other in DOMAINS.replace(service.name, ""):
            apart = ahead[other] - ahead[service.name]
            wait_until(lambda service=service, apart=apart, other=other: knows(service, other, apart), "clocks")
    slot = Slot(federation, ahead)
    assert slot.wait_for_starts()[0] >= slot.at - 1.0


def knows(service: Service, peer: str, ahead: float) -> bool:
    """Whether the service knows how far its peer's clock is ahead of its own."""
    with service.client() as client:
        (offset,) = [view.clock_offset for view in client.domain().peers if view.name == peer]
    return offset is not None and abs(offset.total_seconds() - ahead) < 0.3


# A service and scripted peers


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
            kill(self.service)

    def _proposed(self, message: wire.ProposeGroupStartRequest) -> wire.ProposeGroupStartResponse:
        self._may_kill(message)
        if not message.HasField("not_before"):
            booked = bool(message.slot_name)
            return wire.ProposeGroupStartResponse(vote=wire.GROUP_VOTE_BOOKED if booked else wire.GROUP_VOTE_NO)
        self.slot = self.slot or message.not_before.seconds + 2
        at = max(self.slot, message.not_before.seconds)
        booked = message.book and at == message.not_before.seconds
        vote = wire.GROUP_VOTE_BOOKED if booked else wire.GROUP_VOTE_NO
        return wire.ProposeGroupStartResponse(vote=vote, earliest=Timestamp(seconds=at))

    def _settled(self, message: wire.SettleGroupStartRequest) -> wire.SettleGroupStartResponse:
        self._may_kill(message)
        return wire.SettleGroupStartResponse(current=True)

    def starts(self, peer: str) -> set[str]:
        """The proposals by which the member of this peer has been told to start."""
        return {message.request_id for message in self.peers[peer].calls("SettleGroupStart") if message.start}


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
    assert made.service.process is not None
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
