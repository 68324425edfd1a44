"""Real Slurm clusters and a domain whose jobs are local processes, coscheduled: pairs, and groups of three."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cosched.client import Client, Job
from deploy.lab.service import Sections
from deploy.slurm.lab import CoupledLab, Domain
from tests.live import services
from tests.live.services import noted, script_that_notes, script_that_waits
from tests.live.workloads import TOGETHER
from tests.slurm.cosched_hooks import check_for_compiler

DESK = "desk"
SETTINGS = {"release_interval": 0, "max_held_fraction": 1, "heartbeat_interval": 1}


class MixedLab(CoupledLab):
    """Clusters whose services are peers, also of the domain `desk`."""

    def __init__(self, folder: Path, *names: str, scheme: str = "hold", **settings: object) -> None:
        super().__init__(names=names, schemes=[scheme] * len(names), options={"nodes": 2}, **SETTINGS | settings)
        self.desk = services.Service(folder, DESK)
        self.desk.config["coscheduling"]["scheme"] = scheme

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


@pytest.fixture
def meeting(tmp_path: Path) -> Iterator[MixedLab]:
    check_for_compiler()
    with MixedLab(tmp_path, "intrepid", "eureka", scheme="meet", backoff=600, try_patience=2.2) as lab:
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
            assert why(clients[name], jobs[name]).startswith(("asked by ", *TOGETHER))


@pytest.mark.soak
@pytest.mark.parametrize("names", [("intrepid", DESK), ("intrepid", "eureka", DESK)], ids="-".join)
def test_jobs_of_slurm_and_local_processes_have_a_slot_and_start_at_it(
    meeting: MixedLab, names: tuple[str, ...]
) -> None:
    """The local job is ready first, and yields; then another one has its nodes until its limit."""
    desk_s = meeting.desk
    with ExitStack() as stack:
        clients = {domain.name: stack.enter_context(Client(domain.service.server)) for domain in meeting}
        desk = clients[DESK] = stack.enter_context(desk_s.client())
        script = script_that_notes(desk_s.folder)
        members = {"group": "g", "members": [*names[:-1]]} if len(names) > 2 else {"pair": "g", "pair_domain": names[0]}
        first = desk.submit(script, nodes=4, time_limit=60, **members)
        services.wait_until(lambda: desk.job(first).reason == "MateUnsubmitted", "the local job yields")
        go = desk_s.folder / "go"
        desk.submit(script_that_waits(desk_s.folder, go), nodes=4, time_limit=25)
        services.wait_until(lambda: noted(desk_s.folder), "another one has its nodes")
        jobs = {name: submit_to(meeting, name, names) for name in names[:-1]} | {DESK: first.id}
        for name in names:
            services.wait_until(lambda name=name: slot_of(clients[name], jobs[name]), f"the job of {name} has a slot")
        instants = [slot_of(clients[name], jobs[name]) for name in names]
        assert max(instants) - min(instants) <= 1.0
        for name in names:
            what = f"the job of {name} ends"
            services.wait_until(lambda name=name: state(clients[name], jobs[name]) == "completed", what)
            said = why(clients[name], jobs[name])
            assert said == "at its slot" or said.startswith("asked by ")


def submit_to(lab: MixedLab, name: str, names: tuple[str, ...]) -> str:
    """The member of a group, or the mate, of a cluster."""
    others = [other for other in names if other != name]
    named = f"--comment=cosched:group=g@{'+'.join(others)}"
    return str(lab[name].cluster.sbatch("true", named, "--time=1", "--output=/dev/null"))


def slot_of(client: Client, job: str) -> float:
    """The instant at which a job starts; 0: it has none."""
    found = [known.slot for known in client.jobs(["queued", "ready"]) if known.id == job]
    return found[0].timestamp() if found and found[0] is not None else 0.0


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
