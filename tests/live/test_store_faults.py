"""What a service cannot use at its start: it says so in one line, ends with exit code 2, and leaves it as it is."""

import os
import random
import shutil
import socket
import stat
import time
from contextlib import closing

import pytest

from cosched.client import ClientError
from cosched.core.job import JobState
from cosched.service.store import Store
from cosched.service.store.errors import REMEDY
from tests.live.services import COMMAND, PATIENCE, Service, wait_until
from tests.service.store_examples import add
from tests.service.store_examples import job as ended

PAGE = 4096


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folder of a service that was killed, with jobs in its database and in the log of that."""
    chance = random.Random(1)
    with Service(tmp_path_factory.mktemp("killed") / "a", "a") as service:
        with service.start().client() as client:
            for _ in range(20):
                client.submit(f"#!/bin/sh\n# {chance.randbytes(3000).hex()}\n", hold=True)
        service.stop()
        with service.start().client() as client:
            client.submit("#!/bin/sh\n", hold=True)
        service.kill()
    return service.folder


def refused(service: Service) -> str:
    """The one line that a service says which cannot start."""
    before = len(service.log)
    service.start(wait=False)
    code, said = service.process.wait(PATIENCE), service.log[before:]
    assert "Traceback" not in said
    lines = [line for line in said.splitlines() if not line.startswith("{")]  # which are of the log
    assert (code, len(lines)) == (2, 1), said
    return lines[0].removeprefix("cosched: ")


def database(service: Service) -> dict[str, bytes]:
    """The files of its database; SQLite's shared memory is not of it."""
    return {path.name: path.read_bytes() for path in service.folder.glob("state.db*") if path.suffix != ".db-shm"}


# Databases


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        pytest.param(lambda data: bytes(100) + data[100:], "is not a database", id="its header is overwritten"),
        pytest.param(lambda data: data[: len(data) // 2], "is damaged: ", id="its second half is lost"),
    ],
)
def test_a_damaged_database_is_refused_and_kept(killed, make_service, damaged, said):
    service = make_service("a")
    for name in ("state.db", "state.db-wal"):
        shutil.copy(killed / name, service.folder)
    state = service.folder / "state.db"
    state.write_bytes(damaged(state.read_bytes()))
    before = database(service)
    assert refused(service).startswith(f"{state}: {said}")
    assert {name: data for name, data in database(service).items() if name in before} == before


def test_a_service_whose_database_is_damaged_while_it_serves_says_so_and_ends(make_service):
    service = make_service("a")
    state = service.folder / "state.db"
    with closing(Store.open(state, "a")) as store:
        numbers = range(1, 3001)
        add(store, (ended(n, JobState.COMPLETED, ended_at=int(time.time())) for n in numbers))
    service.start()
    with open(state, "r+b") as file:
        for page in range(40, state.stat().st_size // PAGE):
            file.seek(page * PAGE)
            file.write(b"\xa5" * PAGE)
    with service.client(timeout=5.0) as client, pytest.raises(ClientError):
        client.jobs(states=["completed"])
    assert service.process.wait(PATIENCE) == 1
    lines = [line for line in service.log.splitlines() if not line.startswith("{")]
    damaged = f"{state}: is damaged: database disk image is malformed; {REMEDY}"
    assert lines == [f"cosched: ended, and nothing more is written: {damaged}"]
    assert "Traceback" not in service.log
    assert refused(service).startswith(f"{state}: is damaged: ")


def test_the_second_service_on_a_database_is_refused_and_the_first_goes_on(make_service):
    first, second = make_service("a"), make_service("other")
    first.start()
    second.config["domain"]["name"] = "a"
    second.config["domain"]["state"] = str(first.folder / "state.db")
    assert refused(second) == f"{first.folder / 'state.db'}: is in use by another service"
    with first.client() as client:
        job = client.submit("#!/bin/sh\n")
        wait_until(lambda: client.job(job).state == "completed")


# Folders


def test_a_missing_state_folder_is_named_and_not_made(make_service):
    service = make_service("a")
    state = service.folder / "none" / "state.db"
    service.config["domain"]["state"] = str(state)
    assert refused(service) == f"{service.folder / 'config.toml'}:domain.state: there is no folder '{state.parent}'"
    assert not state.parent.exists()


@pytest.fixture
def without_privileges() -> tuple[str, ...]:
    """The command as one for whom the modes of files count, whoever runs the test."""
    if os.geteuid() != 0:
        return COMMAND
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv command")
    return "setpriv", "--bounding-set=-all", "--inh-caps=-all", *COMMAND


def test_a_state_folder_that_may_not_be_written_is_named(make_service, without_privileges):
    service = make_service("a")
    service.wrapper = without_privileges
    folder = service.folder / "state"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    service.config["domain"]["state"] = str(folder / "state.db")
    assert refused(service).startswith(f"{folder / 'state.db'}: its folder cannot be written: ")
    assert refused(service).endswith(f" may not write in {folder} (mode 0500, of root:root)")
    assert list(folder.iterdir()) == []


# Addresses


@pytest.mark.parametrize("key", ["listen", "http"])
def test_an_address_in_use_is_named(make_service, key):
    service = make_service("a")
    with socket.create_server(("127.0.0.1", 0)) as other:
        service.config["domain"][key] = address = f"127.0.0.1:{other.getsockname()[1]}"
        said = refused(service)
    assert said.startswith(f"{service.folder / 'config.toml'}:domain.{key}: {address} ")
    assert "in use" in said


def test_the_socket_of_a_live_service_is_not_taken(make_service):
    first, second = make_service("a"), make_service("b")
    first.start()
    second.config["domain"]["socket"] = str(first.folder / "sock")
    assert str(first.folder / "sock") in refused(second)
    assert first.is_serving()
