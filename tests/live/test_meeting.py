"""Two services that meet: their pairs start together, at slots too, and nobody holds; also if they are killed.

And one with a scripted peer, so that a slot comes, and the service is killed, at the very step that is meant.
"""

import re
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from cosched.client import Client, Job
from cosched.v1 import coscheduling_pb2 as wire
from tests.live.scripted_peer import MATE, ScriptedPeer
from tests.live.services import PATIENCE, Pair, Service, noted, script_that_notes, script_that_waits, wait_until
from tests.live.test_clock_offset import measures
from tests.live.wall_clock import Clock
from tests.tiers import soaked

LIMIT = 8  # seconds of the job for whose nodes a pair waits; a slot is when it has come to that
NODES = 4  # of each domain
LONG = 600  # the same, where no slot is to come in a test
TOGETHER = {"asked by a", "asked by b", "its mate could start", "its holding mate started", "at its slot"}
NOT_YET = wire.TryStartMateResponse(mate_ready=True)


def whys(service: Service, job: Job) -> list[str]:
    """Why it has started; once at most."""
    with service.client() as client:
        return [event.detail["why"] for event in client.events(after=0, jobs=[job], kinds=["started"], until_now=True)]


def last_slot(client: Client, job: Job) -> float | None:
    """The slot that the job was given last, also if that has come; None: none yet."""
    slots = [event.detail["slot"] for event in client.events(after=0, jobs=[job], kinds=["slot"], until_now=True)]
    return float(slots[-1]) if slots else None


# Two services


class Slot:
    """A job on each domain, and their slot: b's job is ready at once, a's has been and waits for other jobs' nodes.

    `ahead`: how far a's clock is ahead of b's, which is the host's, in seconds. `limit`: of the job that has the nodes.
    """

    def __init__(self, pair: Pair, ahead: float = 0.0, limit: int = LIMIT) -> None:
        self.pair = pair
        self.go = pair.folder / "go"
        script = script_that_notes(pair.folder)
        with pair.a.client() as a, pair.b.client() as b:
            self.first = a.submit(script, pair="p", nodes=NODES, time_limit=5)
            wait_until(lambda: a.job(self.first).reason == "MateUnsubmitted", "it is ready, and yields")
            a.submit(script_that_waits(pair.folder, self.go), nodes=NODES, time_limit=limit)
            wait_until(lambda: noted(pair.folder), "another one has the nodes")
            self.second = b.submit(script, pair="p", nodes=NODES, time_limit=5)
            slot, self.at = (
                wait_until(lambda client=client, job=job: last_slot(client, job), "they agree")
                for client, job in ((a, self.first), (b, self.second))
            )
            assert abs(slot - ahead - self.at) <= 0.5  # both are whole seconds

    def starts(self) -> dict[str, float]:
        """When each job of the pair has started, by domain; each once."""
        starts = [(domain, at) for domain, _, pair, at in noted(self.pair.folder) if pair == "p"]
        assert len(starts) == len(dict(starts))
        return dict(starts)

    def wait_for_starts(self) -> dict[str, float]:
        """Of both, which are together, and as they say so; nobody has held."""
        wait_until(lambda: len(self.starts()) == 2, "both start")
        for service, job in ((self.pair.a, self.first), (self.pair.b, self.second)):
            assert set(whys(service, job)) <= TOGETHER
            with service.client() as client:
                assert client.job(job).holds.holds == 0
            assert not service.faults()
        return self.starts()


def test_a_pair_waits_for_its_slot_and_holds_nothing(make_pair):
    pair = make_pair(scheme="meet").start()
    slot = Slot(pair)
    assert "has a slot at" in pair.a.run("show", slot.first.id).stdout
    assert min(slot.wait_for_starts().values()) >= slot.at  # the other one has run until its limit


def test_a_pair_starts_before_its_slot_if_both_can(make_pair):
    pair = make_pair(scheme="meet").start()
    slot = Slot(pair, limit=LONG)
    told = pair.a.run("show", slot.first.id).stdout
    assert re.search(r"^slot +at [-0-9]+ [:0-9]+ with b:1; an earlier start is tried at every change$", told, re.M)
    assert len(pair.b.run("queue", "--start").stdout.splitlines()) == 2
    slot.go.touch()
    assert max(slot.wait_for_starts().values()) < slot.at


@pytest.mark.parametrize("killed", ["ab", *(pytest.param(one, marks=pytest.mark.soak) for one in "ab")])
def test_services_that_are_killed_keep_a_slot(make_pair, killed):
    pair = make_pair(scheme="meet", peer_grace="2m").start()
    slot = Slot(pair)
    services = [service for service in pair.both if service.name in killed]
    for service in services:
        service.kill()
    for service in services:
        service.start()
    assert min(slot.wait_for_starts().values()) >= slot.at


@pytest.mark.soak
@pytest.mark.parametrize("ahead", [600.4, -600.4])
def test_mates_start_at_their_slot_together_though_the_clocks_are_apart(make_pair, ahead):
    pair = make_pair(scheme="meet")
    Clock(pair.a).set(ahead)
    Clock(pair.b).set(0)
    pair.start()
    wait_until(lambda: measures(pair.a, -ahead) and measures(pair.b, ahead), "the clocks are known")
    slot = Slot(pair, ahead)
    assert min(slot.wait_for_starts().values()) >= slot.at - 0.5


