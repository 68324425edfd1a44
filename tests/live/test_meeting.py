"""Two services that meet: their pairs start together, at slots too, and nobody holds; see test_group_meeting.py.

And one whose peer is older, and knows no slots.
"""

import re
import signal

import pytest

from cosched.client import Client, Job
from cosched.v1 import coscheduling_pb2 as wire
from tests.live.scripted_peer import MATE, ScriptedPeer
from tests.live.services import Pair, Service, noted, script_that_notes, script_that_waits, wait_until
from tests.tiers import soaked

LIMIT = 8  # seconds of the job for whose nodes a pair waits; a slot is when it has come to that
NODES = 4  # of each domain
LONG = 600  # the same, where no slot is to come in a test
TOGETHER = {"asked by a", "asked by b", "its mate could start", "its holding mate started", "at its slot"}
NOT_YET = wire.TryStartMateResponse(may_book=True)


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

    `limit`: of the job that has the nodes.
    """

    def __init__(self, pair: Pair, limit: int = LIMIT) -> None:
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
            assert abs(slot - self.at) <= 0.5  # both are whole seconds

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


@pytest.mark.soak
@pytest.mark.parametrize("killed", ["ab", "a", "b"])
def test_services_that_are_killed_keep_a_slot(make_pair, killed):
    pair = make_pair(scheme="meet", peer_grace="2m").start()
    slot = Slot(pair)
    services = [service for service in pair.both if service.name in killed]
    for service in services:
        service.kill()
    for service in services:
        service.start()
    assert min(slot.wait_for_starts().values()) >= slot.at


def kill(service: Service) -> None:
    assert service.process is not None
    service.process.send_signal(signal.SIGKILL)


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


OLDER = {  # how it answers that the mate cannot start yet
    "without slots": b"",
    "with slots of pairs alone": b"\x10\x01",  # the field mate_ready
    "without the calls": NOT_YET.SerializeToString(),
}


@pytest.mark.parametrize("peer_is", soaked(["with slots of pairs alone", *OLDER], 1))
def test_a_peer_that_cannot_agree_on_slots_is_asked_as_ever_and_nothing_starts_alone(make_service, peer_is):
    """If it said that its mate may have a slot, UNIMPLEMENTED would be a refusal, not a fault."""
    with ScriptedPeer("b") as peer:
        peer.answers["TryStartMate"] = wire.TryStartMateResponse.FromString(OLDER[peer_is])
        service = make_service("a", scheme="meet")
        service.add_peer("b", peer.address)
        service.start()
        job = settled_without_slots(service, peer)
        with service.client() as client:
            assert [view.state for view in client.domain().peers] == ["reachable"]
            start_together(service, peer, client, job)
        assert "PeerRefused" not in service.log
        assert "ProposeGroupStart to b" not in service.log
        told = "b is of an older version: its jobs and ours get no slots with each other"
        assert service.log.count(told) == (peer_is == "with slots of pairs alone")
