"""A site's own batch system, in a package of its own: cosched finds it by its entry point alone."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from cosched.service.configuration import read_configuration
from cosched.service.preparing import prepare
from cosched.v1.domain_pb2 import SubmitJobRequest
from cosched.v1.domain_pb2_grpc import DomainServiceStub
from cosched.v1.job_pb2 import MateName
from cosched.words.errors import InputError
from cosched_adapters.loading import load_batch_system
from tests.live.services import COMMAND, free_port, toml, wait_until

MOON = '''
import asyncio
from pathlib import Path
from cosched_adapters.batch_system import Accepted, BatchSystem, BatchSystemFactory, Offered, Appeared
from cosched_adapters.manager import ManagerError, Started
from cosched.core.protocol import named_mate

QUEUE = Path("queue")

class Moon(BatchSystem):
    """It offers each job at once, and finds those that are submitted in a file."""

    nodes, start_lead, mate_field = 8, 0.0, "wish"

    def __init__(self):
        self._reports, self._seen = asyncio.Queue(), set()

    async def open(self):
        return {}

    async def reports(self):
        while True:
            yield await self._reports.get()

    async def look(self, age=0.0):
        for line in QUEUE.read_text().splitlines() if QUEUE.exists() else ():
            job_id, peer, pair = line.split()
            if job_id not in self._seen:
                self._seen.add(job_id)
                named = named_mate("" if peer == "-" else peer, pair)
                self._reports.put_nowait(Appeared(job_id, 0, 2, "daemon", named))
                self._reports.put_nowait(Offered(job_id, 0, 2, "n[1-2]", "daemon", named, can_yield=True, number=1))
        await asyncio.sleep(0.1)
        return True

    async def start(self, job_id, at=None):
        self._reports.put_nowait(Started(job_id, 0))
        return True

def submit(job):
    if "nodes" in job.options:
        raise ManagerError("the moon has no nodes")
    with QUEUE.open("a") as queue:
        queue.write(f"7 - {job.options['pair']}\\n")
    return Accepted("7", True, ["mind the craters"])

create = BatchSystemFactory(lambda domain, directory, settings: Moon(), submit)
undeclared = lambda domain, directory, settings: Moon()
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where pip has installed the package of the site."""
    (tmp_path / "site" / "moon-1.dist-info").mkdir(parents=True)
    points = "[cosched.adapters]\nmoon = moon:create\nundeclared = moon:undeclared\n"
    (tmp_path / "site" / "moon-1.dist-info" / "entry_points.txt").write_text(points)
    (tmp_path / "site" / "moon.py").write_text(MOON)
    monkeypatch.syspath_prepend(tmp_path / "site")
    return tmp_path / "site"


def configuration(folder: Path, **manager: str) -> Path:
    path = folder / "domain.toml"
    domain = {"name": "a", "listen": f"127.0.0.1:{free_port()}", "plaintext": True, "state": "state.db"}
    path.write_text(toml({"domain": domain, "manager": manager}))
    return path


@pytest.mark.usefixtures("package")
def test_it_schedules_by_itself(tmp_path):
    assert read_configuration(configuration(tmp_path, kind="moon")).manager.schedules
    with pytest.raises(InputError, match=r"manager\.policy: has no effect: moon schedules by itself"):
        read_configuration(configuration(tmp_path, kind="moon", policy="fcfs"))


@pytest.mark.usefixtures("package")
def test_a_launcher_and_what_is_not_installed_are_no_batch_systems():
    assert load_batch_system("local") is load_batch_system("mars") is None


@pytest.mark.usefixtures("package")
def test_its_entry_point_must_declare_it(tmp_path):
    with pytest.raises(InputError, match="manager:kind: the entry point 'undeclared' must name a BatchSystemFactory"):
        prepare(read_configuration(configuration(tmp_path, kind="undeclared")))


@pytest.fixture
def service(package, make_service):
    service = make_service("a")
    service.wrapper, service.environment = COMMAND, {"PYTHONPATH": str(package)}
    service.config["manager"] = {"kind": "moon"}
    service.add_peer("b", f"127.0.0.1:{free_port()}")
    (service.folder / "job.sh").write_text("#!/bin/sh\n")
    return service.start()


def test_users_submit_to_it_and_its_offers_are_answered(service):
    said = service.run("submit", "--pair", "run7", "job.sh", cwd=service.folder)
    assert (said.returncode, said.stdout.splitlines()[0]) == (0, "Submitted job 7 to a")
    assert "mind the craters" in said.stderr
    with service.client() as client:
        wait_until(lambda: client.job("7").state == "running")  # its mate cannot be reached


def test_a_mistyped_pair_name_is_asked_for_beside_it(service, make_service):
    peer = make_service("b")
    peer.port = int(service.config["peer"][0]["address"].rpartition(":")[2])
    peer.config["domain"]["listen"] = f"127.0.0.1:{peer.port}"
    peer.add_peer("a", service.address)
    peer.start()
    mate = MateName(pair={"domain": "a", "name": "Run7"})
    request = SubmitJobRequest(request_id="r", script=b"#!/bin/sh\n", owner="daemon", hold=True, mates=[mate])
    with grpc.insecure_channel(peer.socket) as channel:
        DomainServiceStub(channel).SubmitJob(request, wait_for_ready=True)
    said = service.run("submit", "--pair", "run7", "job.sh", cwd=service.folder).stderr
    assert "pair Run7 of daemon waits on b for a mate on a; did you mean it?" in said
    assert "pair run7 of daemon waits on a for a mate on b" in peer.run("explain", "1").stdout


def test_what_it_refuses_is_one_line(service):
    said = service.run("submit", "--nodes", "2", "job.sh", cwd=service.folder)
    assert (said.returncode, said.stdout, said.stderr) == (1, "", "cosched: the moon has no nodes\n")
    said = service.run("submit", "--nodelist", "crater1", "job.sh", cwd=service.folder)
    why = "--nodelist: moon, which schedules jobs of a, takes no names of nodes"
    assert (said.returncode, said.stdout, said.stderr) == (2, "", f"cosched: {why}\n")


def test_a_mate_that_is_not_clear_is_named_in_its_own_words(service):
    (service.folder / "queue").write_text("9 mira run7\n")
    service.run("queue")
    wait_until(lambda: "starts alone: its wish names no domain mira (configured: b)" in service.log)
