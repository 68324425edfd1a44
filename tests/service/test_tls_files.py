"""The files of [tls] change while the service runs; and what is wrong with them is told in one line."""

import shutil
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from cosched.certificates.pem import server_name
from cosched.service.wire.tls import PeerCredentials, ServerTls
from cosched.service.wire.tls_files import TlsFiles
from cosched.words.errors import InputError
from tests.service.pki import EUREKA, INTREPID, Answering, Pki, ask, ask_once, channel_to, errors, serving, write_leaf


async def test_new_connections_use_new_files_and_old_connections_live_on(intrepid: str, pki: Pki) -> None:
    client = pki.peers("client")
    async with channel_to(intrepid, client, INTREPID) as old:
        assert "client" in await ask(old)
        pki.made("intrepid", [EUREKA], [server_name(EUREKA)])
        assert "client" in await ask_once(intrepid, client, EUREKA)
        with pytest.raises(grpc.aio.AioRpcError):
            await ask_once(intrepid, client, INTREPID)
        assert "client" in await ask(old)


async def test_another_authority_is_trusted_as_soon_as_its_file_is_there(pki: Pki, tmp_path: Path) -> None:
    other = Pki(tmp_path / "other")
    stranger = other.peers("eureka")
    files = pki.files("intrepid")
    shutil.copy(other.folder / "ca.pem", tmp_path / "trusted.pem")
    trusting = TlsFiles(tmp_path / "trusted.pem", pki.folder / "intrepid.pem", pki.folder / "intrepid.key")
    assert trusting.current()[1].identity == files.current()[1].identity
    shutil.copy(pki.folder / "ca.pem", tmp_path / "trusted.pem")
    both = (pki.folder / "ca.pem").read_bytes() + (other.folder / "ca.pem").read_bytes()
    (other.folder / "ca.pem").write_bytes(both)  # the stranger knows us already
    async with serving(Answering(), ServerTls(trusting).credentials()) as address:
        with pytest.raises(grpc.aio.AioRpcError):
            await ask_once(address, stranger, INTREPID)
        (tmp_path / "trusted.pem").write_bytes(both)
        assert await ask_once(address, stranger, INTREPID) == repr([EUREKA])


async def test_broken_files_are_logged_once_and_the_old_ones_stay_in_use(intrepid: str, pki: Pki, caplog):
    client, key = pki.peers("client"), pki.folder / "intrepid.key"
    key.write_text("nonsense")
    for _ in range(2):
        assert "client" in await ask_once(intrepid, client, INTREPID)
    [said] = errors(caplog)
    assert said == f"the new TLS files cannot be used, so the old ones stay in use: {key}: is not a private key in PEM"
    pki.made("intrepid", [EUREKA], [server_name(EUREKA)])
    assert "client" in await ask_once(intrepid, client, EUREKA)


def test_expired_certificate_does_not_replace_a_good_one(pki: Pki, caplog: pytest.LogCaptureFixture) -> None:
    files = pki.files("intrepid")
    before = files.current()
    pki.made("intrepid", [INTREPID], begin=-3, end=-1)
    caplog.clear()
    assert files.current() == before
    assert "has expired on" in errors(caplog)[0]


def test_removed_files_stay_in_use(pki: Pki, caplog: pytest.LogCaptureFixture) -> None:
    files = pki.files("intrepid")
    before = files.current()
    (pki.folder / "intrepid.pem").unlink()
    assert files.current() == before
    assert errors(caplog)[0].endswith("intrepid.pem: No such file or directory")


def test_expired_certificate_at_the_start_is_used_and_logged(pki: Pki, caplog: pytest.LogCaptureFixture) -> None:
    assert pki.made("intrepid", [INTREPID], begin=-3, end=-1).current()[0] == 1
    assert errors(caplog)[0].endswith("nobody will accept it")


def test_server_certificate_that_no_peer_accepts_is_logged(pki: Pki, caplog: pytest.LogCaptureFixture) -> None:
    ServerTls(pki.made("intrepid", [INTREPID], ["localhost"])).credentials()
    assert f"lacks the DNS name {server_name(INTREPID)}" in errors(caplog)[0]


def test_generation_grows_with_the_files_and_only_then(pki: Pki) -> None:
    peers = pki.peers("intrepid")
    generation, credentials = peers.current()
    assert peers.current() == (generation, credentials)
    pki.files("intrepid", force=True)
    new_generation, new_credentials = peers.current()
    assert new_generation > generation
    assert new_credentials is not credentials


async def test_channel_of_a_peer_lives_on_when_its_files_change(intrepid: str, pki: Pki) -> None:
    client = pki.peers("client")
    async with channel_to(intrepid, client, INTREPID) as old:
        assert "client" in await ask(old)
        pki.made("client", [EUREKA])
        assert await ask_once(intrepid, client, INTREPID) == repr([EUREKA])
        assert "client" in await ask(old)


def test_key_is_in_no_text(pki: Pki) -> None:
    _, material = pki.files("intrepid").current()
    secret = (pki.folder / "intrepid.key").read_text().splitlines()[1]
    assert secret not in repr(material)
    assert secret[:20] not in repr(material)


def _encrypted(pki: Pki) -> None:
    path = pki.folder / "intrepid.key"
    key = load_pem_private_key(path.read_bytes(), None)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))


def _of_another(pki: Pki) -> None:
    pki.files("eureka")
    (pki.folder / "eureka.key").replace(pki.folder / "intrepid.key")


def _rsa(pki: Pki) -> None:
    secret = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (pki.folder / "intrepid.key").write_bytes(secret)


BAD: list[tuple[Callable[[Pki], object], str]] = [
    (lambda pki: (pki.folder / "ca.pem").unlink(), "ca.pem: No such file or directory"),
    (lambda pki: (pki.folder / "ca.pem").write_bytes(b""), "ca.pem: is not a certificate in PEM"),
    (lambda pki: (pki.folder / "intrepid.pem").write_bytes(b"\xff"), "intrepid.pem: is not a certificate in PEM"),
    (lambda pki: (pki.folder / "intrepid.key").write_bytes(b""), "intrepid.key: is not a private key in PEM"),
    (_encrypted, "intrepid.key: is encrypted; it must be a key without a passphrase"),
    (_of_another, "intrepid.key: is not the key that belongs to the certificate"),
    (_rsa, "intrepid.key: is not the key that belongs to the certificate"),
    (
        lambda pki: write_leaf(pki.authority, pki.folder / "intrepid", []),
        "must name one URI (subject alternative name) as identity, not 0",
    ),
    (
        lambda pki: write_leaf(pki.authority, pki.folder / "intrepid", [EUREKA, INTREPID]),
        "must name one URI (subject alternative name) as",
    ),
]


@pytest.mark.parametrize(("spoil", "reason"), BAD)
def test_files_that_cannot_be_used_are_refused_in_one_line(pki: Pki, spoil: Callable[[Pki], object], reason: str):
    pki.files("intrepid")
    spoil(pki)
    with pytest.raises(InputError) as caught:
        pki.open("intrepid")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_peer_credentials_tell_the_identity_to_check() -> None:
    assert PeerCredentials.options(EUREKA) == [("grpc.ssl_target_name_override", server_name(EUREKA))]
