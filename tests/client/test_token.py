"""The user's token: where it is found, and that it is sent over TLS only."""

import os

import grpc
import pytest

from cosched.certificates.authority import issue
from cosched.client import Client, ClientError, Tls
from cosched.client.connection import of_domain
from cosched.client.token import MOST, read_token
from cosched.service.wire.errors import Refusal
from tests.client.fake_domain import FakeDomain, serve
from tests.client.test_defaults import home

__all__ = ["home"]
TOKEN = "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"


@pytest.fixture(autouse=True)
def _without_tokens(monkeypatch):
    for name in ("COSCHED_TOKEN_FILE", "BEARER_TOKEN", "BEARER_TOKEN_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def shown(monkeypatch):
    """What comes as `authorization` with each call of the fake domain."""
    found = []
    get = FakeDomain.GetDomain

    async def noting(self, request, context):
        found.append([value for key, value in context.invocation_metadata() if key == "authorization"])
        return await get(self, request, context)

    monkeypatch.setattr(FakeDomain, "GetDomain", noting)
    return found


@pytest.fixture
def server(pki, shown):  # noqa: ARG001
    """A domain that has a certificate, and wants none."""
    own = issue(pki.authority, "server", pki.folder)
    pair = own.key.read_bytes(), own.certificate.read_bytes()
    with serve("127.0.0.1:0", grpc.ssl_server_credentials([pair])) as domain:
        yield domain


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "token"
    path.write_text(f" {TOKEN}\n")
    return path


def ask(server, tls=None):
    with Client(server.address, tls=tls) as client:
        return client.domain().name


def test_a_token_is_found_in_the_order_of_the_discovery_and_read_for_each_call(
    server, pki, home, file, shown, monkeypatch
):
    tls = Tls(pki.folder / "ca.pem")
    ask(server, tls)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    ask(server, tls)
    (home / f"bt_u{os.geteuid()}").write_text("of.the.session")
    ask(server, tls)
    file.write_text("of.the.file")
    monkeypatch.setenv("BEARER_TOKEN_FILE", str(file))
    ask(server, tls)
    monkeypatch.setenv("BEARER_TOKEN", "of.the.environment")
    ask(server, tls)
    with Client(server.address, tls=Tls(pki.folder / "ca.pem", token=file)) as client:
        for token in ("one.and.two", "three.and.four"):
            file.write_text(token)
            client.domain()
    of_discovery = ["of.the.session", "of.the.file", "of.the.environment"]
    assert shown == [[], [], *([f"Bearer {token}"] for token in (*of_discovery, "one.and.two", "three.and.four"))]


def test_client_toml_and_the_environment_name_the_file(server, pki, home, file, shown, monkeypatch):
    at = home / "etc" / "client.toml"
    at.write_text(f'server = "{server.address}"\nca = "{pki.folder}/ca.pem"\ntoken = "../token"\n')
    with Client() as client:
        client.domain()
    other = home / "other"
    other.write_text("an.other.one")
    monkeypatch.setenv("COSCHED_TOKEN_FILE", str(other))
    with Client() as client:
        client.domain()
    at.write_text(
        f'ca = "{pki.folder}/ca.pem"\n[domains]\neureka = {{server = "{server.address}", token = "{file}"}}\n'
    )
    with Client.of("eureka") as client:
        client.domain()
    assert shown == [[f"Bearer {TOKEN}"], ["Bearer an.other.one"], [f"Bearer {TOKEN}"]]


def test_a_user_with_a_certificate_shows_a_token_only_if_it_is_named(server, pki, file, shown, monkeypatch):
    monkeypatch.setenv("BEARER_TOKEN", "of.the.environment")
    own = issue(pki.authority, "ann", pki.folder, user=True)
    for token in (None, file):
        ask(server, Tls(pki.folder / "ca.pem", own.certificate, own.key, token=token))
    assert shown == [[], [f"Bearer {TOKEN}"]]


def test_a_token_is_never_sent_without_tls(home, file, shown, monkeypatch):
    for address in ("127.0.0.1:0", f"unix:{home}/s"):
        with serve(address) as server:
            monkeypatch.setenv("BEARER_TOKEN", TOKEN)
            ask(server)
            monkeypatch.delenv("BEARER_TOKEN")
            monkeypatch.setenv("COSCHED_TOKEN_FILE", str(file))
            if address.startswith("unix:"):
                ask(server)
            else:
                with pytest.raises(ValueError, match=f"the token in {file} is sent over TLS only: set COSCHED_CA"):
                    ask(server)
            monkeypatch.delenv("COSCHED_TOKEN_FILE")
    assert shown == [[]] * 3
    (home / "etc" / "client.toml").write_text(f'token = "{file}"\n[domains]\neureka = "127.0.0.1:1"\n')
    with pytest.raises(ValueError, match="is sent over TLS only"):
        of_domain("eureka")


@pytest.mark.parametrize("text", ["", "two words", "a\nb", "tök.e.n", "\x80\x00"])
def test_what_is_no_token_is_not_shown(tmp_path, text):
    path = tmp_path / "token"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=r"token holds no token: one line is expected$"):
        read_token(path)


def test_a_token_that_is_too_long(file):
    file.write_text("x" * (MOST + 1))
    with pytest.raises(ValueError, match="holds a token of 8,193 characters: domains take at most 8,192"):
        read_token(file)
    file.write_text("x" * MOST)
    assert read_token(file) == "x" * MOST


def test_a_file_that_is_not_there_is_told_at_once_or_as_soon_as_it_is_gone(server, pki, tmp_path, file):
    with pytest.raises(FileNotFoundError):
        Client(server.address, tls=Tls(pki.folder / "ca.pem", token=tmp_path / "none"))
    with Client(server.address, tls=Tls(pki.folder / "ca.pem", token=file)) as client:
        client.domain()
        file.unlink()
        with pytest.raises(ClientError, match=f"^{file}: No such file or directory$"):
            client.domain()


def test_a_refused_token_is_not_shown_again_and_again(server, pki, file, shown):
    server.domain.failures = [Refusal(grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REFUSED", "the token has expired")] * 2
    with pytest.raises(ClientError, match=r"^the token has expired$"):
        ask(server, Tls(pki.folder / "ca.pem", token=file))
    assert len(shown) == 1
