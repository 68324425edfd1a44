"""Real Slurm clusters and a domain whose jobs are local processes, coscheduled: pairs, and groups of three."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cosched.client import Client, Job
from deploy.lab.service import Sections
from deploy.slurm.lab import CoupledLab, Domain
from tests.live import services
from tests.live.services import script_that_notes
from tests.live.test_groups import TOGETHER as IN_GROUP
from tests.live.workloads import TOGETHER
from tests.slurm.cosched_hooks import check_for_compiler

DESK = "desk"
SETTINGS = {"release_interval": 0, "max_held_fraction": 1, "heartbeat_interval": 1}


class MixedLab(CoupledLab):
    """Clusters whose services are peers, also of the domain `desk`."""

    def __init__(self, folder: Path, *names: str) -> None:
        super().__init__(names=names, schemes=["hold"] * len(names), options={"nodes": 2}, **SETTINGS)
        self.desk = services.Service(folder, DESK)

    def _sections(self, domain: Domain, scheme: str) -> Sections:
        self.desk.config["peer"] = [{"name": peer.name, "address": peer.address} for peer in self]
        sections = {**super()._sections(domain, scheme)}
        return sections | {"peer": [*sections["peer"], {"name": DESK, "address": self.desk.address}]}

    def start_services(self) -> None:
        """As of a coupled laboratory, and that of the other domain."""
        self.desk.start(wait=False)
        super().start_services()

    def stop(self) -> None:
        """As of a coupled laboratory."""
        self.desk.clear()
        super().stop()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[MixedLab]:
    check_for_compiler()
    with MixedLab(tmp_path, "intrepid") as lab:
        yield lab


@pytest.fixture
def larger(tmp_path: Path) -> Iterator[MixedLab]:
    check_for_compiler()
    with MixedLab(tmp_path, "intrepid", "eureka") as lab:
        yield lab


def test_jobs_of_slurm_and_local_processes_start_together_whichever_is_ready_first(lab: MixedLab) -> None:
    intrepid = lab["intrepid"]
    with Client(intrepid.service.server) as slurm, lab.desk.client() as desk:
        first = submit(intrepid, "p")
        services.wait_until(lambda: state(slurm, first) == "holding", "the job of Slurm holds")
        script = script_that_notes(lab.desk.folder)
        mate = desk.submit(script, pair="p")
        other = desk.submit(script, pair="q")
        services.wait_until(lambda: desk.job(other).state == "holding", "the local job holds")
        second = submit(intrepid, "q")
        for job in (first, second):
            services.wait_until(lambda job=job: state(slurm, job) == "completed", "the job of Slurm ends")
        for local in (mate, other):
            services.wait_until(lambda local=local: desk.job(local).state == "completed", "the local job ends")
        assert {why(slurm, first), why(desk, mate)} == {"asked by desk", TOGETHER[0]}
        assert {why(slurm, second), why(desk, other)} == {"asked by intrepid", TOGETHER[0]}


@pytest.mark.soak
@pytest.mark.parametrize("last", ["intrepid", "eureka", DESK])
def test_a_group_of_two_clusters_and_local_processes_starts_together_whoever_is_last(
    larger: MixedLab, last: str
) -> None:
    names = sorted(["intrepid", "eureka", DESK], key=lambda name: name == last)
    jobs: dict[str, str] = {}
    with ExitStack() as stack:
        clients = {domain.name: stack.enter_context(Client(domain.service.server)) for domain in larger}
        clients[DESK] = stack.enter_context(larger.desk.client())

        def reaches(name: str, wanted: str) -> None:
            services.wait_until(lambda: state(clients[name], jobs[name]) == wanted, f"the job of {name} is {wanted}")

        for name in names:
            others = [other for other in names if other != name]
            if name == DESK:
                script = script_that_notes(larger.desk.folder)
                jobs[name] = clients[name].submit(script, group="g", members=others).id
            else:
                comment = f"--comment=cosched:group=g@{'+'.join(others)}"
                jobs[name] = str(larger[name].cluster.sbatch("true", comment, "--output=/dev/null"))
            if name != last:
                reaches(name, "holding")
        for name in names:
            reaches(name, "completed")
            assert why(clients[name], jobs[name]).startswith(IN_GROUP)


def submit(domain: Domain, pair: str) -> str:
    return str(domain.cluster.sbatch("true", f"--comment=cosched:pair={pair}", "--output=/dev/null"))


def state(client: Client, job: str) -> str:
    """Empty: cosched does not know the job yet."""
    states = ["queued", "ready", "holding", "running", "completed"]
    return next((found.state for found in client.jobs(states) if found.id == job), "")


def why(client: Client, job: str | Job) -> str:
    """Why a job has started; it has once."""
    (started,) = client.events(0, [job], ["started"], until_now=True)
    return str(started.detail["why"])
