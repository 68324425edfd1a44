"""Revoked certificates: their callers are refused, on open connections too; and what is wrong with lists."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from cosched.service.listeners import remote_socket
from cosched.service.wire.tls import PeerCredentials
from cosched.words.error_details import error_info
from cosched.words.errors import InputError
from tests.logged import logged
from tests.service.pki import EUREKA, INTREPID, Pki, channel_to, errors
from tests.service.test_tls_connections import ask, listening
from tests.waiting import until


async def _refusal(channel: grpc.aio.Channel) -> tuple[str, str]:
    """The reason by which a call is refused, and its words."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask(channel)
    info = error_info(caught.value)
    return info[0] if info else "", caught.value.details() or ""


async def test_the_next_call_after_a_revocation_is_refused_with_one_line_on_both_sides(
    pki: Pki, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_socket, "LOOK", 10_000.0)  # the connection stays open
    stolen, other, files = pki.peers("eureka"), pki.peers("mira"), pki.with_list("intrepid")
    async with listening(tmp_path, files) as front:
        here = f"127.0.0.1:{front.port}"
        async with channel_to(here, stolen, INTREPID) as channel, channel_to(here, other, INTREPID) as harmless:
            await ask(channel)
            await ask(harmless)
            pki.revoke("eureka")
            serial = stolen._files.current()[1].leaf.serial_number
            which = f"certificate {EUREKA} (serial number {serial:x})"
            for _ in range(3):
                assert await _refusal(channel) == ("CERTIFICATE_REVOKED", f"the {which} is revoked")
            await ask(harmless)
            assert len(front._passed) == 2
            assert logged(caplog, logging.WARNING) == [f"refused: {which} of 127.0.0.1 is revoked"]
            pki.files("eureka", force=True)
            async with channel_to(here, PeerCredentials(pki.open("eureka")), INTREPID) as renewed:
                await ask(renewed)


async def test_a_revoked_caller_that_only_listens_loses_its_connection_and_others_do_not(pki: Pki, tmp_path: Path):
    files = pki.with_list("intrepid")
    async with listening(tmp_path, files) as front:
        here = f"127.0.0.1:{front.port}"
        stolen, other = pki.peers("eureka"), pki.peers("mira")
        async with channel_to(here, stolen, INTREPID) as channel, channel_to(here, other, INTREPID) as harmless:
            await ask(channel)
            await ask(harmless)
            pki.revoke("eureka")
            await until(lambda: len(front._passed) == 1)
            await ask(harmless)
            reason, _ = await _refusal(channel)  # on a new connection
            assert reason == "CERTIFICATE_REVOKED"


def _replaced(path: Path, content: bytes) -> None:
    path.with_suffix(".new").write_bytes(content)
    path.with_suffix(".new").replace(path)


SPOILT = b"-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"
BAD: list[tuple[Callable[[Pki, Path], object], str]] = [
    (lambda _, crl: _replaced(crl, b"nonsense"), "ca.crl: is not a certificate revocation list in PEM"),
    (lambda _, crl: _replaced(crl, SPOILT), "ca.crl: is not a certificate revocation list in PEM"),
    (
        lambda pki, crl: shutil.copy(Pki(pki.folder / "other").revoke(), crl),
        "whose certificate is not in tls.ca, or not signed by it",
    ),
    (
        lambda pki, _: pki.odd_list(partial=True),
        "ca.crl: has only what changed since another list: name a complete one",
    ),
    (lambda _, crl: crl.unlink(), "ca.crl: No such file or directory"),
]


@pytest.mark.parametrize(("spoil", "reason"), BAD)
def test_a_list_that_cannot_be_used_is_told_in_one_line_and_never_replaces_a_good_one(pki, spoil, reason, caplog):
    eureka = pki.files("eureka").current()[1].leaf
    files = pki.with_list("intrepid", "eureka")
    spoil(pki, pki.folder / "ca.crl")
    for _ in range(2):
        assert files.current()[1].revokes(eureka)
    [line] = errors(caplog)
    assert line.startswith("the new list of revoked certificates cannot be used, so the old one stays in use: ")
    assert reason in line
    with pytest.raises(InputError) as caught:
        pki.open("intrepid", pki.folder / "ca.crl")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_expired_list_revokes_what_it_names_and_replaces_no_good_one(pki: Pki, caplog: pytest.LogCaptureFixture):
    eureka, mira = (pki.files(name).current()[1].leaf for name in ("eureka", "mira"))
    files = pki.with_list("intrepid", "eureka")
    path = pki.odd_list(mira, end=-1)
    assert files.current()[1].revokes(eureka)
    assert not files.current()[1].revokes(mira)
    [line] = errors(caplog)
    assert f"so the old one stays in use: {path}: has expired on " in line
    caplog.clear()
    assert pki.open("intrepid", path).current()[1].revokes(mira)
    [line] = errors(caplog)
    assert line.startswith(f"{path} has expired on ")
    assert line.endswith("get a new list from the authority; what it revokes stays revoked")


def test_a_list_does_not_keep_new_certificates_from_being_used(pki: Pki) -> None:
    files = pki.with_list("intrepid")
    generation = files.current()[0]
    _replaced(pki.folder / "ca.crl", b"nonsense")
    pki.files("intrepid", force=True)
    assert files.current()[0] == generation + 1


def test_a_list_of_a_new_authority_is_used_as_soon_as_the_authority_is(pki: Pki, tmp_path: Path) -> None:
    other = Pki(tmp_path / "other")
    stolen = other.files("eureka").current()[1].leaf
    files = pki.with_list("intrepid")
    _replaced(pki.folder / "ca.crl", pki.revoke().read_bytes() + other.revoke("eureka").read_bytes())
    assert not files.current()[1].revokes(stolen)
    ca = pki.folder / "ca.pem"
    _replaced(ca, ca.read_bytes() + (other.folder / "ca.pem").read_bytes())
    assert files.current()[1].revokes(stolen)


def test_a_domain_whose_own_certificate_is_revoked_says_so(pki: Pki, caplog: pytest.LogCaptureFixture) -> None:
    pki.with_list("intrepid", "intrepid")
    assert errors(caplog) == [f"{pki.folder / 'intrepid.pem'} is revoked: nobody will accept it"]
