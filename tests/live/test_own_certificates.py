"""A user's own service beside an administrators' one at HOST:PORT, by a certificate of that one's authority."""

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.own import SITE, Account, serving
from tests.live.services import free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.soak  # certificates are tried in test_tls_pair, own services in test_own_services
SECURED = """
[tls]
ca = "{files}/ca.pem"
certificate = "{files}/{name}.pem"
key = "{files}/{name}.key"

[[peer]]
name = "{peer}"
address = "127.0.0.1:{port}"
identity = "spiffe://site/cosched/{peer}"
owners = {{ {user} = "{user}" }}
other_owners = "nobody"
"""
OWN = "ann-intrepid"


def listening(config: str, port: int) -> str:
    return config.replace("[domain]\n", f'[domain]\nlisten = "127.0.0.1:{port}"\n')


def secured(files: Path, name: str, peer: str, port: int) -> str:
    return SECURED.format(files=files, name=name, peer=peer, port=port, user=getpass.getuser())


def issue(account: Account, files: Path, *names: str) -> None:
    account("certs", "init", str(files))
    for name in names:
        account("certs", "issue", str(files), *name.split())


@pytest.fixture
def ports() -> dict[str, int]:
    return {"eureka": free_port(), OWN: free_port()}


@pytest.fixture
def site(short_path: Path, ports: dict[str, int]) -> Iterator[Account]:
    """An account beside the administrators' service."""
    there = Account(short_path / "site", COSCHED_SERVER=f"unix:{short_path}/site/eureka.sock")
    files = short_path / "authority"
    issue(there, files, "eureka", OWN, "ann --user")
    config = there.folder / "eureka.toml"
    config.write_text(listening(SITE, ports["eureka"]) + secured(files, "eureka", OWN, ports[OWN]))
    with serving(config):
        yield there


@pytest.fixture
def here(short_path: Path, ports: dict[str, int]) -> Iterator[Account]:
    """The user's account, whose service listens, but is not secured yet, and does not run."""
    account = Account(short_path / "here")
    account("up", "--name", OWN, "--manager", "local")
    account("down")
    config = account.state / "service.toml"
    config.write_text(listening(config.read_text(), ports[OWN]))
    yield account
    account.run("down")


def test_a_certificate_leads_to_an_administrators_service(site: Account, here: Account, short_path, ports) -> None:
    notes, config, files = short_path / "notes", here.state / "service.toml", short_path / "authority"
    before = config.read_text()
    script = f"#!/bin/sh\necho run1 >> {notes}\n"
    config.write_text(before + secured(files, OWN, "eureka", ports["eureka"]))
    here("up")
    here("submit", "--pair", "run1", "-", text=script)
    wait_until(lambda: here.states() == ["HO"], "it waits for its mate there")
    site("submit", "--pair", "run1", "-", text=script)
    wait_until(lambda: notes.exists() and notes.read_text() == "run1\n" * 2, f"both start:\n{here.log}")

    issue(here, short_path / "other", OWN)
    for number, (wrong, said, remedy) in enumerate((
        (secured(short_path / "other", OWN, "eureka", ports["eureka"]),
         "the peer's certificate is not of this domain's certificate authority", "install the same authority on both"),
        (secured(files, "ann", "eureka", ports["eureka"]),
         "certificate spiffe://site/cosched/user/ann is not a peer", "name this domain there as below"),
    )):  # fmt: skip
        here("down")
        config.write_text(before + wrong)
        here("up")
        here("submit", "--pair", f"wrong{number}", "-", text=script)
        wait_until(lambda said=said: f"{said}\n" in here("domains"), said)
        checks = here.run("doctor", "--this-end").stdout
        assert remedy in checks
        assert said in checks
