"""Finds out why a TLS connection to a peer fails: gRPC reports it as UNAVAILABLE, like a peer that is down.

In TLS 1.3 a server refuses a client's certificate after the client's handshake has succeeded. It may then send an
alert; gRPC servers just close. So the probe waits for the first byte, which an HTTP/2 server sends at once.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress

from cosched.certificates.pem import server_name
from cosched.service.wire.tls_files import Material

_NOT_OF_AUTHORITY = (2, 7, 18, 19, 20, 21)  # OpenSSL's X509_V_ERR_: no issuer, signature, self-signed, not verified
_VERIFICATION = {
    9: "the peer's certificate is not valid yet: do the clocks agree?",
    10: "the peer's certificate has expired",
    26: "the peer's certificate is not for servers",
    **dict.fromkeys(_NOT_OF_AUTHORITY, "the peer's certificate is not of this domain's certificate authority"),
}
_ALERTS = {
    "CERTIFICATE_EXPIRED": "it has expired",
    "UNKNOWN_CA": "it is not of the peer's certificate authority",
    "CERTIFICATE_REQUIRED": "the peer did not get one",
}
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
_ATTEMPTS = 2  # a service that stops may close a connection too, but does not accept the next one


async def probe(material: Material, address: str, timeout: float, identity: str | None) -> str | None:
    """Return the TLS problem between us and HOST:PORT in one line; empty: there is none; None: it cannot be reached.

    `timeout` is in seconds. With `identity`, the peer's certificate must have this identity.
    """
    problem = None
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            for _ in range(_ATTEMPTS):
                problem = await _attempt(material, address, identity)
                if not problem:
                    break
    return problem


async def speaks_tls(address: str, timeout: float) -> bool:
    """Return whether HOST:PORT answers a client that begins with TLS within `timeout` seconds, even by a refusal."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(timeout):
            _, writer = await _open(address, context, "")
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except OSError:  # TimeoutError too
        return False
    writer.transport.abort()
    return True


async def _open(address: str, context: ssl.SSLContext, name: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context.set_alpn_protocols(["h2"])
    host, _, port = address.rpartition(":")
    return await asyncio.open_connection(host.strip("[]"), int(port), ssl=context, server_hostname=name)


async def _attempt(material: Material, address: str, identity: str | None) -> str | None:
    try:
        reader, writer = await _open(address, material.client_context(), server_name(identity) if identity else "")
    except ssl.SSLError as error:
        return _handshake_problem(error, material)
    except OSError:
        return None
    try:
        certificate: Mapping[str, object] = writer.get_extra_info("peercert")
        return _identity_problem(certificate, identity) or await _refusal(reader, material)
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


def _handshake_problem(error: ssl.SSLError, material: Material) -> str | None:
    reason = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _VERIFICATION.get(error.verify_code, f"the peer's certificate is refused: {error.verify_message}")
    if isinstance(error, ssl.SSLEOFError):  # perhaps a relay in front of a service that is down
        return None
    if any(word in reason for word in _NOT_TLS):
        return "the peer does not speak TLS"
    if "ALERT" in reason:
        return _alert_problem(reason, material)
    return f"no TLS with the peer: {_plain(reason)}"


def _alert_problem(reason: str, material: Material) -> str:
    alert = reason.partition("ALERT_")[2]
    why = _ALERTS.get(alert) or _plain(alert)
    if "CERTIFICATE" not in alert and alert not in _ALERTS:
        return f"the peer refuses TLS with this domain: {why}"
    return f"the peer refuses this domain's certificate ({material.identity}): {why}"


def _plain(reason: str) -> str:
    return reason.lower().replace("_", " ")


def _identity_problem(certificate: Mapping[str, object], identity: str | None) -> str | None:
    if identity is None:
        return None
    names: list[tuple[str, str]] = list(certificate.get("subjectAltName", ()))  # type: ignore[call-overload]
    uris = [value for kind, value in names if kind == "URI"]
    if identity not in uris:
        return f"the peer's certificate is that of {', '.join(uris) or 'nobody'}, not of {identity}"
    if (name := server_name(identity)) not in [value for kind, value in names if kind == "DNS"]:
        return f"the peer's certificate lacks the DNS name {name}, which belongs to {identity}"
    return None


async def _refusal(reader: asyncio.StreamReader, material: Material) -> str | None:
    """Return why the server refuses our certificate, if it closes; empty if it sends something."""
    try:
        spoke = await reader.read(1)
    except ssl.SSLError as error:
        return _handshake_problem(error, material)
    except OSError:
        spoke = b""
    if spoke:
        return ""
    why = material.problem() or "is perhaps not of the certificate authority that the peer knows"
    return f"the peer refuses this domain's certificate ({material.identity}): it {why}"
