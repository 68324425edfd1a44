"""Which domain is called without being named: a file of the user's, of the host's, or the host's only domain."""

import asyncio
import os
import tomllib
from pathlib import Path

import pytest

from cosched.client import defaults
from cosched.client.connection import Tls, of_domain, server_address
from cosched.service.listeners.local_socket import listen_at
from cosched.sockets.domain_sockets import private_folder
from cosched_adapters.hook_socket import HookSocket
from tests.service.test_local_socket import listening


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user without settings, on a host without any."""
    for name in ("SERVER", "CA", "CERTIFICATE", "KEY", "SERVER_IDENTITY"):
        monkeypatch.delenv(f"COSCHED_{name}", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(defaults, "HOST_FILE", tmp_path / "etc" / "client.toml")
    monkeypatch.setattr(defaults, "SOCKETS", tmp_path / "run")
    for folder in ("home/.config/cosched", "etc", "run"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def serve(socket):
    """What a domain's service makes to listen at this socket."""
    socket.touch()
    private_folder(socket).mkdir()


def test_the_only_domain_of_the_host(home):
    said = "none is served on this host: set COSCHED_SERVER to unix:PATH or HOST:PORT, or have a service of your own"
    with pytest.raises(ValueError, match=f"^no domain is named, and {said}: cosched up$"):
        server_address(None)
    serve(home / "run" / "intrepid.sock")
    assert server_address(None) == f"unix:{home}/run/intrepid.sock"
    serve(home / "run" / "eureka.sock")
    with pytest.raises(ValueError, match=r"several domains are served .*\(unix:.*eureka.sock, unix:.*\): name"):
        server_address(None)


@pytest.mark.parametrize("shipped", ["slurm/intrepid.toml", "pbs/mira.toml"])
def test_sockets_of_hooks_and_of_the_page_are_no_domains(home, shipped):
    async def look():
        given = tomllib.loads((Path(__file__).resolve().parents[2] / "deploy" / shipped).read_text())
        domain, hooks = (Path(given[table][key]) for table, key in (("domain", "socket"), ("manager", "hook_socket")))
        assert domain.parent == hooks.parent == Path("/run/cosched"), "users look there"
        answering = HookSocket(defaults.SOCKETS / hooks.name, (), 0o666, lambda _: asyncio.Protocol())
        await answering.open()
        with listen_at(defaults.SOCKETS / "page.sock"):
            with pytest.raises(ValueError, match="none is served on this host"):
                server_address(None)
            async with listening(defaults.SOCKETS / domain.name):
                assert server_address(None) == f"unix:{home}/run/{domain.name}"
                assert list(defaults.named_domains({"HOME": str(home)})) == [given["domain"]["name"]]
        await answering.close()

    asyncio.run(look())


def test_the_users_file_comes_before_the_hosts_and_the_environment_before_both(home, monkeypatch):
    (home / "etc" / "client.toml").write_text('server = "unix:/host"')
    assert server_address(None) == "unix:/host"
    (home / "home/.config/cosched/client.toml").write_text('server = "unix:/mine"')
    assert server_address(None) == "unix:/mine"
    monkeypatch.setenv("COSCHED_SERVER", "unix:/here")
    assert server_address(None) == "unix:/here"


def test_the_file_names_certificates_beside_it(home, monkeypatch):
    folder = home / "home/.config/cosched"
    (folder / "client.toml").write_text('ca = "ca.pem"\ncertificate = "ann.pem"\nkey = "/keys/ann.key"\n')
    assert Tls.from_environment(os.environ) == Tls(f"{folder}/ca.pem", f"{folder}/ann.pem", "/keys/ann.key")
    monkeypatch.setenv("COSCHED_CA", "other.pem")
    assert Tls.from_environment(os.environ) == Tls("other.pem")


@pytest.mark.parametrize(
    ("text", "said"),
    [("sever = 1", "client.toml: sever: no such key"), ("server = 1", "server: must be text"), ("=", "client.toml: ")],
)
def test_a_file_that_cannot_be_used_is_named(home, text, said):
    (home / "etc" / "client.toml").write_text(text)
    with pytest.raises(ValueError, match=said):
        server_address(None)


def test_domains_are_found_by_name(home, monkeypatch):
    serve(home / "run" / "intrepid.sock")
    folder = home / "home/.config/cosched"
    (folder / "client.toml").write_text(
        'ca = "ca.pem"\nserver_identity = "spiffe://site/cosched/intrepid"\n[domains]\nmira = "unix:/mira"\n'
        'eureka = { server = "eureka:7050", server_identity = "spiffe://site/cosched/eureka" }\n'
    )
    assert of_domain("intrepid") == (f"unix:{home}/run/intrepid.sock", None)
    assert of_domain("mira") == ("unix:/mira", None)
    ours = Tls(f"{folder}/ca.pem", server_identity="spiffe://site/cosched/eureka")
    assert of_domain("eureka") == ("eureka:7050", ours)
    monkeypatch.setenv("COSCHED_DOMAINS", "mira=unix:/other, theta=theta:7050")
    assert of_domain("mira") == ("unix:/other", None)
    assert of_domain("theta") == ("theta:7050", Tls(f"{folder}/ca.pem"))
    with pytest.raises(ValueError, match=r"domain vesta is not known \(known: .*\): set COSCHED_DOMAINS to vesta=ADD"):
        of_domain("vesta")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("domains = 1", "client.toml: domains: must be a table"),
        ("[domains]\na = 1", "client.toml: domains.a: must be an address, or a table with a server"),
        ('[domains]\na = { ca = "x" }', "client.toml: domains.a: must be an address, or a table with a server"),
        ('[domains]\na = { server = "x", y = "z" }', "client.toml: domains.a.y: no such key"),
    ],
)
def test_a_table_of_domains_that_cannot_be_used_is_named(home, text, said):
    (home / "etc" / "client.toml").write_text(text)
    with pytest.raises(ValueError, match=said):
        of_domain("a")
