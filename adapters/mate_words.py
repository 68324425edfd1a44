"""How users name mates to a batch system: what comments, resources and `cosched submit` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cosched.core.protocol import Named, Window, named_group, named_mate
from cosched.errors import InputError
from cosched.validation.group_names import wrong_group_name, wrong_members
from cosched.validation.pair_names import is_pair_name

GROUP = "group=NAME@DOMAIN+DOMAIN"


def read_group(value: str) -> Named:
    """Return the group of this name and these other domains, NAME@DOMAIN+DOMAIN. ValueError says what is wrong.

    One other domain is that of a pair.
    """
    name, _, domains = value.rpartition("@")
    others = domains.split("+") if domains else []
    if (wrong := wrong_members(others)) is not None:
        raise ValueError(f"domain {wrong[0] + 1} {wrong[1]}")
    if why := wrong_group_name(name) if len(others) > 1 or not is_pair_name(name) else "":
        raise ValueError(why)
    return named_mate(others[0], name) if len(others) == 1 else named_group(name, tuple(sorted(others)))


def write_group(named: Named) -> str:
    """Return the value that `read_group` reads; empty for a pair whose domain is not named."""
    domains = "+".join(named.others)
    return f"{named.name}@{domains}" if domains else ""


def asked_mate(domain: str, peers: Sequence[str], given: Mapping[str, Any]) -> Named | None:
    """Return the mate or the group that a user's options name (`Submission.options`), None if none. InputError.

    A pair's domain is left out where there is only one.
    """
    or_alone = given.get("or_alone", False)
    if given.get("group") is not None:
        windows = tuple(Window(domain, *window) for domain, window in sorted(given.get("windows", {}).items()))
        return named_group(given["group"], tuple(sorted(given["members"])), or_alone, windows, given.get("at"))
    if given.get("pair") is not None:
        return named_mate(_pair_domain(domain, peers, given), given["pair"], or_alone=or_alone)
    if given.get("mate") is None:
        return None
    peer, _, mate = given["mate"].partition(":")
    return named_mate(peer, None, mate, or_alone)


def option_of(named: Named) -> str:
    """Return the option of `cosched submit` that names such a mate, or group."""
    return "--group" if not named.is_pair else "--pair" if named.mate is None else "--mate"


def _pair_domain(domain: str, peers: Sequence[str], given: Mapping[str, Any]) -> str:
    asked = str(given.get("pair_domain") or "")
    if asked and asked not in peers:
        raise InputError("--pair-domain", None, f"{domain} is not coupled with {asked!r}")
    if len(peers) > 1 and not asked:
        others = ", ".join(peers)
        raise InputError("--pair", None, f"{domain} is coupled with {others}; name one by --pair-domain")
    return asked if len(peers) > 1 else ""
