"""Remedies for peers that refuse this domain, or that it refuses, by the problem that a call found. Pure.

The code looks for texts of `cosched.service.wire.tls_probe`, and for the reasons of the protocol's errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.findings import SHELL, section

_SEEN = re.compile(r"the peer's certificate is that of (\S+), not of ")


@dataclass(frozen=True, slots=True)
class Ends:
    """The two ends of a call. `ca`: this domain's authority; `named`: the lines for this domain in a peer's file."""

    here: str
    peer: str
    ca: Path | None
    named: tuple[str, ...]


Remedy = tuple[str, str, tuple[str, ...]]  # what to change, where, the lines


def remedy(problem: str, ends: Ends) -> Remedy:
    """Return what to change if the call ended with this problem."""
    for words, mend in _REMEDIES:
        if any(word in problem for word in words):
            return mend(problem, ends)
    return "look at what its service logs about this call", SHELL, (f"journalctl -u cosched@{ends.peer} -o cat",)


def _one_authority(_: str, ends: Ends) -> Remedy:
    change = f"install the same authority on both sides (here: {ends.ca}), and certificates that it has issued"
    return change, f"[tls] of this domain's file and of the file of {ends.peer}", ('ca = "THE_SAME_AUTHORITY.pem"',)


def _issue_here(_: str, ends: Ends) -> Remedy:
    return "issue this domain's certificate again", SHELL, (f"cosched certs issue DIR_OF_CA {ends.here} --force",)


def _issue_there(_: str, ends: Ends) -> Remedy:
    change = f"issue the certificate of {ends.peer} again, and install it there"
    return change, SHELL, (f"cosched certs issue DIR_OF_CA {ends.peer} --force",)


def _set_clocks(_: str, __: Ends) -> Remedy:
    return "let a time service keep the clocks of both hosts", SHELL, ("timedatectl set-ntp true",)


def _correct_identity(problem: str, ends: Ends) -> Remedy:
    seen = _SEEN.search(problem)
    change = f"correct the identity here, if that is {ends.peer}'s; else its address"
    lines = (f'name = "{ends.peer}"', f'identity = "{seen[1] if seen else "URI"}"')
    return change, "[[peer]] of the domain's file", lines


def _tls_there(_: str, ends: Ends) -> Remedy:
    return "let it use certificates, too", f"[domain] of the file of {ends.peer}", ("plaintext = false",)


def _tls_here(_: str, __: Ends) -> Remedy:
    return "let this domain use certificates, too (a section [tls])", section("domain"), ("plaintext = false",)


def _name_here_there(_: str, ends: Ends) -> Remedy:
    return "name this domain there as below", f"the file of {ends.peer}", ends.named


def _correct_name(_: str, __: Ends) -> Remedy:
    return "name the peer as it names itself", "[[peer]] of the domain's file", ('name = "NAME"',)


def _newer_version(_: str, ends: Ends) -> Remedy:
    return "let a service of this version listen there", SHELL, (f"systemctl restart cosched@{ends.peer}",)


_REMEDIES: tuple[tuple[tuple[str, ...], Callable[[str, Ends], Remedy]], ...] = (
    (("not of this domain's certificate authority", "not of the peer's certificate authority"), _one_authority),
    (("perhaps not of the certificate authority that the peer knows",), _one_authority),
    (("not valid yet", "is not valid before"), _set_clocks),
    (("the peer's certificate has expired", "is not for servers", "lacks the DNS name"), _issue_there),
    (("the peer's certificate is that of",), _correct_identity),
    (("refuses this domain's certificate", "CERTIFICATE_REVOKED"), _issue_here),
    (("the peer does not speak TLS",), _tls_there),
    (("the peer speaks TLS",), _tls_here),
    (("PEER_UNKNOWN", "CALLER_NOT_PEER"), _name_here_there),
    (("WRONG_DOMAIN",), _correct_name),
    (("UNIMPLEMENTED", "its answer breaks the protocol"), _newer_version),
)
