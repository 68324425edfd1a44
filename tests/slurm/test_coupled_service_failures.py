"""Pairs on two real Slurm clusters, while their services are killed: at the worst moments, for a while and for good."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
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
PATIENCE = 60  # seconds, of hooks: more than a service needs to start on a busy machine
SHORT_PATIENCE = 3
WAITING = {"backoff": 30, "release_interval": 2, "on_peer_unreachable": "hold"}
P, Q = (Work(name, 1, 0.1) for name in "pq")
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


@pytest.mark.parametrize(("when", "victims"), [(BEFORE, "called"), (AFTER, "called"), (AFTER, "both")])
def test_pairs_start_together_whose_services_are_killed_at_any_call(coupled: Served, when: str, victims: str) -> None:
    coupled.serve(("hold", "yield"), **WAITING)
    gate, callers, mates = submit_to_gate(coupled, when)
    killed = [coupled.there] if victims == "called" else [*coupled.lab]
    for domain in killed:
        domain.service.kill()
    gate.open()
    start(*killed)
    check_started_together(coupled, callers, mates)


def test_pairs_start_together_if_the_called_service_dies_before_it_can_tell_its_answer(coupled: Served) -> None:
    coupled.serve(("hold", "yield"), **WAITING)
    gate, callers, mates = submit_to_gate(coupled, AFTER)
    network = coupled.lab.relays[coupled.there.name].network
    network.set(REFUSE)
    coupled.there.service.kill()
    gate.open()
    coupled.there.service.start()
    network.set(PASS)
    check_started_together(coupled, callers, mates)


def test_a_try_that_is_under_way_when_the_service_dies_does_not_start_the_job_alone(coupled: Served) -> None:
    """The mate may be offered later, when nobody waits for it any more."""
    coupled.serve(("hold", "yield"), **WAITING)
    here, there = coupled.here, coupled.there
    busy = there.cluster.sbatch("sleep 600", f"--nodes={NODES}", "--output=/dev/null")
    there.cluster.wait_for_state(busy, "RUNNING")
    mate = coupled.submit(there, P)
    coupled.until_state(there, mate, "queued")
    caller = coupled.submit(here, P)
    coupled.until(lambda: "_update_job: setting begin" in begun(there, mate), "the try")
    there.service.kill()
    there.cluster.scancel(busy)
    there.service.start()
    check_started_together(coupled, [caller], [mate])


def begun(domain: Domain, job: str) -> str:
    """What slurmctld has said of this job's start time."""
    lines = domain.cluster.controller_log.read_text().splitlines()
    return "".join(line for line in lines if line.endswith(f"for JobId={job}"))


def test_a_hold_goes_on_when_its_service_comes_back_and_else_the_job_starts_and_cosched_says_so(
    coupled: Served,
) -> None:
    coupled.serve(("hold", "hold"))
    here, there = coupled.here, coupled.there
    conf = f"socket={here.hooks.socket}\nlog={here.hooks.log}\npatience="
    here.hooks.configure(f"{conf}{SHORT_PATIENCE}\n")
    alone, held = hold(coupled, here, Work("alone", 1, 0.1)), hold(coupled, there, P)
    for domain in coupled.lab:
        domain.service.kill()
    waiting = coupled.submit(here, Q)
    time.sleep(OUTAGE)
    there.service.start()
    here.cluster.wait_for_state(int(alone), "COMPLETED")
    here.cluster.wait_for_state(int(waiting), "COMPLETED")
    assert known(there)[held].state == "holding"
    here.service.start()
    here.hooks.configure(f"{conf}{PATIENCE}\n")
    check_cosched_agrees(coupled)
    assert known(there)[held].holds.holds == 1
    assert whys(here, alone) == ["its resource manager did not wait"]
    check_started_together(coupled, [coupled.submit(here, P)], [held])
    late = coupled.submit(there, Work("alone", 1, 0.1))
    coupled.until_state(there, late, "completed")
    assert whys(there, late) == ["its mate started before it: desynchronised"]
    check_nothing_is_left(coupled, messages=2)


def test_two_jobs_that_have_agreed_on_a_start_both_start_though_their_services_are_killed(coupled: Served) -> None:
    coupled.serve(("hold", "hold"), gate_lead=LATER, on_peer_unreachable="hold")
    here, there = coupled.here, coupled.there
    held, caller = hold(coupled, there, P), coupled.submit(here, P, "--hold")
    answered = Event()
    relay = coupled.lab.relays[there.name]
    relay.happening = lambda when, call, _: answered.set() if (when, call) == (AFTER, "StartJob") else None
    here.cluster.scontrol("release", caller)
    coupled.until(answered.is_set, "the answer")
    for domain in coupled.lab:
        domain.service.kill()
    start(*coupled.lab)
    check_started_together(coupled, [caller], [held])


def start(*domains: Domain) -> None:
    with ExitStack() as stack:
        for domain in domains:
            stack.enter_context(domain.service.starting())
