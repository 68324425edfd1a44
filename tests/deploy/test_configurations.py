"""The example configurations pass `cosched serve --check`, and the pair of the compose file works."""

import os
import re
import sqlite3
import subprocess
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from cosched.service.configuration import Configuration, read_configuration
from cosched.service.store import Store
from tests.live.services import COMMAND, PATIENCE, Service, free_port, script_that_notes, wait_until

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NAMES = ("intrepid", "eureka")


def run(*command: object) -> str:
    environment = {**os.environ, "PATH": f"{Path(COMMAND[0]).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def cosched(*arguments: object) -> str:
    return run(*COMMAND, *arguments)


def moved(path: Path, folder: Path, places: dict[str, Path]) -> Path:
    """A copy of a configuration, with paths that exist here."""
    text = path.read_text()
    for there, here in places.items():
        assert there in text
        text = text.replace(there, str(here))
    copy = folder / path.name
    copy.write_text(text)
    return copy


@pytest.fixture
def examples(tmp_path) -> list[Path]:
    """The pair with TLS, and certificates for it made as the page on operating says."""
    authority, tls = tmp_path / "authority", tmp_path / "tls"
    cosched("certs", "init", authority, "--site", "example")
    for name in NAMES:
        cosched("certs", "issue", authority, name, "--host", f"{name}.example.org", "--out", tls)
    (tls / "ca.pem").write_bytes((authority / "ca.pem").read_bytes())
    places = {"/etc/cosched/tls": tls, "/var/lib/cosched": tmp_path, "/run/cosched": tmp_path}
    return [moved(DEPLOY / "examples" / f"{name}.toml", tmp_path, places) for name in NAMES]


def test_the_pair_with_tls_passes_the_check(examples):
    for path in examples:
        said = cosched("serve", "--config", path, "--check")
        assert "mutual TLS" in said
        assert "warning" not in said


@pytest.mark.parametrize("name", NAMES)
def test_the_pair_on_loopback_passes_the_check(name):
    said = cosched("serve", "--config", DEPLOY / "examples" / "loopback" / f"{name}.toml", "--check")
    assert "without TLS" in said


def settings(configuration: Configuration) -> tuple[str, ...]:
    return configuration.domain.name, configuration.domain.listen.rpartition(":")[2]


def test_each_names_the_other_with_its_port(examples):
    pairs = [examples, [DEPLOY / "examples" / "loopback" / f"{name}.toml" for name in NAMES]]
    for pair in pairs:
        first, second = (read_configuration(path) for path in pair)
        for here, there in ((first, second), (second, first)):
            (peer,) = here.peers
            assert (peer.name, peer.address.rpartition(":")[2]) == settings(there)


# The pair in containers, without the containers


@pytest.fixture
def composed(tmp_path):
    """The services of the compose file as processes, with the certificates that its first service makes."""
    folders = {name: tmp_path / name for name in ("authority", *NAMES)}
    for _ in range(2):  # the second time it leaves them as they are
        run("sh", DEPLOY / "compose" / "certificates.sh", *folders.values())
    ports = {name: free_port() for name in NAMES}
    services = [service(tmp_path, name, ports) for name in NAMES]
    yield services
    for each in services:
        each.clear()


def service(folder: Path, name: str, ports: dict[str, int]) -> Service:
    made = Service(folder / name, name, ports[name])
    text = (DEPLOY / "compose" / f"{name}.toml").read_text()
    made.config = tomllib.loads(re.sub("/certs|/var/lib/cosched|/run/cosched", str(folder / name), text))
    (peer,) = made.config["peer"]
    assert peer["address"] == f"{peer['name']}:7700"
    peer["address"] = f"localhost:{ports[peer['name']]}"
    made.config["domain"] |= {"listen": made.address, "http": "127.0.0.1:0", "socket": "sock"}
    return made


def test_the_pair_of_the_compose_file_starts_linked_jobs_together(composed, tmp_path):
    for each in composed:
        each.start(wait=False)
    for each in composed:
        wait_until(each.is_serving, each.name)
    script = script_that_notes(tmp_path)
    intrepid, eureka = composed
    with intrepid.client() as first, eureka.client() as second:
        here = first.submit(script, pair="run7", directory=tmp_path / "intrepid")
        there = second.submit(script, pair="run7", directory=tmp_path / "eureka")
        wait_until(lambda: first.job(here).state == second.job(there).state == "completed", "both ended")
        wait_until(lambda: first.domain().peers[0].state == "reachable", "the other answers")
    assert_backup_is_whole(intrepid, tmp_path / "backup.db")


def assert_backup_is_whole(running: Service, copy: Path) -> None:
    """The backup of a running service's database that the page on operating tells of."""
    database = Path(str(running.config["domain"]["state"]))
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)  # what `.backup` of the sqlite3 command does
    with closing(Store.open(copy, running.name)) as store:
        assert store.next_job_id() == 2


def test_the_files_that_containers_need_exist():
    compose = yaml.load((DEPLOY / "compose.yaml").read_text(), yaml.BaseLoader)
    services, volumes = compose["services"], set(compose["volumes"])
    assert set(services) == {"certificates", *NAMES}
    build = services["certificates"]["build"]
    top = (DEPLOY / build["context"]).resolve()
    assert (top / build["dockerfile"]) == DEPLOY / "Containerfile"
    for each in services.values():
        assert each["image"] == services["certificates"]["image"]
        for volume in each["volumes"]:
            source, _, target = volume.partition(":")
            assert (DEPLOY / source).is_file() if source.startswith("./") else source in volumes
            assert target.startswith("/")
    for name in NAMES:
        socket = tomllib.loads((DEPLOY / "compose" / f"{name}.toml").read_text())["domain"]["socket"]
        assert services[name]["environment"]["COSCHED_SERVER"] == f"unix:{socket}"
        assert services[name]["depends_on"]["certificates"]["condition"] == "service_completed_successfully"


def test_the_image_is_built_from_what_there_is():
    """The image is built by wheels.sh, from a context that has what that copies and nothing else."""
    ignoring = (DEPLOY / "Containerfile.dockerignore").read_text().splitlines()
    context = {line[1:] for line in ignoring if line.startswith("!")}
    script = (DEPLOY / "copy-sources.sh").read_text().replace("\\\n", "")
    copied = re.search(r"^cp -R (.*) \S+$", script, re.MULTILINE)
    assert copied is not None
    assert context == {*copied[1].split(), "requirements.lock"}
    assert all((DEPLOY.parent / name).exists() for name in context)
