"""Jobs that meet on two or three real clusters, while a service or a slurmctld is killed at each step of a slot."""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.lab.service import Sections
from deploy.slurm.lab import CoupledLab, Domain
from tests.live.workloads import Work
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled_checks import START, Served, check_nothing_is_left, reservations_of
from tests.slurm.killing import AFTER, BEFORE, CALLER, STEPS, Killer

pytestmark = pytest.mark.soak
SEED = 20110913
NAMES = ("intrepid", "eureka", "mira")
NODES, ALONE = 8, 3
TOGETHER = {2: 10, 3: 8}  # pairs, or groups of three
SIZES, SECONDS = (2, 6), (1.0, 6.0)  # so that pairs wait for other jobs, and agree on slots
LIMIT = "--time=1"
FILLING = "sleep 10"  # on all nodes, while all else is submitted
PATIENCE = 300  # seconds, of hooks: more than a service needs to start on a busy machine
NET = 90.0  # seconds after which Slurm itself has removed a reservation that a service has lost
MEETING = {"on_peer_unreachable": "hold", "backoff": 4}


class KillersLab(CoupledLab):
    """Its first domain finds Slurm's commands in `folder`."""

    folder: Path  # of Slurm's commands

    def _sections(self, domain: Domain, scheme: str) -> Sections:
        sections = {**super()._sections(domain, scheme)}
        if domain.name == self.lab.names[0]:
            sections["manager"] = {**sections["manager"], "bin": str(self.folder)}
        return sections


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Iterator[KillersLab]:
    check_for_compiler()
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        names = NAMES[: getattr(request, "param", 2)]
        settings = {"schemes": ("meet",) * len(names), "options": {"nodes": NODES}, "patience": PATIENCE, **START}
        lab = KillersLab(names=names, services=False, gate=False, **settings)
        lab.folder = Path(folder)
        with lab:
            yield lab


@pytest.fixture(scope="module")
def running(lab: KillersLab) -> Served:
    return Served(lab)


@pytest.fixture
def coupled(running: Served) -> Iterator[Served]:
    """Afterwards nothing is left of the jobs."""
    yield running
    running.lab.clear()


@pytest.mark.parametrize("when", [BEFORE, AFTER])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("lab", "victim"), [(2, "service"), (2, "slurmctld"), (3, "service")], indirect=["lab"])
def test_a_kill_at_a_step_of_a_slot_leaves_no_reservation_and_no_job_without_the_others(
    lab: KillersLab, coupled: Served, victim: str, step: str, when: str
) -> None:
    here, domains = coupled.here, len(coupled.domains)
    killer = Killer(lab.folder, step, when, CALLER if victim == "service" else here.cluster.pid())
    coupled.serve(("meet",) * domains, **MEETING)
    ids = submit_all(coupled, f"{victim}-{step}-{when}".replace(" ", "-"))
    killer.arm()
    here.cluster.wait_for(lambda: killer.has_killed or is_idle(here), "the kill", PATIENCE)
    if not killer.has_killed:
        pytest.skip(f"no {step} was called for")
    restart(here, victim)
    here.cluster.wait_for(lambda: mended(here) and is_idle(here), "the end of all jobs", PATIENCE)
    outcome = coupled.outcome(*ids)
    together = TOGETHER[domains]
    assert outcome.states == {"completed": domains * together}
    assert len(outcome.whys) == len(outcome.times) == together
    if victim == "service":
        assert outcome.alone() == {}
        assert set(outcome.runs.values()) == {1}
    else:  # Slurm may have forgotten that a job runs, and have started it again
        assert [whys for whys in outcome.alone().values() if len(whys) == domains] == []
    here.cluster.wait_for(lambda: not any(map(reservations_of, lab)), "no reservation", NET)
    check_nothing_is_left(coupled)


def submit_all(coupled: Served, prefix: str) -> list[list[str]]:
    """Pairs, or groups, and other jobs, more than there are nodes, which Slurm has saved; the ids, by domain."""
    chance, together = random.Random(SEED), TOGETHER[len(coupled.domains)]
    ids = []
    for domain in coupled.lab:
        domain.cluster.sbatch(FILLING, f"--nodes={NODES}", LIMIT, "--output=/dev/null")
        names = [*(f"{prefix}-{number}" for number in range(together)), *[None] * ALONE]
        chance.shuffle(names)
        works = [Work(name, chance.randint(*SIZES), round(chance.uniform(*SECONDS), 3)) for name in names]
        ids.append([coupled.submit(domain, work, LIMIT) for work in works])
    for domain, its in zip(coupled.lab, ids, strict=True):
        domain.cluster.wait_until_saved(int(its[-1]))
    return ids


def is_idle(domain: Domain) -> bool:
    """Whether all jobs have ended; a slurmctld that was just killed does not say so."""
    done = domain.cluster.try_run("squeue", "-h")
    return done.returncode == 0 and not done.stdout


def restart(domain: Domain, victim: str) -> None:
    """After its end by SIGKILL."""
    if victim == "service":
        domain.service.kill()
        domain.service.start()
    else:
        domain.cluster.kill_controller()
        domain.cluster.start_controller()


def mended(domain: Domain) -> bool:
    """Undo what Slurm does to a job that it starts again because it has forgotten it, and to its nodes; True."""
    shown = domain.cluster.squeue("-h", "-t", "pending", "-o", "%i %r")
    jobs = [line.split()[0] for line in shown.splitlines() if "launch failed" in line]
    if jobs:
        domain.cluster.try_run("scontrol", "release", ",".join(jobs))
        for node in domain.cluster.nodes:
            domain.cluster.try_run("scontrol", "update", f"nodename={node}", "state=resume")
    return True
