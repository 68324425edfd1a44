"""Who asks: a peer or a user, as far as that is proved; for each kind of listener a way to tell.

Nobody is believed for what he says of himself. A certificate proves one identity, a URI; one with the identities of two
known holders proves none. Users of the Unix socket are known by what the kernel says of the process that connected.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import grpc

from cosched.service.wire.tls import identity

PLAINTEXT = "plaintext"
_SHOWN = 200  # characters of a certificate's identity
_USER = re.compile(r"[A-Za-z0-9_.@+$-]{1,256}")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. One that is neither peer nor user may do nothing, but see `plaintext`."""

    peer: str | None  # the domain that its certificate belongs to
    user: str | None  # the user's name
    operator: bool
    # How that is known, for audit and logs: "socket uid 1000", "certificate spiffe://...", "plaintext from 127.0.0.1".
    via: str

    @property
    def plaintext(self) -> bool:
        """Whether it came over a listener without TLS, where the peer's name in a request is believed."""
        return self.via.startswith(PLAINTEXT)


Identify = Callable[[grpc.aio.ServicerContext[Any, Any]], Caller]


def certificate_callers(
    peers: Mapping[str, str], user_identity: str | None = None, operators: Collection[str] = ()
) -> Identify:
    """Callers of a TLS listener.

    `peers`: the name of each peer by its identity; `user_identity`: how the identities of users begin, the rest being
    the user's name (None: no users); `operators`: names of users. A name whose jobs would run as root, or as the
    service itself, is nobody's unless it is among them.
    """
    reserved = _powerful() - set(operators)

    def identify(context: grpc.aio.ServicerContext[Any, Any]) -> Caller:
        uris = identity(context.auth_context())
        via = f"certificate {_shown(uris)}"
        known = [caller for uri in uris if (caller := _holder(uri, via))]
        return known[0] if len(known) == 1 else Caller(None, None, False, via)

    def _holder(uri: str, via: str) -> Caller | None:
        if uri in peers:
            return Caller(peers[uri], None, False, via)
        user = _user(uri, user_identity)
        if user in reserved:
            return None
        return Caller(None, user, user in operators, via) if user else None

    return identify


def plaintext_callers(origin: Callable[[grpc.aio.ServicerContext[Any, Any]], str]) -> Identify:
    """Callers of a listener without TLS: nobody is known, but the address that a call comes from, its `origin`."""
    return lambda context: Caller(None, None, False, f"{PLAINTEXT} from {origin(context)}")


def socket_caller(uid: int, operators: Collection[str] = ()) -> Caller:
    """The user of this host with this uid. May ask a directory server for the name, so it may block."""
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = None
    operator = uid in (0, os.geteuid()) or name in operators
    return Caller(None, name or f"uid {uid}", operator, f"socket uid {uid}")


def _powerful() -> set[str]:
    """Names of this host's users who have the rights of root, or of this service."""
    return {"root"} | {entry.pw_name for entry in pwd.getpwall() if entry.pw_uid in (0, os.geteuid())}


def _user(uri: str, prefix: str | None) -> str | None:
    """The user's name in the URI, if it is that of a user."""
    if not prefix or not uri.startswith(prefix):
        return None
    name = uri.removeprefix(prefix)
    return name if _USER.fullmatch(name) else None


def _shown(uris: list[str]) -> str:
    text = ", ".join(uris) or "without a URI"
    return "".join(char if char.isprintable() else "?" for char in text[:_SHOWN])
