"""Open connections whose certificates would be refused now come to an end."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import grpc
import pytest

from cosched.service.api.receiving import ReceivingServer, Reception
from cosched.service.listeners import remote_socket
from cosched.service.listeners.remote_socket import RemoteSocket
from cosched.service.metrics import Metrics
from cosched.service.wire.callers import certificate_callers
from cosched.service.wire.tls import PeerCredentials, ServerTls
from cosched.service.wire.tls_files import TlsFiles
from cosched.sockets.connections import Room
from cosched.v1.domain_pb2 import GetDomainRequest, GetDomainResponse
from cosched.v1.domain_pb2_grpc import DomainServiceServicer, DomainServiceStub, add_DomainServiceServicer_to_server
from tests.service.pki import EUREKA, INTREPID, TIMEOUT, Pki, channel_to
from tests.waiting import until


class Later(datetime):
    """A clock that is two days ahead: the certificates of tests are valid for a day."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + timedelta(days=2)


class Domain(DomainServiceServicer):
    """Answers everybody."""

    async def GetDomain(self, *_: object) -> GetDomainResponse:  # noqa: N802
        return GetDomainResponse()


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_socket, "LOOK", 0.01)


@asynccontextmanager
async def listening(folder: Path, files: TlsFiles) -> AsyncIterator[RemoteSocket]:
    front = RemoteSocket("127.0.0.1:0", folder / "private", Room(64, of_origin=32, of_user=32), files)
    server = grpc.aio.server()
    receiving = ReceivingServer(server, Reception(Metrics("here")), certificate_callers({EUREKA: "eureka"}), front.keep)
    add_DomainServiceServicer_to_server(Domain(), receiving)
    await front.open(server, lambda address: server.add_secure_port(address, ServerTls(files).credentials()))
    try:
        yield front
    finally:
        await front.close(0)


@asynccontextmanager
async def connected(folder: Path, files: TlsFiles, pki: Pki) -> AsyncIterator[tuple[RemoteSocket, grpc.aio.Channel]]:
    """Connected by eureka."""
    client = PeerCredentials(pki.made("eureka", [EUREKA]))
    async with listening(folder, files) as front, channel_to(f"127.0.0.1:{front.port}", client, INTREPID) as channel:
        await ask(channel)
        yield front, channel


async def ask(channel: grpc.aio.Channel) -> None:
    await DomainServiceStub(channel).GetDomain(GetDomainRequest(), timeout=TIMEOUT)


async def test_a_connection_ends_when_the_certificate_of_its_caller_expires(pki, tmp_path, monkeypatch, caplog):
    async with connected(tmp_path, pki.files("intrepid"), pki) as (front, channel):
        await ask(channel)
        assert len(front._passed) == 1
        monkeypatch.setattr(remote_socket, "datetime", Later)
        await until(lambda: not front._passed)
    assert "the certificate of 127.0.0.1 has expired" in caplog.text


async def test_an_authority_that_is_no_longer_trusted_is_refused_on_open_connections_too(pki: Pki, tmp_path: Path):
    files, other = pki.files("intrepid"), Pki(tmp_path / "other")
    async with connected(tmp_path, files, pki) as (front, channel):
        shutil.copy(other.folder / "ca.pem", pki.folder / "ca.pem")
        await until(lambda: not front._passed)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(channel)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_no_connection_lives_on_once_our_certificate_has_expired(pki, tmp_path, monkeypatch):
    files = pki.files("intrepid")
    async with connected(tmp_path, files, pki) as (front, _):
        monkeypatch.setattr(type(files.current()[1]), "problem", lambda _: "has expired")
        await until(lambda: not front._passed)
