"""What is said of a service that does not run: by its unit, its user, its files and its ports."""

import os
import pwd
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from cosched.doctor import examine
from cosched.doctor.service import check_service, running_service
from cosched.service.configuration import Configuration, read_configuration
from cosched_adapters.findings import Finding, Grade
from tests.live.other_users import a_public_folder, acting_as, needs_root
from tests.live.services import free_port

SYSTEMCTL = """#!/bin/sh
echo "LoadState=loaded
ActiveState={state}
UnitFileState={enabled}
User={user}
ExecMainStatus=2
ExecStart={{ path=/opt/cosched/bin/cosched ; argv[]=/opt/cosched/bin/cosched serve --config {config} ; pid=0 }}"
"""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch):
    """A folder with the configuration of a domain that does not run, and with what systemd tells of its unit."""
    with a_public_folder() as folder:
        folder.chmod(0o755)
        (folder / "state").mkdir()
        (folder / "bin").mkdir()
        monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
        (folder / "a.toml").write_text(
            f'[domain]\nname = "a"\nlisten = "127.0.0.1:{free_port()}"\nplaintext = true\nsocket = "sock"\n'
            'state = "state/a.db"\n[manager]\nkind = "local"\nslots = 1\n'
        )
        yield folder


def told(folder: Path, state: str = "inactive", enabled: str = "disabled", user: str = "root") -> None:
    """Have systemctl tell this."""
    program = folder / "bin" / "systemctl"
    program.write_text(SYSTEMCTL.format(state=state, enabled=enabled, user=user, config=folder / "a.toml"))
    program.chmod(0o755)


def findings(folder: Path) -> dict[str, Finding]:
    """By subject."""
    configuration = read_configuration(folder / "a.toml")
    service = running_service(configuration.domain, str(folder / "a.toml"))
    return {found.subject: found for found in check_service(configuration, service, str(folder / "a.toml"))}


@pytest.mark.parametrize(
    ("state", "enabled", "grade"),
    [
        ("inactive", "disabled", "warning"),
        ("inactive", "enabled", "problem"),
        ("failed", "disabled", "problem"),
        ("activating", "enabled", "warning"),
    ],
)
def test_a_service_that_should_run_by_its_unit_is_a_problem(site: Path, state: str, enabled: str, grade: str) -> None:
    told(site, state, enabled)
    found = findings(site)["service"]
    assert found.grade == grade
    assert found.found.startswith(f"cosched@a is {state}, exit code 2: no process listens on ")
    assert found.lines == ("systemctl start cosched@a", "journalctl -u cosched@a -o cat -n 20")


def test_a_service_that_runs_with_another_socket_is_to_be_restarted(site: Path) -> None:
    told(site, "active", "enabled")
    found = findings(site)
    assert (found["service"].grade, found["service"].lines[0]) == ("problem", "systemctl restart cosched@a")
    assert "listen" not in found, "its own port is in use"


def test_the_unit_of_another_configuration_is_not_taken_for_this_one_s(site: Path) -> None:
    told(site, "failed", "enabled")
    (site / "bin" / "systemctl").write_text((site / "bin" / "systemctl").read_text().replace("a.toml", "b.toml"))
    assert findings(site)["service"].grade == "warning"
    (site / "state" / "a.db").touch()
    found = findings(site)["service"]
    assert (found.grade, found.lines) == ("problem", (f"cosched serve --config {site}/a.toml",))


@needs_root
@pytest.mark.parametrize("name", ["a.db", "a.db-wal", "a.db.lock"])
def test_a_database_of_another_user_is_found_by_the_unit_s_user(site: Path, name: str) -> None:
    told(site, user="daemon")
    os.chown(site / "state", pwd.getpwnam("daemon").pw_uid, 0)
    assert findings(site)["state"].grade is Grade.OK
    (site / "state" / name).touch(0o600)
    found = findings(site)["state"]
    assert found.found == f"daemon cannot write {site}/state/{name}, which belongs to root"
    assert found.lines == (f"chown daemon {site}/state/{name}",)


@pytest.mark.parametrize("own", [True, False])
def test_a_user_s_own_socket_is_its_alone_and_others_reach_a_site_s(site, monkeypatch, own) -> None:
    monkeypatch.setenv("COSCHED_STATE", str(site if own else site / "elsewhere"))
    site.chmod(0o700)
    told(site)
    found = findings(site)["socket"]
    assert (found.grade, found.lines) == (("ok", ()) if own else ("warning", (f"chmod a+x {site}",)))
    assert ("alone" in found.found) == own


def test_the_port_of_a_service_that_cannot_be_asked_is_not_taken_for_another_process_s(site: Path) -> None:
    (site / "a.toml").write_text((site / "a.toml").read_text().replace('socket = "sock"\n', ""))
    with socket.create_server(("127.0.0.1", read_port(site))):
        found = findings(site)
    assert "listen" not in found
    assert found["service"].found == "cannot be asked: domain.socket is not set"


def test_a_port_that_another_process_has_is_a_problem(site: Path) -> None:
    told(site)
    with socket.create_server(("127.0.0.1", read_port(site))):
        found = findings(site)["listen"]
    assert found.grade is Grade.PROBLEM
    assert "in use" in found.found
    assert "listen" not in findings(site)


def read_port(site: Path) -> int:
    return int(read_configuration(site / "a.toml").domain.listen.rpartition(":")[2])


@needs_root
def test_another_user_is_told_who_should_ask(site: Path) -> None:
    told(site)
    (site / "state").chmod(0o755)
    with acting_as("nobody"):
        found = findings(site)
    assert found["user"].grade is Grade.WARNING
    assert found["user"].lines == (f"runuser -u root -- cosched doctor --config {site}/a.toml",)


@needs_root
def test_whom_the_files_are_closed_to_is_told_who_can_read_them(site: Path, cosched: Callable[..., object]) -> None:
    told(site, user="daemon")
    (site / "state").chmod(0o700)
    with acting_as("nobody"):
        said = cosched("doctor", "--config", site / "a.toml", exit_code=2).stderr  # type: ignore[attr-defined]
    assert said.count("\n") == 1
    assert f"nobody may not enter {site}/state (mode 0700, of root:root)" in said
    assert f"run it as daemon: runuser -u daemon -- cosched doctor --config {site}/a.toml" in said


def test_a_check_that_fails_is_a_finding_and_all_others_go_on(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("as nobody expected")

    told(site)
    for check in ("check_coscheduling", "check_peers"):
        monkeypatch.setattr(f"cosched.doctor.{check}", fail)
    configuration: Configuration = read_configuration(site / "a.toml")
    found = examine(configuration, str(site / "a.toml"))
    assert list(found) == ["service", "local", "coscheduling", "certificates", "tokens", "peers"]
    for group in ("coscheduling", "peers"):
        assert [one.found for one in found[group]] == ["cannot be checked: RuntimeError: as nobody expected"]
    assert [one.subject for one in found["certificates"]] == ["tls"]
