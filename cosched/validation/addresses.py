"""Network addresses and identities in settings; a ValueError says what is wrong with one."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Annotated

from pydantic import AfterValidator

from cosched.validation.text import shown

_ADDRESS = re.compile(r"(?:\[(?P<six>[^\[\]]*)\]|(?P<host>[^\[\]:]*)):(?P<port>\d{1,5})", re.ASCII)
_HOST = re.compile(r"(?=.{1,253}$)(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)(?:\.[A-Za-z0-9_-]{1,63})*\.?")
UNIX = "unix:"
_NUMERIC = re.compile(r"[0-9.]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]{1,2000}")


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`. An IPv6 address has brackets in the text, but not in the result."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise ValueError(f"{shown(text)} is not HOST:PORT, such as 127.0.0.1:7701 or [::1]:7701")
    host = match["host"] if match["six"] is None else match["six"]
    if not (_parses(IPv6Address, host) if match["six"] is not None else _is_host(host)):
        raise ValueError(f"{shown(text)} is not HOST:PORT: {shown(host)} is not a host")
    return host, int(match["port"])


def socket_path(address: str) -> str | None:
    """Return PATH of `unix:PATH`; None: the address is another one."""
    return address.removeprefix(UNIX) if address.startswith(UNIX) else None


def is_loopback(address: str) -> bool:
    """Return whether `HOST:PORT` is on the loopback interface (localhost, 127.0.0.0/8, ::1), or it is `unix:PATH`."""
    if socket_path(address) is not None:
        return True
    host, _ = parse_address(address)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_host(text: str) -> bool:
    return _parses(ip_address, text) if _NUMERIC.fullmatch(text) else _HOST.fullmatch(text) is not None


def _parses(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _listening(text: str) -> str:
    parse_address(text)
    return text


def _reachable(text: str) -> str:
    if socket_path(text) is None and parse_address(text)[1] == 0:
        raise ValueError(f"{shown(text)} has no port that can be reached")
    return text


def _uri(text: str) -> str:
    if not _URI.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a URI such as spiffe://site/cosched/eureka")
    return text


ListenAddress = Annotated[str, AfterValidator(_listening)]  # HOST:PORT; port 0 is any free one
PeerAddress = Annotated[str, AfterValidator(_reachable)]  # HOST:PORT of another service, or unix:PATH
Uri = Annotated[str, AfterValidator(_uri)]  # an absolute URI, which names the holder of a certificate
