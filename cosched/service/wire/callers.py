"""Identifies callers: peers and users, in a way for each kind of listener.

What callers say of themselves counts for nothing. A certificate proves one identity, a URI; a certificate with the
identities of two known holders proves none. For the Unix socket the kernel tells the user of the connecting process.
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
    """Who calls. A caller that is neither peer nor user may do nothing, but see `plaintext`."""

    peer: str | None  # the domain that its certificate belongs to
    user: str | None  # the user's name
    operator: bool
    # How we know, for audit and logs: "socket uid 1000", "certificate spiffe://...", "plaintext from 127.0.0.1".
    via: str

    @property
    def plaintext(self) -> bool:
        """Whether the call came over a listener without TLS, where we believe the peer's name in a request."""
        return self.via.startswith(PLAINTEXT)


Identify = Callable[[grpc.aio.ServicerContext[Any, Any]], Caller]
Holder = Callable[[list[str]], Caller]


def certificate_callers(
    peers: Mapping[str, str], user_identity: str | None = None, operators: Collection[str] = ()
) -> Identify:
    """Return the function that identifies callers of a TLS listener; see `certificate_holders`."""
    holder = certificate_holders(peers, user_identity, operators)
    return lambda context: holder(identity(context.auth_context()))


def certificate_holders(
    peers: Mapping[str, str], user_identity: str | None = None, operators: Collection[str] = ()
) -> Holder:
    """Return the function that tells the holder of a certificate with these URIs.

    `peers`: the name of each peer by its identity; `user_identity`: the prefix of users' identities, which is followed
    by the user's name (None: no users); `operators`: names of users. A name whose jobs would run as root, or as the
    service's own user, is accepted only if it is an operator's.
    """
    reserved = powerful() - set(operators)

    def holder(uris: list[str]) -> Caller:
        via = f"certificate {_shown(uris)}"
        known = [caller for uri in uris if (caller := _holder(uri, via))]
        return known[0] if len(known) == 1 else Caller(None, None, False, via)

    def _holder(uri: str, via: str) -> Caller | None:
        if uri in peers:
            return Caller(peers[uri], None, False, via)
        if not user_identity or not uri.startswith(user_identity):
            return None
        user = user_name(uri.removeprefix(user_identity))
        return Caller(None, user, user in operators, via) if user and user not in reserved else None

    return holder


def plaintext_callers(origin: Callable[[grpc.aio.ServicerContext[Any, Any]], str]) -> Identify:
    """Return the function for listeners without TLS: only the address of a caller, its `origin`, is known."""
    return lambda context: Caller(None, None, False, f"{PLAINTEXT} from {origin(context)}")


def socket_caller(uid: int, operators: Collection[str] = ()) -> Caller:
    """Return the user of this host with this uid. This may block, as it may ask a directory server for the name."""
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = None
    operator = uid in (0, os.geteuid()) or name in operators
    return Caller(None, name or f"uid {uid}", operator, f"socket uid {uid}")


def socket_peer(peer: str, allowed: int) -> Callable[[int], Caller]:
    """Return the function that tells who calls at a peer's own Unix socket: the peer, if its uid is the allowed one."""
    return lambda uid: Caller(peer if uid == allowed else None, None, False, f"socket uid {uid}")


def powerful() -> set[str]:
    """Return the names of this host's users who have the rights of root, or of this service."""
    return {"root"} | _names({0, os.geteuid()})


def powerful_elsewhere(*, plaintext: bool) -> set[str]:
    """Return those whom no peer's user is taken for by the same name.

    Without TLS, on this host alone, the service's own user may have jobs on all its domains.
    """
    return powerful() - (_names({os.geteuid()}) if plaintext else set())


def _names(uids: Collection[int]) -> set[str]:
    return {entry.pw_name for entry in pwd.getpwall() if entry.pw_uid in uids}


def user_name(text: str) -> str | None:
    """Return what can be a user's name; None: it cannot."""
    return text if _USER.fullmatch(text) else None


def _shown(uris: list[str]) -> str:
    text = ", ".join(uris) or "without a URI"
    return "".join(char if char.isprintable() else "?" for char in text[:_SHOWN])
