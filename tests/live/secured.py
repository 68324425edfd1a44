"""Services that speak TLS, and callers with certificates of all kinds."""

import getpass
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from cosched.certificates.pem import server_name
from cosched.client import Client, Tls
from cosched.service.wire.tls_files import TlsFiles
from cosched.words.error_details import error_info
from tests.live.services import PATIENCE, Service

SITE = "spiffe://site/cosched/"
USERS = f"{SITE}user/"
ME = getpass.getuser()  # whose services and jobs these are: nobody elsewhere, unless the peers say so


def secure(service: Service, files: Path, peers: Iterable[Service], **tls: str) -> None:
    """Speak TLS with the files NAME.pem, NAME.key and ca.pem of a folder, to these peers."""
    service.config["domain"]["plaintext"] = False
    own = {"certificate": str(files / f"{service.name}.pem"), "key": str(files / f"{service.name}.key")}
    service.config["tls"] = {"ca": str(files / "ca.pem"), **own, **tls}
    service.config["peer"] = []
    for peer in peers:
        service.add_peer(peer.name, peer.address, identity=SITE + peer.name, owners={ME: ME})


def client_of(service: Service, files: TlsFiles) -> Client:
    """A client over TLS, as the user of these files."""
    ca, certificate, key = files._paths
    return Client(service.address, tls=Tls(ca, certificate, key, SITE + service.name))


@contextmanager
def channel_of(service: Service, ca: Path, files: TlsFiles | None) -> Any:
    """A channel to the service's TLS listener, with a certificate or without."""
    key, certificate = (files.current()[1].key, files.current()[1].certificate) if files else (None, None)
    credentials = grpc.ssl_channel_credentials(ca.read_bytes(), key, certificate)
    name = [("grpc.ssl_target_name_override", server_name(SITE + service.name))]
    with grpc.secure_channel(service.address, credentials, name) as channel:
        yield channel


def refusal(call: Any, request: Any) -> tuple[str, str]:
    """Code and reason of the error by which a call is answered; ("OK", "") if it is not."""
    try:
        call(request, timeout=PATIENCE)
    except grpc.RpcError as error:
        info = error_info(error)
        return error.code().name, info[0] if info else ""
    return "OK", ""
