"""Pairs on two real Slurm clusters, while their services are killed: at the worst moments, for a while and for good."""

from threading import Event

import pytest

from deploy.slurm.lab import Domain
from tests.live.coupled import known, start
from tests.live.workloads import Work
from tests.slurm.coupled_checks import START, Served, check_cosched_agrees, check_nothing_is_left, hold, whys
from tests.slurm.laboratory import laboratory
from tests.slurm.relay import AFTER, BEFORE, RelayedLab

NODES = 8
CALLS = ("GetMateJobId", "GetMateStatus", "TryStartMate", "StartJob")
PATIENCE = 300  # seconds, of hooks: more than a service needs to start on a busy machine
SHORT_PATIENCE = 20  # more than any pause of a service that runs
WAITING = {"backoff": 600, "release_interval": 2, "on_peer_unreachable": "hold"}
P, Q = (Work(name, 1, 0.1) for name in "pq")
AGREEING = {"gate_lead": 1.5, "on_peer_unreachable": "hold"}  # time enough to kill services that have agreed
running, coupled = laboratory(Served, RelayedLab, options={"nodes": NODES}, services=False, patience=PATIENCE, **START)


class Gate:
    """Stops each pair just before or just after the call that it is named for; `callers` by pair's name."""

    def __init__(self, callers: dict[str, str]) -> None:
        self._callers = callers
        self._arrived: set[str] = set()
        self._open = Event()

    def happening(self, when: str, call: str, caller: str) -> None:
        pair = f"{when}-{call}"
        if self._callers.get(pair) == caller and not self._open.is_set():
            self._arrived.add(pair)
            self._open.wait(PATIENCE)

    def all_arrived(self) -> bool:
        return self._arrived == self._callers.keys()

    def open(self) -> None:
        self._open.set()


def submit_to_gate(coupled: Served) -> tuple[Gate, list[str], list[str]]:
    """Pairs each of which is just before or just after another call; who calls and who is called."""
    here, there = coupled.here, coupled.there
    works = [Work(f"{when}-{call}", 1, 0.1) for when in (BEFORE, AFTER) for call in CALLS]
    holding = ["--no-requeue" if "StartJob" in str(work.name) else "--requeue" for work in works]
    mates = [coupled.submit(there, work, option) for work, option in zip(works, holding, strict=True)]
    callers = [coupled.submit(here, work, "--hold") for work in works]
    coupled.until(lambda: all(knows_mate(here, job) for job in callers), "all to know their mates")
    coupled.until(lambda: all(waits(there, job) for job in mates), "all mates to wait")
    gate = Gate({str(work.name): caller for work, caller in zip(works, callers, strict=True)})
    coupled.lab.relays[there.name].happening = gate.happening
    here.cluster.scontrol("release", ",".join(callers))
    coupled.until(gate.all_arrived, "all calls")
    return gate, callers, mates


def knows_mate(domain: Domain, job_id: str) -> bool:
    job = known(domain).get(job_id)
    return job is not None and job.mates[0].lookup == "found"


def waits(domain: Domain, job_id: str) -> bool:
    """Whether a job has yielded, and waits for its next turn, or holds."""
    job = known(domain).get(job_id)
    return job is not None and (job.state == "holding" or (job.state == "queued" and job.holds.yields > 0))


@pytest.mark.soak  # histories of conformance die at each step
@pytest.mark.parametrize("victims", ["both", "called"])
def test_pairs_start_together_whose_services_are_killed_before_and_after_any_call(
    coupled: Served, victims: str
) -> None:
    coupled.serve(("hold", "yield"), **WAITING)
    gate, callers, mates = submit_to_gate(coupled)
    killed = [*coupled.lab] if victims == "both" else [coupled.there]
    for domain in killed:
        domain.service.kill()
    gate.open()
    start(*killed)
    coupled.check_started_together(callers, mates)


def test_a_try_that_is_under_way_when_the_service_dies_does_not_start_the_job_alone(coupled: Served) -> None:
    """The mate may be offered later, when nobody waits for it any more."""
    coupled.serve(("hold", "yield"), **WAITING)
    here, there = coupled.here, coupled.there
    busy = there.cluster.sbatch("sleep 600", f"--nodes={NODES}", "--output=/dev/null")
    there.cluster.wait_for_state(busy, "RUNNING")
    mate = coupled.submit(there, P)
    coupled.until_state(there, mate, "queued")
    caller = coupled.submit(here, P)
    coupled.until(lambda: updated(there, mate), "the try")
    there.service.kill()
    there.cluster.scancel(busy)
    there.service.start()
    coupled.check_started_together([caller], [mate])


def updated(domain: Domain, job: str) -> bool:
    """Whether slurmctld has changed this job for its service, though it may have had that start time in this second."""
    return f"_slurm_rpc_update_job: complete JobId={job} " in domain.cluster.controller_log.read_text()


@pytest.mark.soak
def test_a_hold_goes_on_when_its_service_comes_back_and_else_the_job_starts_and_cosched_says_so(
    coupled: Served,
) -> None:
    coupled.serve(**AGREEING)
    here, there = coupled.here, coupled.there
    conf = (here.hooks.folder / "cosched.conf").read_text()
    here.hooks.configure(conf.replace(f"patience={PATIENCE}", f"patience={SHORT_PATIENCE}"))
    alone, held = hold(coupled, here, Work("alone", 1, 0.1)), hold(coupled, there, P)
    for domain in coupled.lab:
        domain.service.kill()
    waiting = coupled.submit(here, Q)
    here.cluster.wait_for_state(int(alone), "COMPLETED")
    here.cluster.wait_for_state(int(waiting), "COMPLETED")
    there.service.start()
    coupled.until_state(there, held, "holding")
    here.service.start()
    here.hooks.configure(conf)
    check_cosched_agrees(coupled)
    assert there.cluster.job(int(held))["Restarts"] == "0"
    assert whys(here, alone) == ["its resource manager did not wait"]
    coupled.check_started_together([coupled.submit(here, P)], [held])
    check_nothing_is_left(coupled, messages=2)


@pytest.mark.soak  # test_coupled_slurm_failures restarts it beside the service
@pytest.mark.parametrize("way", ["the daemon", "its unit"])
def test_holds_outlive_a_restart_of_slurmctld_while_the_service_is_away(coupled: Served, way: str) -> None:
    """As when the host is booted again. Slurm shows the jobs as running then, and does not launch them.

    So does every version where all processes of the unit are ended at once, which is what systemd does by default;
    where slurmctld alone is, 25.05.7, 25.11.4 and later.
    """
    coupled.serve(("hold", "hold"))
    here, there = coupled.here, coupled.there
    held, other, waiting = hold(coupled, here, P), hold(coupled, here, Q), coupled.submit(there, Q, "--hold")
    here.service.kill()
    if way == "its unit":
        here.cluster.stop_unit()
    else:
        here.cluster.stop_controller()
    here.cluster.start_controller()
    here.service.start()
    for job in (held, other):
        coupled.until(lambda job=job: here.cluster.state(int(job)) == "CONFIGURING", f"{job} to have its nodes again")
        coupled.until_state(here, job, "holding")
    check_cosched_agrees(coupled)
    there.cluster.scontrol("release", waiting)
    coupled.check_started_together([held, other], [coupled.submit(there, P), waiting])


@pytest.mark.soak
def test_two_jobs_that_have_agreed_on_a_start_both_start_though_their_services_are_killed(coupled: Served) -> None:
    coupled.serve(**AGREEING)
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
    coupled.check_started_together([caller], [held])
