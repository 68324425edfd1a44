"""Two or three services that meet: their jobs start together, at slots too, and nobody holds."""

import re
import time
from itertools import product
from typing import Any

import pytest

from tests.live.services import Federation, Service, noted, restart_all, script_that_notes, script_that_waits, whys
from tests.live.wall_clock import Clock
from tests.tiers import soaked
from tests.waiting import wait_until

PAIR, GROUP = "ab", "abc"
LIMIT = 8  # seconds of the job for whose nodes the others wait; a slot is when it has come to that
NODES = 4  # of each domain
LONG = 600  # the same, where no slot is to come in a test
TOGETHER = ("all members of its group are booked", "asked by ", "at its slot", "its mate could start")


class Slot:
    """A job on each domain, and their slot: the last one's job is ready last, when another job has a's nodes.

    `ahead`: how far each domain's clock is ahead of the host's, in seconds. `limit`: of that other job.
    """

    def __init__(self, federation: Federation, ahead: dict[str, float] | None = None, limit: int = LIMIT) -> None:
        self.federation = federation
        self.services: dict[str, Service] = {service.name: service for service in federation.services}
        self.go = federation.folder / "go"
        *waiting, last = self.services
        self.jobs = {name: self._submitted(name) for name in waiting}
        with self.services["a"].client() as client:
            client.submit(script_that_waits(federation.folder, self.go), nodes=NODES, time_limit=limit)
        wait_until(lambda: noted(federation.folder), "another one has the nodes")
        self.jobs[last] = self._submitted(last, waits=False)
        wait_until(lambda: all(self.slots().values()), "they agree")
        instants = [at - (ahead or {}).get(name, 0.0) for name, at in self.slots().items() if at is not None]
        self.at = max(instants)
        assert self.at - min(instants) <= 1.0  # all are whole seconds

    def _submitted(self, name: str, *, waits: bool = True) -> Any:
        others = [other for other in self.services if other != name]
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
        wait_until(lambda: len(self.starts()) == len(self.services), "all start")
        for name, job in self.jobs.items():
            assert all(why.startswith(TOGETHER) for why in whys(self.services[name], job))
            with self.services[name].client() as client:
                assert client.job(job).holds.holds == 0
            assert not self.services[name].faults()
        return sorted(self.starts().values())


@pytest.fixture
def make_slot(make_federation):
    """Makes a slot of services that meet."""
    return lambda names, limit=LIMIT: Slot(make_federation(names, scheme="meet", peer_grace="2m").start(), limit=limit)


@pytest.mark.parametrize(
    "case",
    soaked([(GROUP, "abc"), *product([PAIR], ["", "ab", "a", "b"]), *product([GROUP], ["", "a", "b", "c"])], 1),
    ids="-".join,
)
def test_jobs_wait_for_their_slot_and_hold_nothing(make_slot, case):
    """Also if services are killed meanwhile."""
    names, killed = case
    slot = make_slot(names)
    told = slot.services["b"].run("show", slot.jobs["b"].id).stdout
    assert re.search(rf"has a slot at [-0-9: UTC]+ with {'a:1' if names == PAIR else 'its group'}$", told, re.M)
    restart_all([slot.services[name] for name in killed])
    assert slot.wait_for_starts()[0] >= slot.at - 1.0  # the other one has run until its limit


@pytest.mark.parametrize("names", soaked([PAIR, GROUP], 1))
def test_jobs_start_before_their_slot_if_all_can(make_slot, names):
    slot = make_slot(names, LONG)
    told = slot.services["a"].run("show", slot.jobs["a"].id).stdout
    said = f"with {'b:1' if names == PAIR else 'group g'}; an earlier start is tried at every change"
    assert re.search(rf"^slot +at [-0-9]+ [:0-9]+ {said}$", told, re.M)
    assert len(slot.services["b"].run("queue", "--start").stdout.splitlines()) == 2
    slot.go.touch()
    assert slot.wait_for_starts()[-1] < slot.at


@pytest.mark.soak
def test_members_have_no_slot_any_more_if_one_is_cancelled_and_the_others_start_without(make_slot):
    slot = make_slot(GROUP)
    with slot.services["b"].client() as client:
        client.cancel(slot.jobs.pop("b"))
    wait_until(lambda: len(slot.starts()) == 2, "the others start")
    assert slot.starts().keys() == {"a", "c"}


@pytest.mark.soak
@pytest.mark.parametrize("away", GROUP)
def test_a_domain_that_is_away_at_the_slot_is_waited_for(make_slot, away):
    slot = make_slot(GROUP)
    slot.services[away].kill()
    time.sleep(max(0.0, slot.at + 3 - time.time()))
    assert slot.starts() == {}
    slot.services[away].start()
    slot.wait_for_starts()


@pytest.mark.soak
def test_members_start_at_their_slot_together_though_the_clocks_are_apart(make_federation):
    ahead = {"a": 600.4, "b": -300.3, "c": 0.0}
    federation = make_federation(GROUP, scheme="meet")
    for service in federation.services:
        Clock(service).set(ahead[service.name])
    federation.start()
    for service in federation.services:
        for other in GROUP.replace(service.name, ""):
            apart = ahead[other] - ahead[service.name]
            wait_until(lambda service=service, apart=apart, other=other: knows(service, other, apart), "clocks")
    slot = Slot(federation, ahead)
    assert slot.wait_for_starts()[0] >= slot.at - 1.0


def knows(service: Service, peer: str, ahead: float) -> bool:
    """Whether the service knows how far its peer's clock is ahead of its own."""
    with service.client() as client:
        (offset,) = [view.clock_offset for view in client.domain().peers if view.name == peer]
    return offset is not None and abs(offset.total_seconds() - ahead) < 0.3
