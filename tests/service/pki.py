"""Certificates to test with, good and bad, and a gRPC server that says who calls it."""

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cosched.certificates.authority import Authority, init_authority, issue, open_authority, revoke
from cosched.service.wire.tls import PeerCredentials, ServerTls, identity
from cosched.service.wire.tls_files import TlsFiles
from tests.logged import logged

WHO = "/test.Test/Who"
TIMEOUT = 300  # seconds, of a call; only a safety net
INTREPID, EUREKA = "spiffe://site/cosched/intrepid", "spiffe://site/cosched/eureka"
ALICE, USERS = "spiffe://site/cosched/user/alice", "spiffe://site/cosched/user/"


@dataclass
class Pki:
    """A certificate authority in a folder, and files of who has a certificate of it."""

    folder: Path
    authority: Authority = field(init=False)

    def __post_init__(self) -> None:
        init_authority(self.folder)
        self.authority = open_authority(self.folder)

    def files(self, name: str, **options: Any) -> TlsFiles:
        """What a domain, or a user, is issued."""
        issue(self.authority, name, self.folder, **options)
        return self.open(name)

    def made(self, name: str, uris: list[str], dns: Sequence[str] = (), **validity: Any) -> TlsFiles:
        """A certificate with any names."""
        write_leaf(self.authority, self.folder / name, uris, dns, **validity)
        return self.open(name)

    def of_another(self, name: str) -> TlsFiles:
        """What another authority has issued, to somebody who trusts this one."""
        other = self.folder / "other"
        Pki(other).files(name)
        return TlsFiles(self.folder / "ca.pem", other / f"{name}.pem", other / f"{name}.key")

    def open(self, name: str, crl: Path | None = None) -> TlsFiles:
        return TlsFiles(self.folder / "ca.pem", self.folder / f"{name}.pem", self.folder / f"{name}.key", crl)

    def revoke(self, *names: str, days: int = 1) -> Path:
        """Write the list, with the certificates of these in it, too."""
        return revoke(self.authority, self.folder, [self.folder / f"{name}.pem" for name in names], days=days)[0]

    def with_list(self, name: str, *revoked: str) -> TlsFiles:
        """What a domain is issued, with a list of the certificates of these."""
        self.files(name)
        return self.open(name, self.revoke(*revoked))

    def odd_list(self, *revoked: x509.Certificate, end: int = 1, partial: bool = False) -> Path:
        """Write a list that ends so many days from now, or only a part of one, with these in it."""
        now, path = datetime.now(UTC), self.folder / "ca.crl"
        entry = x509.RevokedCertificateBuilder().revocation_date(now)
        entries = [entry.serial_number(each.serial_number).build() for each in revoked]
        made = (
            x509.CertificateRevocationListBuilder(revoked_certificates=entries)
            .issuer_name(self.authority.certificate.subject)
            .last_update(now - timedelta(2))
            .next_update(now + timedelta(end))
        )
        if partial:
            made = made.add_extension(x509.DeltaCRLIndicator(1), critical=True)
        made = made.sign(self.authority.key, hashes.SHA256())
        path.with_suffix(".new").write_bytes(made.public_bytes(Encoding.PEM))
        return path.with_suffix(".new").replace(path)

    def peers(self, name: str) -> PeerCredentials:
        """For a client with this new certificate."""
        return PeerCredentials(self.files(name))


def write_leaf(
    authority: Authority, stem: Path, uris: list[str], dns: Sequence[str] = (), begin: int = -1, end: int = 1
) -> None:
    """Valid from so many days from now to so many days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = [*map(x509.UniformResourceIdentifier, uris), *map(x509.DNSName, dns)]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(begin))
        .not_valid_after(now + timedelta(end))
        .add_extension(x509.SubjectAlternativeName(names), critical=True)
        .sign(authority.key, hashes.SHA256())
    )
    stem.with_suffix(".key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    stem.with_suffix(".pem").write_bytes(certificate.public_bytes(Encoding.PEM))


class Handler(grpc.GenericRpcHandler):
    """Answers each call so."""

    def __init__(self, answer: Callable[[bytes, Any], Awaitable[bytes]]) -> None:
        self._answer = answer

    def service(self, handler_call_details: Any) -> Any:  # noqa: ARG002
        return grpc.unary_unary_rpc_method_handler(self._answer)


class Answering(Handler):
    """Answers each call by what `say` makes of its context, by default who calls; counts the calls."""

    def __init__(self, say: Callable[[Any], object] = lambda context: identity(context.auth_context())) -> None:
        self.calls = 0
        self._say = say
        super().__init__(self._count)

    async def _count(self, _: bytes, context: Any) -> bytes:
        self.calls += 1
        return repr(self._say(context)).encode()


@contextlib.asynccontextmanager
async def serving(handler: Answering, credentials: grpc.ServerCredentials | None) -> AsyncIterator[str]:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([handler])
    async with running(server, credentials) as address:
        yield address


@contextlib.asynccontextmanager
async def running(server: grpc.aio.Server, credentials: grpc.ServerCredentials | None = None) -> AsyncIterator[str]:
    """The address of a server while it runs."""
    address = "127.0.0.1:0"
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


def channel_to(address: str, peers: PeerCredentials, identity: str) -> grpc.aio.Channel:
    """A channel as clients of peers make it."""
    return grpc.aio.secure_channel(address, peers.current()[1], options=peers.options(identity))


@pytest.fixture
async def intrepid(pki: Pki) -> AsyncIterator[str]:
    """The address of a server with intrepid's certificate, which says who calls."""
    async with serving(Answering(), ServerTls(pki.files("intrepid")).credentials()) as address:
        yield address


async def ask(channel: grpc.aio.Channel) -> str:
    """Who the server says that we are."""
    return (await channel.unary_unary(WHO)(b"", timeout=TIMEOUT)).decode()


async def ask_once(address: str, peers: PeerCredentials, identity: str) -> str:
    """The same, on a connection of its own."""
    async with channel_to(address, peers, identity) as channel:
        return await ask(channel)


def errors(caplog: Any) -> list[str]:
    return logged(caplog, logging.ERROR)
