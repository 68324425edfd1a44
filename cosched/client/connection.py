"""The address of a domain, and the channel to it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc

from cosched.client.defaults import BATCH_CONFIG, defaults, keys_of, only_socket
from cosched.client.token import with_token

_UNIX = "unix:"
_HOST_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):(\d{1,5})")
_OPTIONS: list[tuple[str, str | int]] = [
    ("grpc.enable_http_proxy", 0),  # a site's HTTP proxy cannot reach its clusters
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.max_receive_message_length", 64 << 20),  # a page of jobs with thousands of node names each
    ("grpc.keepalive_time_ms", 600_000),  # servers take a ping each five minutes without complaint
]


@dataclass(frozen=True, slots=True)
class Tls:
    """Files for TLS: the authority of the domain's certificate, and the user's own certificate and key, all PEM.

    `server_identity`: the URI in the domain's certificate, such as spiffe://site/cosched/eureka. Without it the
    certificate must name the HOST of HOST:PORT. `token`: the file of the user's token, for a domain that takes tokens.
    Without a certificate and this file, a token is looked for: see `cosched.client.token`.
    """

    ca: str | Path
    certificate: str | Path | None = None
    key: str | Path | None = None
    server_identity: str | None = None
    token: str | Path | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if only one of certificate and key is given."""
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a certificate needs its key, and a key its certificate")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Tls | None:
        """Return the TLS that the environment sets, else that of client.toml; None if no authority is set.

        The variables are COSCHED_CA, COSCHED_CERTIFICATE, COSCHED_KEY, COSCHED_SERVER_IDENTITY and COSCHED_TOKEN_FILE.
        """
        names = ("CA", "CERTIFICATE", "KEY", "SERVER_IDENTITY", "TOKEN_FILE")
        given = [environment.get(f"COSCHED_{name}") or None for name in names]
        if given[0] is None and (given[1] is not None or given[2] is not None):
            raise ValueError("COSCHED_CERTIFICATE and COSCHED_KEY need COSCHED_CA")
        if given[0] is None:
            kept = defaults(environment)
            given[:3] = [kept.get(name.lower()) for name in names[:3]]
            given[3:] = given[3] or kept.get("server_identity"), given[4] or kept.get("token")
        ca, certificate, key, identity, token = given
        if ca is None and token is not None:
            raise ValueError(f"the token in {token} is sent over TLS only: set COSCHED_CA, or ca in client.toml")
        return cls(ca, certificate, key, identity, token) if ca is not None else None

    def credentials(self) -> grpc.ChannelCredentials:
        """Read the files and return their credentials; OSError."""
        ca, certificate, key = (file and Path(file).read_bytes() for file in (self.ca, self.certificate, self.key))
        tls = grpc.ssl_channel_credentials(ca, key, certificate)
        return with_token(tls, self.token) if self.token is not None or certificate is None else tls


def server_address(server: str | None) -> str:
    """Return `server`, or its default: COSCHED_SERVER, client.toml, or this host's only domain; ValueError."""
    if server is None:
        server = os.environ.get("COSCHED_SERVER") or defaults(os.environ).get("server") or only_socket()
    if not server:
        raise ValueError("no domain is named: unix:PATH or HOST:PORT")
    if not (server.startswith(_UNIX) and len(server) > len(_UNIX)) and not _HOST_PORT.fullmatch(server):
        raise ValueError(f"{server!r} is neither unix:PATH nor HOST:PORT")
    return server


def chosen_tls(address: str, tls: Tls | None) -> Tls | None:
    """Return the TLS for this address: the given one, else the environment's, else that of client.toml; ValueError."""
    return None if address.startswith(_UNIX) else tls or Tls.from_environment(os.environ)


def of_domain(name: str) -> tuple[str, Tls | None]:
    """Return the address of the domain of this name, and its TLS; ValueError if it is not known."""
    kept = keys_of(name, os.environ)
    address = server_address(kept["server"])
    general = None if address.startswith(_UNIX) else Tls.from_environment(os.environ)
    if address.startswith(_UNIX) or (general is None and "ca" not in kept):
        return address, None
    own = {key: value for key, value in kept.items() if key not in ("server", BATCH_CONFIG)}
    return address, Tls(**own) if general is None else replace(replace(general, server_identity=None), **own)


def open_channel(library: Any, address: str, tls: Tls | None) -> Any:
    """Open a channel of `library`, which is grpc or grpc.aio. `tls` None: without TLS, as for every Unix socket."""
    if address.startswith(_UNIX):
        return library.insecure_channel(_UNIX + quote(address.removeprefix(_UNIX)), _OPTIONS)
    if tls is None:
        return library.insecure_channel(address, _OPTIONS)
    return library.secure_channel(address, tls.credentials(), [*_OPTIONS, *_name_to_check(tls.server_identity)])


def _name_to_check(identity: str | None) -> list[tuple[str, str]]:
    if identity is None:
        return []
    from cosched.certificates.pem import server_name  # slow: it takes a tenth of a second

    return [("grpc.ssl_target_name_override", server_name(identity))]
