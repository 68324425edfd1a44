"""Pairs on two real Slurm clusters, while their services are killed: at the worst moments, for a while and for good."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from deploy.slurm.lab import Domain
from tests.live.workloads import Work
from tests.slurm.coupled import check_for_compiler, known
from tests.slurm.coupled_checks import (
    START,
    Served,
    check_cosched_agrees,
    check_nothing_is_left,
    check_started_together,
    hold,
    whys,
)
from tests.slurm.relay import AFTER, BEFORE, RelayedLab
from tests.service.faulty_proxy import PASS, REFUSE

NODES = 5
CALLS = ("GetMateJobId", "GetMateStatus", "TryStartMate", "StartJob")
OUTAGE = 2.0  # seconds
PATIENCE = 6  # seconds, of hooks
LATER = 1.5  # seconds from the answer to StartJob to the agreed start


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    check_for_compiler()
    with RelayedLab(options={"nodes": NODES}, services=False, patience=PATIENCE, **START) as lab:
        yield Served(lab)


@pytest.fixture
def coupled(running: Served) -> Iterator[Served]:
    """No service runs yet; afterwards nothing is left of the jobs."""
    yield running
    for relay in running.lab.relays.values():
        relay.happening = lambda *_: None
        relay.network.set(PASS)
    running.lab.clear()
    check_nothing_is_left(running)


class Gate:
    """Stops each pair, which is called after a call, just before or just after that call."""

    def __init__(self, when: str, ids: dict[str, str]) -> None:
        self._when, self._ids = when, ids
        self._arrived: set[str] = set()
        self._open = Event()

    def happening(self, when: str, call: str, caller: str) -> None:
        if when == self._when and self._ids.get(call) == caller and not self._open.is_set():
            self._arrived.add(call)
            self._open.wait(60)

    def all_arrived(self) -> bool:
        return self._arrived == set(CALLS)

    def open(self) -> None:
        self._open.set()


def submit_to_gate(coupled: Served, when: str) -> tuple[Gate, list[str], list[str]]:
    """Four pairs, each of which is at another call; who calls and who is called."""
    here, there = coupled.here, coupled.there
    works = {call: Work(call, 1, 0.1) for call in CALLS}
    mates = [coupled.submit(there, work, *["--no-requeue"] * (call == "StartJob")) for call, work in works.items()]
    for mate in mates[:-1]:
        coupled.until_job(there, mate, lambda job: job.state == "queued" and job.holds.yields > 0, "to yield")
    coupled.until_state(there, mates[-1], "holding")
    callers = [coupled.submit(here, work, "--hold") for work in works.values()]
    for caller in callers:
        coupled.until_job(here, caller, lambda job: job.mates[0].lookup == "found", "to know its mate")
    gate = Gate(when, dict(zip(CALLS, callers, strict=True)))
    coupled.lab.relays[there.name].happening = gate.happening
    here.cluster.scontrol("release", ",".join(callers))
    coupled.until(gate.all_arrived, "all calls")
    return gate, callers, mates


@pytest.mark.parametrize("when", [BEFORE, AFTER])
@pytest.mark.parametrize("victim", ["caller", "called"])
def test_pairs_start_together_whose_services_are_killed_at_any_call(coupled: Served, victim: str, when: str) -> None:
    coupled.serve(("hold", "yield"), backoff=30, release_interval=2, on_peer_unreachable="hold")
    gate, callers, mates = submit_to_gate(coupled, when)
    domain = coupled.here if victim == "caller" else coupled.there
    domain.service.kill()
    gate.open()
    domain.service.start()
    check_started_together(coupled, callers, mates)


def test_pairs_start_together_if_the_called_service_dies_before_it_can_tell_its_answer(coupled: Served) -> None:
    coupled.serve(("hold", "yield"), backoff=30, release_interval=2, on_peer_unreachable="hold")
    gate, callers, mates = submit_to_gate(coupled, AFTER)
    network = coupled.lab.relays[coupled.there.name].network
    network.set(REFUSE)
    coupled.there.service.kill()
    gate.open()
    coupled.there.service.start()
    network.set(PASS)
    check_started_together(coupled, callers, mates)
