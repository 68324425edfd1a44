"""Mutual TLS between domains: gRPC credentials that follow the files on disk, and whose a certificate is.

A domain is known by the URI in its certificate, and one domain's certificate must not pass for another's, although
the same authority has signed both. On the server's side that is simple: gRPC tells the URI of the caller's certificate
(`identity`). On the client's side gRPC for Python checks a name before anything is sent, but only a DNS name or an IP
address, against the target or against `grpc.ssl_target_name_override`: it neither takes a URI there nor lets us look at
the server's certificate. So each identity has a DNS name that follows from it, `server_name`: a hash of the URI below
cosched.internal. A domain's certificate carries both (`cosched certs issue` sees to that), and whoever calls a domain
demands the DNS name of the identity that is configured for it. A hash, since a URI has characters and lengths that DNS
has not, and since two URIs must never have one name. An authority that signs certificates for domains must therefore
give nobody a name below cosched.internal that is not that of his own URI.

What was considered besides: an identity that the server tells in its answer (proves nothing); a handshake of our own
before gRPC's (nothing ties the one to the other, unless the certificate seen becomes the only root, which ends all new
connections when the peer renews it); a relay with Python's TLS in front of each channel (all traffic through Python).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import grpc

from cosched.pem import dns_names, server_name
from cosched.service.wire.tls_files import Material, TlsFiles
from cosched.service.wire.tls_probe import probe

_LOG = logging.getLogger(__name__)


def identity(auth_context: Mapping[str, Sequence[bytes]]) -> list[str]:
    """The URIs in the certificate of the other side, from a gRPC auth_context; none without a certificate."""
    return [uri.decode("utf-8", "replace") for uri in auth_context.get("peer_uri", ())]


class ServerTls:
    """What a server needs to demand client certificates. New connections use the files as they are by then."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._given = 0  # the generation that gRPC has

    def credentials(self) -> grpc.ServerCredentials:
        """For one call of `add_secure_port`."""
        self._given, material = self._files.current()
        return grpc.dynamic_ssl_server_credentials(_configuration(material), self._changed, True)

    def _changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Called by a thread of gRPC for each new connection, one at a time."""
        generation, material = self._files.current()
        if generation == self._given:
            return None
        self._given = generation
        return _configuration(material)


class PeerCredentials:
    """What the clients of peers need. A channel keeps the credentials that it was made with: see `current`."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._made: tuple[int, grpc.ChannelCredentials] | None = None

    def current(self) -> tuple[int, grpc.ChannelCredentials]:
        """The credentials for a new channel, and a number that grows whenever the files have changed."""
        generation, material = self._files.current()
        if self._made is None or self._made[0] != generation:
            credentials = grpc.ssl_channel_credentials(material.ca, material.key, material.certificate)
            self._made = generation, credentials
        return self._made

    @staticmethod
    def options(identity: str) -> list[tuple[str, str | int]]:
        """Options of a channel that connects to nobody but the domain with this identity."""
        return [("grpc.ssl_target_name_override", server_name(identity))]

    async def probe(self, address: str, timeout: float, identity: str | None = None) -> str | None:
        """What is wrong with the TLS between here and a peer at HOST:PORT, in one line for people.

        Empty: nothing; None: the peer cannot be reached within `timeout` seconds. With `identity`, it must be that.
        """
        return await probe(self._files.current()[1], address, timeout, identity)


def _configuration(material: Material) -> grpc.ServerCertificateConfiguration:
    if (name := server_name(material.identity)) not in dns_names(material.leaf):
        _LOG.error("the certificate of %s lacks the DNS name %s: no peer will accept it", material.identity, name)
    return grpc.ssl_server_certificate_configuration([(material.key, material.certificate)], material.ca)