@pytest.mark.soak
@pytest.mark.parametrize("away", ["a", "b"])
def test_a_peer_that_is_away_at_the_slot_is_waited_for(make_pair, away):
    pair = make_pair(scheme="meet", peer_grace="2m").start()
    slot = Slot(pair)
    service = pair.a if away == "a" else pair.b
    service.kill()
    time.sleep(max(0.0, slot.at + 3 - time.time()))
    assert slot.starts() == {}
    service.start()
    slot.wait_for_starts()


# A service and a scripted peer


class Meeting:
    """A service that meets, and its peer b, whose job cannot start before the slot, 2 s after the first proposal."""

    def __init__(self, service: Service, peer: ScriptedPeer) -> None:
        self.service, self.peer = service, peer
        self.slot = 0
        peer.answers |= {"TryStartMate": NOT_YET, "SettleStart": wire.SettleStartResponse(current=True)}
        peer.answers["ProposeStart"] = self._propose
        with service.client() as client:
            self.job = client.submit(script_that_notes(service.folder), mate=f"b:{MATE}", time_limit=5)

    def _propose(self, message: wire.ProposeStartRequest) -> wire.ProposeStartResponse:
        self.slot = self.slot or message.not_before.seconds + 2
        at = max(self.slot, message.not_before.seconds)
        booked = at == message.not_before.seconds
        answer = wire.ProposeStartResponse(booked=booked, slot_generation=3 * booked)
        answer.at.seconds = at
        return answer

    def wait_for_start(self) -> float:
        with self.service.client() as client:
            wait_until(lambda: client.job(self.job).state == "completed", "it starts")
        ((_, _, _, at),) = noted(self.service.folder)
        return at

    def ids(self, call: str) -> set[str]:
        return {message.request_id for message in self.peer.calls(call)}


@pytest.fixture
def make_meeting(make_service) -> Iterator:
    with ScriptedPeer("b", slots=True) as peer:

        def make(**happens) -> Meeting:
            service = make_service("a", scheme="meet", heartbeat_interval=0)
            service.add_peer("b", peer.address)
            submitted = threading.Event()  # and its user knows: nothing happens before
            acts = {call: lambda _, act=act: submitted.wait(PATIENCE) and act(service) for call, act in happens.items()}
            peer.happens |= acts
            meeting = Meeting(service.start(), peer)
            submitted.set()
            return meeting

        yield make


def test_a_job_starts_at_its_slot_by_the_answer_of_its_mate_s_domain(make_meeting):
    meeting = make_meeting()
    assert meeting.wait_for_start() >= meeting.slot
    assert whys(meeting.service, meeting.job) == ["at its slot"]
    (order,) = meeting.peer.calls("StartJob")
    assert (order.slot_generation, order.hold_generation) == (3, 0)
    (kept,) = meeting.peer.calls("SettleStart")
    assert (kept.slot_generation, kept.keep) == (3, True)
    first, second, *earlier = meeting.peer.calls("ProposeStart")
    assert (first.slot_generation, second.slot_generation) == (0, 0)
    assert all(message.slot_generation == 3 and message.only_before == second.not_before for message in earlier)


def kill(service: Service) -> None:
    assert service.process is not None
    service.process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize(
    "call", ["StartJob", *(pytest.param(call, marks=pytest.mark.soak) for call in ("ProposeStart", "SettleStart"))]
)
def test_a_service_that_is_killed_before_an_answer_starts_its_job_once(make_meeting, call):
    meeting = make_meeting(**{call: kill})
    assert meeting.service.process is not None
    meeting.service.process.wait(60)
    assert noted(meeting.service.folder) == []
    meeting.service.start()
    meeting.wait_for_start()
    assert whys(meeting.service, meeting.job) == ["at its slot"]
    if call == "StartJob":  # it may have been carried out: the same call again
        assert (len(meeting.peer.calls(call)), len(meeting.ids(call))) == (2, 1)


# An older peer


def settled_without_slots(service: Service, peer: ScriptedPeer) -> Job:
    """A job that has asked twice whether its mate could start, and is no worse off."""
    with service.client() as client:
        job = client.submit(script_that_notes(service.folder), mate=f"b:{MATE}", time_limit=5)
        wait_until(lambda: len(peer.calls("TryStartMate")) > 1, "it asks again and again")
        shown: Job = client.job(job)
        assert (shown.state, shown.slot) in (("queued", None), ("ready", None))
        assert not list(client.events(after=0, jobs=[job], kinds=["warning", "slot"], until_now=True))
    assert noted(service.folder) == []
    return job


def start_together(service: Service, peer: ScriptedPeer, client: Client, job: Job) -> None:
    peer.answers["TryStartMate"] = wire.TryStartMateResponse(started=True)
    wait_until(lambda: client.job(job).state == "completed", "it starts with its mate")
    assert whys(service, job) == ["its mate could start"]


@pytest.mark.parametrize("says_ready", soaked([False, True], 1), ids=["older", "without the calls"])
def test_a_peer_that_knows_no_slots_is_asked_as_ever_and_nothing_starts_alone(make_service, says_ready):
    """An older one never says that the mate is ready; if it did, its UNIMPLEMENTED would be a refusal, not a fault."""
    with ScriptedPeer("b") as peer:
        peer.answers["TryStartMate"] = NOT_YET if says_ready else wire.TryStartMateResponse()
        service = make_service("a", scheme="meet")
        service.add_peer("b", peer.address)
        service.start()
        job = settled_without_slots(service, peer)
        with service.client() as client:
            assert [view.state for view in client.domain().peers] == ["reachable"]
            start_together(service, peer, client, job)
        assert "PeerRefused" not in service.log
        assert ("ProposeStart to b" in service.log) is False
