"""Who asks, as each kind of listener tells it; with real certificates."""

import os
import pwd
from collections.abc import AsyncIterator

import grpc
import pytest

from cosched.service.wire import callers
from cosched.service.wire.callers import Caller, certificate_callers, plaintext_callers, socket_caller
from cosched.service.wire.tls import PeerCredentials, ServerTls
from tests.service.pki import ALICE, EUREKA, INTREPID, USERS, Answering, Pki, ask, ask_once, serving, write_leaf

identify = certificate_callers({EUREKA: "eureka"}, USERS, ["root", "boss"])
WHO = [
    ([EUREKA], Caller("eureka", None, False, f"certificate {EUREKA}")),
    ([ALICE], Caller(None, "alice", False, f"certificate {ALICE}")),
    ([USERS + "boss"], Caller(None, "boss", True, f"certificate {USERS}boss")),
    ([INTREPID], Caller(None, None, False, f"certificate {INTREPID}")),
    ([EUREKA.upper()], Caller(None, None, False, f"certificate {EUREKA.upper()}")),
    ([EUREKA + "/x"], Caller(None, None, False, f"certificate {EUREKA}/x")),
    ([USERS], Caller(None, None, False, f"certificate {USERS}")),
    ([USERS + "boss/x"], Caller(None, None, False, f"certificate {USERS}boss/x")),
    ([USERS + "b%6Fss"], Caller(None, None, False, f"certificate {USERS}b%6Fss")),
]


@pytest.fixture
async def address(pki: Pki) -> AsyncIterator[str]:
    """That of a server, intrepid, which says whom it takes a caller for."""
    async with serving(Answering(identify), ServerTls(pki.files("intrepid")).credentials()) as address:
        yield address


async def test_certificates_say_who_asks(address: str, pki: Pki) -> None:
    for number, (uris, caller) in enumerate(WHO):
        client = PeerCredentials(pki.made(f"client{number}", uris))
        assert await ask_once(address, client, INTREPID) == repr(caller)


async def test_certificate_with_no_uri_or_with_two_known_ones_is_nobodys(address: str, pki: Pki) -> None:
    for uris, said in (([], "without a URI"), ([EUREKA, ALICE], f"{EUREKA}, {ALICE}")):
        nobody = Caller(None, None, False, f"certificate {said}")
        assert await _ask_with_uris(pki, address, uris) == repr(nobody)


async def test_a_name_that_is_no_uri_proves_nothing(address: str, pki: Pki) -> None:
    client = PeerCredentials(pki.made("client", [INTREPID], [EUREKA]))
    assert await ask_once(address, client, INTREPID) == repr(WHO[3][1])


async def test_without_a_prefix_there_are_no_users(pki: Pki) -> None:
    server = Answering(certificate_callers({EUREKA: "eureka"}, None, ["alice"]))
    async with serving(server, ServerTls(pki.files("intrepid")).credentials()) as address:
        alice = PeerCredentials(pki.files("alice", user=True))
        assert await ask_once(address, alice, INTREPID) == repr(Caller(None, None, False, f"certificate {ALICE}"))


async def test_what_is_logged_of_a_certificate_is_short_and_printable(pki: Pki) -> None:
    server = Answering(lambda context: identify(context).via)
    async with serving(server, ServerTls(pki.files("intrepid")).credentials()) as address:
        client = PeerCredentials(pki.made("client", ["urn:\n\x1b[31m" + "x" * 1000]))
        via = await ask_once(address, client, INTREPID)
    assert via.startswith("'certificate urn:??[31mxxx")
    assert len(via) < 250


async def test_nobody_is_known_without_tls() -> None:
    server = Answering(plaintext_callers(lambda _: "here"))
    async with serving(server, None) as address, grpc.aio.insecure_channel(address) as channel:
        assert await ask(channel) == repr(Caller(None, None, False, "plaintext from here"))
    assert plaintext_callers(lambda _: "here")(None).plaintext
    assert not socket_caller(1).plaintext


def test_users_of_this_host() -> None:
    somebody = next(entry for entry in pwd.getpwall() if entry.pw_uid not in (0, os.geteuid()))
    name, uid = somebody.pw_name, somebody.pw_uid
    assert socket_caller(uid) == Caller(None, name, False, f"socket uid {uid}")
    assert socket_caller(uid, [name]).operator
    assert socket_caller(0) == Caller(None, "root", True, "socket uid 0")
    assert socket_caller(os.geteuid()).operator


def test_nobody_elsewhere_is_taken_for_root_or_the_service_by_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TLS the service's own user may try out a pair on its host."""
    monkeypatch.setattr(os, "geteuid", lambda: pwd.getpwnam("daemon").pw_uid)
    assert callers.powerful_elsewhere(plaintext=False) >= {"root", "daemon"}
    assert {"root", "daemon"} & callers.powerful_elsewhere(plaintext=True) == {"root"}


def test_user_without_a_name() -> None:
    uid = max(entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid < 2**31) + 1000
    assert socket_caller(uid, [f"uid {uid}"]) == Caller(None, f"uid {uid}", False, f"socket uid {uid}")


async def _ask_with_uris(pki: Pki, address: str, uris: list[str]) -> str:
    """With a certificate that this program would not use itself."""
    write_leaf(pki.authority, pki.folder / "odd", uris)
    ca, key, pem = ((pki.folder / name).read_bytes() for name in ("ca.pem", "odd.key", "odd.pem"))
    credentials = grpc.ssl_channel_credentials(ca, key, pem)
    async with grpc.aio.secure_channel(address, credentials, PeerCredentials.options(INTREPID)) as channel:
        return await ask(channel)


@pytest.mark.parametrize("name", sorted({"root", pwd.getpwuid(os.geteuid()).pw_name}))
async def test_a_certificate_makes_nobody_root_or_the_service_unless_that_is_configured(pki: Pki, name: str) -> None:
    files, own = pki.made("client", [USERS + name]), pki.files("intrepid")
    for operators, known in (((), (None, False)), ((name,), (name, True))):
        told = certificate_callers({EUREKA: "eureka"}, USERS, operators)
        server = Answering(lambda context, told=told: (told(context).user, told(context).operator))
        async with serving(server, ServerTls(own).credentials()) as address:
            assert await ask_once(address, PeerCredentials(files), INTREPID) == repr(known)
