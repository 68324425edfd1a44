"""TLS: certificates from files named by arguments or the environment."""

from contextlib import ExitStack
from dataclasses import replace

import grpc
import pytest

from cosched.certificates.authority import issue
from cosched.client import Client, Tls, Unreachable
from tests.client.fake_domain import serve
from tests.service.pki import EUREKA, Pki

SERVER = "spiffe://site/cosched/server"


@pytest.fixture
def serving(pki):
    """Start a domain, called server, that wants certificates, at these hosts; its HOST:PORT."""
    with ExitStack() as stack:

        def start(*hosts):
            own = issue(pki.authority, "server", pki.folder, hosts=hosts or ["127.0.0.1"])
            pair = own.key.read_bytes(), own.certificate.read_bytes()
            credentials = grpc.ssl_server_credentials([pair], (pki.folder / "ca.pem").read_bytes(), True)
            return stack.enter_context(serve("127.0.0.1:0", credentials)).address

        yield start


def of_user(pki, name="alice", **more):
    """The files of a user who has a certificate."""
    own = issue(pki.authority, name, pki.folder, user=True)
    return Tls(pki.folder / "ca.pem", own.certificate, own.key, **more)


def test_files_named_by_the_environment(serving, pki, monkeypatch):
    own = of_user(pki)
    for name, file in (("CA", own.ca), ("CERTIFICATE", own.certificate), ("KEY", own.key)):
        monkeypatch.setenv(f"COSCHED_{name}", str(file))
    with Client(serving()) as client:
        assert client.domain().name == "intrepid"


def test_the_identity_in_the_certificate_may_be_demanded(serving, pki):
    server = serving("elsewhere")
    with Client(server, tls=of_user(pki, server_identity=SERVER)) as client:
        assert client.domain().name == "intrepid"
    bob = of_user(pki, "bob", server_identity=EUREKA)
    for tls, wanted in ((bob, EUREKA), (replace(bob, server_identity=None), "127.0.0.1")):
        said = f"the certificate of {server} is not that of {wanted}: set COSCHED_SERVER_IDENTITY to the domain's URI"
        assert problem(server, tls) == said


def problem(server, tls=None):
    """What is said of TLS, in one line and at once; the exit code of commands is that of a domain out of reach."""
    with Client(server, tls=tls) as client, pytest.raises(Unreachable) as failed:
        client.domain()
    assert failed.value.reason == "TLS"
    return str(failed.value)


def test_a_domain_that_wants_tls_says_what_to_set(serving):
    server = serving()
    assert problem(server) == (
        f"{server} wants TLS: set COSCHED_CA, COSCHED_CERTIFICATE and COSCHED_KEY "
        "(or ca, certificate and key in client.toml)"
    )


def test_another_authority_is_one_plain_line(serving, pki, tmp_path):
    server, own = serving(), of_user(Pki(tmp_path / "other"))
    said = f"the certificate of {server} is not of the authority in {own.ca}: name the domain's as COSCHED_CA"
    assert problem(server, own) == said
    said = f"{server} refuses the certificate {own.certificate}: it has expired, or is not of the domain's authority"
    assert problem(server, replace(own, ca=pki.folder / "ca.pem")) == said


def test_a_domain_that_wants_its_users_certificate_says_so(serving, pki):
    server = serving()
    said = f"{server} wants a certificate of its user: set COSCHED_CERTIFICATE and COSCHED_KEY"
    assert problem(server, Tls(pki.folder / "ca.pem")) == said


def test_a_domain_without_tls(pki):
    with serve("127.0.0.1:0") as domain:
        assert problem(domain.address, Tls(pki.folder / "ca.pem")) == (
            f"{domain.address} does not speak TLS: unset COSCHED_CA (or ca in client.toml)"
        )


def test_files_that_do_not_fit(serving, pki):
    tls = replace(of_user(pki), key=of_user(pki, "bob").key)
    assert "the key is not the certificate's" in problem(serving(), tls)


def test_a_certificate_without_its_key():
    with pytest.raises(ValueError, match="needs its key"):
        Tls("ca.pem", "alice.pem")


def test_a_certificate_without_an_authority(monkeypatch):
    monkeypatch.delenv("COSCHED_CA", raising=False)
    monkeypatch.setenv("COSCHED_KEY", "alice.key")
    with pytest.raises(ValueError, match="need COSCHED_CA"):
        Client("localhost:1")


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Client("localhost:1", tls=Tls(tmp_path / "none.pem"))
