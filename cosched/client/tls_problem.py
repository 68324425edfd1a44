"""Explains connections that fail because of TLS; gRPC itself says only "Socket closed", or quotes OpenSSL."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

from cosched.client.token import read_token

if TYPE_CHECKING:
    from cosched.client.connection import Tls

TIMEOUT = 2.0  # seconds
_SETTINGS = "COSCHED_CA, COSCHED_CERTIFICATE and COSCHED_KEY (or ca, certificate and key in client.toml)"
_NOT_OF_AUTHORITY = (2, 18, 19, 20, 21)  # OpenSSL's X509_V_ERR_: no issuer, self-signed, not verified
_OTHER_NAME = (62, 64)  # host name, IP address mismatch
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")


def tls_problem(address: str, tls: Tls | None) -> str | None:
    """Return the problem and its remedy in one line; None: it is not TLS. Takes up to twice `TIMEOUT` seconds."""
    host, _, port = address.rpartition(":")
    place = host.strip("[]"), int(port)
    return _wants_tls(place, address) if tls is None else _refusal(place, address, tls)


def _wants_tls(place: tuple[str, int], address: str) -> str | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        _connected(place, context, place[0]).close()
    except ssl.SSLError as error:
        if "ALERT" not in (error.reason or ""):
            return None
    except OSError:
        return None
    return f"{address} wants TLS: set {_SETTINGS}"


def _refusal(place: tuple[str, int], address: str, tls: Tls) -> str | None:
    try:
        context = _context(tls)
    except ssl.SSLError as error:
        why = "the key is not the certificate's" if error.reason == "KEY_VALUES_MISMATCH" else "not PEM files for TLS"
        files = ", ".join(str(file) for file in (tls.ca, tls.certificate, tls.key) if file is not None)
        return f"{files} cannot be used: {why}; check {_SETTINGS}"
    name = place[0]
    if tls.server_identity is not None:
        from cosched.certificates.pem import server_name  # slow: it takes a tenth of a second

        name = server_name(tls.server_identity)
    try:
        if not _is_refused(place, context, name):
            return None
    except ssl.SSLCertVerificationError as error:
        return _verification(address, place, tls, error)
    except ssl.SSLError:
        return f"{address} does not speak TLS: unset COSCHED_CA (or ca in client.toml)"
    except OSError:
        return None
    if tls.certificate is None:
        elsewhere = "; tokens are for another port of the domain, if it takes any" if read_token(tls.token) else ""
        return f"{address} wants a certificate of its user: set COSCHED_CERTIFICATE and COSCHED_KEY{elsewhere}"
    return f"{address} refuses the certificate {tls.certificate}: it has expired, or is not of the domain's authority"


def _is_refused(place: tuple[str, int], context: ssl.SSLContext, name: str) -> bool:
    """Return whether the server refuses our certificate; SSLError: we refuse its own, or it speaks no TLS."""
    try:
        with _connected(place, context, name) as connection:
            return not connection.recv(1)  # a server of HTTP/2 speaks first, unless it refuses the certificate
    except ConnectionResetError:
        return True
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or ""):
            return True
        if isinstance(error, ssl.SSLCertVerificationError) or any(word in (error.reason or "") for word in _NOT_TLS):
            raise
        return False


def _verification(address: str, place: tuple[str, int], tls: Tls, error: ssl.SSLCertVerificationError) -> str:
    code = error.verify_code
    if code in _NOT_OF_AUTHORITY or "signature" in error.verify_message:
        return f"the certificate of {address} is not of the authority in {tls.ca}: name the domain's as COSCHED_CA"
    if code in _OTHER_NAME:
        wanted = tls.server_identity or place[0]
        return f"the certificate of {address} is not that of {wanted}: set COSCHED_SERVER_IDENTITY to the domain's URI"
    return f"the certificate of {address} cannot be trusted: {error.verify_message}"


def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    context.load_verify_locations(tls.ca)
    if tls.certificate is not None:
        context.load_cert_chain(tls.certificate, tls.key)
    return context


def _connected(place: tuple[str, int], context: ssl.SSLContext, name: str) -> ssl.SSLSocket:
    return context.wrap_socket(socket.create_connection(place, TIMEOUT), server_hostname=name)
