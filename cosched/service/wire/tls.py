"""Mutual TLS between domains: gRPC credentials that follow the files on disk, and identities in certificates.

A domain is identified by the URI in its certificate. One domain's certificate must not pass for another's, although
the same authority has signed both. On the server's side this is simple: gRPC tells the URI of the caller's certificate
(`identity`). On the client's side gRPC for Python checks a name before it sends anything, but only a DNS name or an IP
address, against the target or against `grpc.ssl_target_name_override`. It takes no URI there, and does not show us the
server's certificate. So each identity has a DNS name derived from it, `server_name`: a hash of the URI below
cosched.internal. A domain's certificate carries both (`cosched certs issue` adds them), and whoever calls a domain
demands the DNS name of the identity configured for it. The name is a hash because DNS does not allow all characters
and lengths of URIs, and because two URIs must never share a name. So an authority that signs certificates for domains
must give nobody a name below cosched.internal except the one that belongs to their own URI.

Rejected alternatives: an identity that the server tells in its answer (it proves nothing); a handshake of our own
before gRPC's (nothing ties the two together, unless the certificate seen becomes the only root, and then no new
connection succeeds after the peer renews it); a relay with Python's TLS before each channel (all traffic would go
through Python).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import grpc
from cryptography import x509

from cosched.certificates.pem import dns_names, server_name
from cosched.service.wire.tls_files import Material, TlsFiles
from cosched.service.wire.tls_probe import probe

_LOG = logging.getLogger(__name__)


def identity(auth_context: Mapping[str, Sequence[bytes]]) -> list[str]:
    """Return the URIs in the other side's certificate, from a gRPC auth_context; none without a certificate."""
    return [uri.decode("utf-8", "replace") for uri in auth_context.get("peer_uri", ())]


def certificate(auth_context: Mapping[str, Sequence[bytes]]) -> x509.Certificate | None:
    """Return the other side's certificate, from a gRPC auth_context; None without one."""
    found = auth_context.get("x509_pem_cert")
    return x509.load_pem_x509_certificate(found[0]) if found else None


class ServerTls:
    """Credentials for a server. New connections use the files' present contents."""

    def __init__(self, files: TlsFiles, *, mutual: bool = True) -> None:
        """`mutual`: it demands certificates of its clients; else it asks for none."""
        self._files = files
        self._mutual = mutual
        self._given = 0  # the generation of the files that gRPC has

    def credentials(self) -> grpc.ServerCredentials:
        """Return credentials for one call of `add_secure_port`."""
        self._given, material = self._files.current()
        return grpc.dynamic_ssl_server_credentials(_configuration(material), self._changed, self._mutual)

    def _changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return new files if they have changed. A thread of gRPC calls this for each new connection, one at a time."""
        generation, material = self._files.current()
        if generation == self._given:
            return None
        self._given = generation
        return _configuration(material)


class PeerCredentials:
    """Credentials for calls to peers. A channel keeps the credentials that it was made with: see `current`."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._made: tuple[int, grpc.ChannelCredentials] | None = None

    def current(self) -> tuple[int, grpc.ChannelCredentials]:
        """Return the credentials for a new channel, and a number that grows whenever the files change."""
        generation, material = self._files.current()
        if self._made is None or self._made[0] != generation:
            credentials = grpc.ssl_channel_credentials(material.ca, material.key, material.certificate)
            self._made = generation, credentials
        return self._made

    @staticmethod
    def options(identity: str) -> list[tuple[str, str | int]]:
        """Return the options of a channel that connects only to the domain with this identity."""
        return [("grpc.ssl_target_name_override", server_name(identity))]

    async def probe(self, address: str, timeout: float, identity: str | None = None) -> str | None:
        """Return what is wrong with TLS between us and a peer: see `tls_probe.probe`."""
        return await probe(self._files.current()[1], address, timeout, identity)


def _configuration(material: Material) -> grpc.ServerCertificateConfiguration:
    if (name := server_name(material.identity)) not in dns_names(material.leaf):
        _LOG.error("the certificate of %s lacks the DNS name %s: no peer will accept it", material.identity, name)
    return grpc.ssl_server_certificate_configuration([(material.key, material.certificate)], material.ca)
