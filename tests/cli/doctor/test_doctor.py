"""`cosched doctor` with real services, over TLS."""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cosched.certificates.authority import issue
from cosched.doctor.service import slots_on_record
from cosched.service.configuration_sections import DomainSection
from tests.live.secured import SITE, secure
from tests.live.services import Service, free_port, toml, wait_until
from tests.service.pki import Pki

Config = dict[str, Any]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One that every user can reach, as pytest's are not."""
    with tempfile.TemporaryDirectory(prefix="doctor-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def pki(folder: Path) -> Pki:
    pki = Pki(folder / "pki")
    for name in ("a", "b", "stranger"):
        issue(pki.authority, name, pki.folder)
    return pki


@pytest.fixture(scope="module")
def services(folder: Path, pki: Pki) -> Iterator[tuple[Service, Service]]:
    """Two domains that know each other; both serve."""
    a, b = Service(folder / "a", "a"), Service(folder / "b", "b")
    secure(a, pki.folder, [b])
    secure(b, pki.folder, [a])
    for service in (a, b):
        # Nothing is wrong with slowness.
        service.config["coscheduling"] |= {"peer_timeout": 60, "max_clock_offset": 30, "peer_grace": 60}
        service.start(wait=False)
    try:
        for service in (a, b):
            wait_until(service.is_serving, service.name)
        for service in (a, b):
            wait_until(lambda service=service: _reaches_its_peer(service), f"{service.name} reaches its peer")
        yield a, b
    finally:
        a.clear()
        b.clear()


def _reaches_its_peer(service: Service) -> bool:
    with service.client() as client:
        return client.domain().peers[0].state == "reachable"


@pytest.fixture
def doctor(services: tuple[Service, Service], cosched, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """What the command says of the domain a with a changed configuration, by subject, `change` being done to it."""

    def doctor(change: Callable[[Config], object], problems: int = 0, warnings: int = 0) -> dict[str, Any]:
        config = json.loads(json.dumps(services[0].config))
        config["domain"] |= {"socket": str(services[0].folder / "sock"), "state": str(services[0].folder / "state.db")}
        change(config)
        (tmp_path / "domain.toml").write_text(toml(config))
        exit_code = 2 if problems else 1 if warnings else 0
        said = json.loads(cosched("doctor", "--config", "domain.toml", "--json", exit_code=exit_code).stdout)
        assert (said["problems"], said["warnings"]) == (problems, warnings)
        return {finding["subject"]: finding for finding in said["findings"]}

    return doctor


def test_nothing_is_wrong_with_two_domains_that_know_each_other(services, cosched):
    a, b = services
    shown = cosched("doctor", "--config", a.folder / "config.toml").stdout
    lines = shown.splitlines()
    assert [line for line in lines if line and not line.startswith("  ")] == [
        "service", "local manager", "coscheduling", "certificates", "peers", lines[-1],
    ]  # fmt: skip
    assert lines[-1].startswith("a: nothing is wrong, ")
    assert f"b                  {b.address} answers within " in shown
    assert "b clock" in shown
    assert "\x1b[" not in shown


def never_run(config: Config, socket: str = "none") -> None:
    """Change the configuration to that of a service of which nothing is there yet."""
    config["domain"].update(socket=socket, state="none.db", listen=f"127.0.0.1:{free_port()}")


def test_a_service_that_has_never_run_is_a_warning(doctor):
    found = doctor(never_run, warnings=2)  # users cannot reach its socket either
    assert found["service"]["grade"] == "warning"
    assert found["service"]["lines"] == ["cosched serve --config domain.toml"]
    assert found["b"]["grade"] == "ok"


def test_a_service_that_has_run_and_does_not_is_a_problem_and_so_is_a_port_that_another_process_has(doctor, services):
    found = doctor(lambda config: config["domain"].update(socket="other"), problems=2, warnings=1)
    assert found["service"]["grade"] == "problem"
    assert f"{services[0].address} cannot be listened on: in use" in found["listen"]["found"]
    assert found["listen"]["lines"][0].startswith("ss -ltnp ")


def test_slots_are_those_that_the_service_tells_and_unknown_while_it_is_silent(services, tmp_path):
    section = DomainSection(name="a", listen="127.0.0.1:1", state=tmp_path / "db", socket=services[0].folder / "sock")
    assert slots_on_record(section) == {}
    assert slots_on_record(section.model_copy(update={"socket": tmp_path / "none"})) is None


def test_another_domain_at_the_socket_is_a_problem(doctor, services):
    found = doctor(lambda config: config["domain"].update(socket=str(services[1].folder / "sock")), problems=1)
    assert "the domain b is served" in found["service"]["found"]
    assert found["service"]["lines"] == ['socket = "/run/cosched/a.sock"']


def test_a_peer_that_does_not_answer_is_a_problem(doctor):
    address = f"127.0.0.1:{free_port()}"
    found = doctor(lambda config: config["peer"][0].update(address=address), problems=1)
    assert found["b"]["grade"] == "problem"
    assert f"{address} does not answer" in found["b"]["found"]
    assert "b clock" not in found


def test_a_peer_with_another_identity_is_a_problem(doctor):
    found = doctor(lambda config: config["peer"][0].update(identity=f"{SITE}c"), problems=1)
    assert found["b"]["grade"] == "problem"
    assert f"the peer's certificate is that of {SITE}b, not of {SITE}c" in found["b"]["found"]


def test_a_peer_that_does_not_know_this_domain_is_told_how_to(doctor, pki):
    def stranger(config: Config) -> None:
        files = {"certificate": f"{pki.folder}/stranger.pem", "key": f"{pki.folder}/stranger.key"}
        never_run(config)
        config["domain"].update(name="stranger")
        config["tls"].update(files)

    found = doctor(stranger, problems=1, warnings=2)
    assert found["b"]["grade"] == "problem"
    assert "is not a peer" in found["b"]["found"]
    assert found["b"]["lines"] == ["[[peer]]", 'name = "stranger"', f'identity = "{SITE}stranger"']


def test_files_that_do_not_fit_are_told_once_and_peers_are_not_called(doctor, pki):
    found = doctor(lambda config: config["tls"].update(key=f"{pki.folder}/b.key"), problems=2)
    assert found["tls"]["grade"] == found["peers"]["grade"] == "problem"


def test_plain_text_is_a_warning_and_a_peer_with_tls_a_problem(doctor):
    found = doctor(lambda config: config["domain"].update(plaintext=True), problems=1, warnings=1)
    assert found["tls"]["grade"] == "warning"
    assert "speaks TLS" in found["b"]["found"]


def test_a_setting_of_the_manager_that_is_wrong_is_a_problem(doctor):
    found = doctor(lambda config: config["manager"].update(slots=-1), problems=1)
    assert found["slots"]["file"] == "[manager] of the domain's file"
    found = doctor(lambda config: config.update(manager={"kind": "none"}), problems=1)
    assert "no adapter is named" in found["kind"]["found"]


def test_folders_that_are_not_there_are_problems(doctor):
    found = doctor(lambda config: never_run(config, "/nowhere/sock"), problems=1, warnings=1)
    assert found["socket"]["lines"][0].endswith("-m 755 /nowhere")


def test_a_configuration_that_cannot_be_read_ends_with_one_line(cosched, tmp_path):
    (tmp_path / "domain.toml").write_text("[domain]\nname = 7\n")
    result = cosched("doctor", "--config", "domain.toml", exit_code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("cosched: domain.toml:domain.name: ")
    assert result.stderr.count("\n") == 1


def test_colours_are_for_terminals_that_want_them(services, cosched, monkeypatch):
    command = ("doctor", "--config", services[0].folder / "config.toml")
    assert "\x1b[32mok" in cosched(*command, color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in cosched(*command, color=True).stdout
