"""Users who show tokens: whose token is taken, and what is said of all others, over real TLS."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

from cosched.client import AsyncClient, ClientError, Tls
from cosched.client.connection import _name_to_check
from cosched.client.token import MOST
from cosched.service.api.quotas import CALLS
from cosched.service.api.receiving import ReceivingServer, Reception
from cosched.service.configuration_sections import Tokens
from cosched.service.description import describe
from cosched.service.listeners import remote_socket
from cosched.service.listeners.listening import SERVER_OPTIONS
from cosched.service.listeners.token_socket import TokenSocket
from cosched.service.metrics import Metrics
from cosched.service.preparing import addresses
from cosched.service.wire.tls import ServerTls
from cosched.service.wire.tls_files import TlsFiles
from cosched.service.wire.tokens import TokenCallers, read_keys
from cosched.sockets.connections import Room
from cosched.v1 import cluster_pb2, domain_pb2
from cosched.v1.domain_pb2_grpc import DomainServiceServicer, add_DomainServiceServicer_to_server
from cosched.words.errors import InputError
from tests.logged import logged
from tests.service.configured import PLAIN, SECURE, Read, Refusal
from tests.service.issuer import AUDIENCE, URL, Issuer
from tests.service.pki import INTREPID, Pki
from tests.service.test_tls_connections import Later
from tests.waiting import until

TIMEOUT = 300  # seconds; only a safety net


class Domain(DomainServiceServicer):
    """Names the user who calls as the domain; has an event for each as soon as it is asked."""

    def __init__(self, front: TokenSocket) -> None:
        self.front = front
        self.calls = 0
        self.go = asyncio.Event()
        self.go.set()

    async def GetDomain(self, _: Any, context: Any) -> domain_pb2.GetDomainResponse:  # noqa: N802
        self.calls += 1
        await self.go.wait()
        caller = self.front.identify(context)
        assert not caller.operator
        assert caller.peer is None
        return domain_pb2.GetDomainResponse(domain=cluster_pb2.Domain(name=caller.user))

    async def WatchEvents(self, _: Any, __: Any) -> AsyncIterator[domain_pb2.WatchEventsResponse]:  # noqa: N802
        self.calls += 1
        yield domain_pb2.WatchEventsResponse(event=domain_pb2.Event(sequence=self.calls))
        await asyncio.Event().wait()


class World:
    """A listener for users with tokens, and an issuer of these."""

    def __init__(self, folder: Path, files: TlsFiles, ca: Path, issuer: Issuer, **section: Any) -> None:
        self.issuer, self.ca = issuer, ca
        tokens = TokenCallers(Tokens.model_validate(issuer.section("127.0.0.1:0", **section)))
        self.front = TokenSocket("127.0.0.1:0", folder / "private", Room(64, 32, 32), files, tokens)
        self.domain = Domain(self.front)
        self.server = grpc.aio.server(options=SERVER_OPTIONS)
        receiving = ReceivingServer(self.server, Reception(Metrics("here")), self.front.identify, self.front.keep)
        add_DomainServiceServicer_to_server(self.domain, receiving)

    def client(self, token: str) -> AsyncClient:
        tls = Tls(self.ca, server_identity=INTREPID, token=self.issuer.file(token))
        return AsyncClient(f"127.0.0.1:{self.front.port}", tls=tls, timeout=TIMEOUT)

    async def user(self, token: str) -> str:
        """Who somebody with this token is here; ClientError."""
        async with self.client(token) as client:
            return (await client.domain()).name

    async def refusal(self, token: str) -> str:
        """What is said of a token that is not taken."""
        with pytest.raises(ClientError) as caught:
            await self.user(token)
        assert caught.value.reason == "TOKEN_REFUSED"
        assert "\n" not in caught.value.message
        assert token not in caught.value.message
        return caught.value.message


Make = Callable[..., Any]


@pytest.fixture
def make(pki: Pki, tmp_path: Path) -> Make:
    """Listen, with more of [tokens]."""
    files, issuer = pki.files("intrepid"), Issuer(tmp_path)

    @asynccontextmanager
    async def listening(**section: Any) -> AsyncIterator[World]:
        world = World(tmp_path, files, pki.folder / "ca.pem", issuer, **section)
        credentials = ServerTls(files, mutual=False).credentials()
        await world.front.open(world.server, lambda address: world.server.add_secure_port(address, credentials))
        try:
            yield world
        finally:
            await world.front.close(0)

    return listening


async def test_a_good_token_is_its_user_s_by_each_algorithm_and_without_nbf(make: Make) -> None:
    async with make() as world:
        for kid, algorithm in (("r", "RS256"), ("e", "ES256"), ("d", "EdDSA")):
            world.issuer.make(kid, algorithm)
        world.issuer.publish("first", "r", "e", "d")
        for kid in ("first", "r", "e", "d"):
            assert await world.user(world.issuer.token(kid, nbf=None)) == "daemon"
        assert await world.user(world.issuer.token(sub="nobody", aud=["other", AUDIENCE])) == "nobody"
        assert 8000 < len(long := world.issuer.token(groups="x" * 5800)) <= MOST
        assert await world.user(long) == "daemon"


async def test_what_is_said_of_a_token_that_is_not_taken(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    now = int(time.time())
    async with make() as world:
        issuer = world.issuer
        issuer.make("other")
        expired, early = issuer.token(exp=now - 60), issuer.token(nbf=now + 600)
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now - 60))
        told = {
            expired: f"the token has expired at {when}: get a new one",
            early: "the token is not valid yet: wait, or have the issuer's clock and the domain's set",
            issuer.token(iat=now + 600): "the token is not valid yet: wait",
            issuer.token(aud="eureka"): f"the token is for 'eureka', not for {AUDIENCE}: get one for that",
            issuer.token(aud=["ANY", "x"]): f'the token is for \'["ANY", "x"]\', not for {AUDIENCE}',
            issuer.token(iss="https://else.example"): f"the token is of 'https://else.example', not of {URL}: get one",
            issuer.token("other"): "the token is signed with the key 'other', not known here: get a new token; if that",
            issuer.token("other", header={"kid": "first"}): "the token's signature is wrong: get a new one",
            issuer.token(exp=None): "the token does not say exp: the issuer must add that",
            issuer.token(iat=None): "the token does not say iat",
            issuer.token(aud=None): "the token does not say aud",
            issuer.token(iss=None): f"the token is of nobody, not of {URL}: get one there",
            issuer.token(exp=-1e22): "the token has expired at 1970-01-01 00:00:00 UTC",
            issuer.token(exp="soon"): "the token cannot be used: Expiration Time claim (exp) must be an integer.",
            issuer.token(sub=None): "the token names nobody (sub): ask the domain's operators for an account",
            issuer.token(sub="a b"): "the token is that of 'a b', who has no account here (sub): ask",
            "nonsense": "this is no token that can be read, a JSON Web Token: get a new one",
        }
        for token, said in told.items():
            assert (await world.refusal(token)).startswith(said)
        assert world.domain.calls == 0
        assert [line.partition(":")[0] for line in logged(caplog, logging.WARNING)] == ["refused"]  # one a minute
        assert not any(token in caplog.text for token in told)


def _segment(part: dict[str, Any]) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")


async def test_a_token_that_anybody_could_have_made_is_refused(make: Make) -> None:
    async with make() as world:
        world.issuer.make("r", "RS256")
        world.issuer.publish("first", "r")
        claims = _segment(world.issuer.claims())
        public = world.issuer.private["r"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        for kid in ("r", "first"):
            for algorithm in ("none", "None", "HS256", "HS512"):
                signed = _segment({"alg": algorithm, "kid": kid, "typ": "JWT"}) + b"." + claims
                digest = hmac.new(public, signed, hashlib.sha256).digest() if algorithm != "none" else b""
                token = (signed + b"." + base64.urlsafe_b64encode(digest).rstrip(b"=")).decode()
                said = f"the token is signed by '{algorithm}', not by one of RS256, ES256, EdDSA"
                assert await world.refusal(token) == said
        crossed = jwt.encode(world.issuer.claims(), world.issuer.private["r"], "RS256", {"kid": "first"})
        assert "does not match the key's algorithm" in await world.refusal(crossed)


async def test_keys_that_are_not_for_tokens_verify_none(make: Make, tmp_path: Path) -> None:
    async with make() as world:
        weak = rsa.generate_private_key(65537, 1024)
        for described in (
            {**world.issuer.described("first"), "use": "enc"},
            {"kty": "oct", "k": "c2VjcmV0", "kid": "first", "alg": "HS256"},
            {**world.issuer.described("first"), "alg": "ES512"},
        ):
            path = tmp_path / "bad.jwks"
            path.write_text(json.dumps({"keys": [described]}))
            with pytest.raises(InputError, match="has no key for RS256, ES256, EdDSA"):
                read_keys(path)
        world.issuer.write(json.dumps({"keys": [{**RSAAlgorithm.to_jwk(weak.public_key(), as_dict=True), "kid": "w"}]}))
        with pytest.warns(jwt.InsecureKeyLengthWarning):
            token = jwt.encode(world.issuer.claims(), weak, "RS256", {"kid": "w"})
        assert "1024 bits" in await world.refusal(token)


async def test_what_grpc_lets_through_without_a_token_or_with_several_is_refused(make: Make) -> None:
    async with make() as world:
        address, trusting = f"127.0.0.1:{world.front.port}", grpc.ssl_channel_credentials(world.ca.read_bytes())
        channel = grpc.aio.secure_channel(address, trusting, _name_to_check(INTREPID))
        token = world.issuer.token()
        cases = {
            (): "no token came with the call: set COSCHED_TOKEN_FILE, or token in client.toml",
            (f"Bearer {token}", f"Bearer {token}"): "a call brings one token: authorization: Bearer TOKEN",
            (f"Basic {token}",): "a call brings one token: authorization: Bearer TOKEN",
            (f"Bearer {token}{'x' * MOST}",): "the token has ",
        }
        async with channel:
            call = channel.unary_unary("/cosched.v1.DomainService/GetDomain")
            for given, said in cases.items():
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await call(b"", metadata=[("authorization", each) for each in given], timeout=TIMEOUT)
                assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
                assert (caught.value.details() or "").startswith(said)
                assert token not in (caught.value.details() or "")
            assert await call(b"", metadata=[("authorization", f"bearer {token}")], timeout=TIMEOUT)


async def test_scopes_that_are_needed(make: Make) -> None:
    async with make(scopes=["compute.create", "cosched"]) as world:
        for granted in ("openid compute.create cosched", ["cosched", "compute.create"]):
            assert await world.user(world.issuer.token(scope=granted)) == "daemon"
        for granted, lacks in (("cosched", "compute.create"), ("compute.create cosched.read", "cosched"), (7, "co")):
            said = await world.refusal(world.issuer.token(scope=granted))
            assert said.startswith(f"the token lacks the scope {lacks}")


async def test_another_claim_or_a_table_names_the_account(make: Make) -> None:
    async with make(claim="preferred_username") as world:
        assert await world.user(world.issuer.token(sub="3f2a", preferred_username="nobody")) == "nobody"
        assert await world.refusal(world.issuer.token()) == (
            "the token names nobody (preferred_username): ask the domain's operators for an account"
        )
    async with make(accounts={"3f2a": "nobody", "7": "a b"}) as world:
        assert await world.user(world.issuer.token(sub="3f2a")) == "nobody"
        for subject in ("daemon", "nobody", "7"):  # none of them is in the table, or not with an account
            assert "who has no account here (sub)" in await world.refusal(world.issuer.token(sub=subject))


@pytest.mark.parametrize(
    ("user", "said"),
    [("root", "no token is taken for root, who has the rights of root"), ("no-such", "no-such has no account on this")],
)
async def test_a_token_stands_for_no_operator_and_for_nobody_who_is_not_here(make: Make, user: str, said: str) -> None:
    async with make(accounts={"daemon": user}) as world:
        with pytest.raises(ClientError, match=said) as caught:
            await world.user(world.issuer.token())
        assert caught.value.reason == "USER_UNKNOWN"
        assert world.domain.calls == 0


async def test_a_key_set_that_is_rotated_on_disk(make, caplog, monkeypatch):
    monkeypatch.setattr(remote_socket, "LOOK", 0.01)
    caplog.set_level(logging.INFO)
    async with make() as world:
        issuer = world.issuer
        issuer.make("second", "EdDSA")
        old, new = issuer.token(), issuer.token("second")
        assert await world.user(old) == "daemon"
        assert "not known here" in await world.refusal(new)
        issuer.publish("first", "second")
        assert [await world.user(token) for token in (old, new)] == ["daemon"] * 2
        async with world.client(old) as client:
            await client.domain()
            issuer.publish("second")
            await until(lambda: not world.front._passed)  # the connection that was opened by the key of before
        assert "not known here" in await world.refusal(old)
        assert await world.user(new) == "daemon"
        issuer.write("{}")
        assert await world.user(new) == "daemon"
    lines = logged(caplog, logging.INFO)
    assert f"{issuer.path}: the new key set is in use: first, second" in lines
    [bad] = [line for line in lines if "so the old one stays in use" in line]
    assert (
        bad == f"the new key set cannot be used, so the old one stays in use: {issuer.path}: is not a JSON Web Key Set"
    )


def test_a_key_without_an_id_verifies_tokens_without_one(tmp_path: Path) -> None:
    issuer = Issuer(tmp_path)
    described = issuer.described("first")
    del described["kid"]
    issuer.write(json.dumps({"keys": [described]}))
    callers = TokenCallers(Tokens.model_validate(issuer.section("127.0.0.1:0")))
    assert callers.caller([f"Bearer {issuer.token(header={})}"])[0].user == "daemon"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a JSON Web Key Set"),
        ("[]", "is not a JSON Web Key Set"),
        ('{"keys": 7}', "is not a JSON Web Key Set"),
        ('{"keys": [7]}', "is not a JSON Web Key Set"),
        ('{"keys": []}', "has no key for RS256, ES256, EdDSA"),
        ('{"keys": [{"kty": "RSA"}]}', "has no key for RS256, ES256, EdDSA"),
        ('{"keys": [{"kty": "RSA", "d": "AQAB"}]}', "has a private key: name the issuer's public keys"),
    ],
)
def test_a_key_set_that_cannot_be_used(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "keys").write_text(text)
    with pytest.raises(InputError, match=said):
        read_keys(tmp_path / "keys")
    with pytest.raises(InputError, match="No such file"):
        read_keys(tmp_path / "none")


async def test_what_is_received_ends_with_the_token_and_goes_on_with_a_new_one(make, monkeypatch):
    monkeypatch.setattr(remote_socket, "LOOK", 0.01)
    async with make() as world, world.client(world.issuer.token()) as client:
        events = client.events()
        first = await anext(events)
        world.issuer.file(world.issuer.token(exp=int(time.time()) + 10 * 86400))
        monkeypatch.setattr(remote_socket, "datetime", Later)  # the first token has expired
        assert (await anext(events)).sequence > first.sequence  # on a new connection
        assert world.domain.calls == 2


async def test_each_user_may_have_so_many_calls_open_whatever_the_token(make: Make) -> None:
    async with make() as world:
        world.domain.go.clear()
        clients = [world.client(world.issuer.token(jti=str(number))) for number in range(2)]
        asked = [asyncio.create_task(clients[number % 2].domain()) for number in range(CALLS.user)]
        await until(lambda: world.domain.calls == CALLS.user)
        monopolist = clients[0]._methods["GetDomain"]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await monopolist(domain_pb2.GetDomainRequest(), timeout=TIMEOUT)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "'daemon' has 64 calls open, the most that it may have" in (caught.value.details() or "")
        world.domain.go.set()
        assert {domain.name for domain in await asyncio.gather(*asked)} == {"daemon"}
        for client in clients:
            await client.close()


# What a configuration says of them

TOKENS = f"""{SECURE}
[tokens]
listen = "127.0.0.1:7702"
issuer = "https://login.example.org"
audience = "spiffe://site/cosched/intrepid"
keys = "ca.pem"
"""


def test_tokens_of_users(read: Read) -> None:
    found = read(TOKENS)
    assert (found.tokens.claim, found.tokens.accounts, found.tokens.scopes, found.tokens.leeway) == ("sub", {}, (), 30)
    described = "\n".join(describe(found))
    assert "users with tokens" in described
    assert "127.0.0.1:7702 (TLS), tokens of https://login.example.org for spiffe://" in described
    assert [address[:2] for address in addresses(found)] == [("domain", "listen"), ("tokens", "listen")]


def test_tokens_need_tls_and_a_key_set(refusal: Refusal) -> None:
    section = TOKENS.partition("[tokens]")[2]
    said = "tokens: tokens are taken over TLS only: set [tls], and no domain.plaintext"
    assert refusal(f"{PLAIN}[tokens]{section}") == said
    assert refusal(TOKENS.replace('name = "intrepid"', 'name = "intrepid"\nplaintext = true')) == said
    assert refusal(TOKENS.replace('keys = "ca.pem"', 'keys = "none"')).startswith("tokens.keys: ")
    assert refusal(TOKENS.replace(":7702", ":7701")).startswith("tokens.listen: is used in [domain] already")
    assert refusal(TOKENS + "leeway = 301\n").startswith("tokens.leeway: ")
    assert refusal(TOKENS + 'accounts = ["ann"]\n').startswith("tokens.accounts: ")
