"""How users name mates to a batch system: what comments, resources and `cosched submit` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cosched.adapters.batch_system import Link
from cosched.core.protocol import Window
from cosched.errors import InputError
from cosched.validation.group_names import wrong_group_name, wrong_members
from cosched.validation.pair_names import is_pair_name

GROUP = "group=NAME@DOMAIN+DOMAIN"


def read_group(value: str) -> Link:
    """Return the group of this name and these other domains, NAME@DOMAIN+DOMAIN. ValueError says what is wrong.

    One other domain is that of a pair.
    """
    name, _, domains = value.rpartition("@")
    others = domains.split("+") if domains else []
    if (wrong := wrong_members(others)) is not None:
        raise ValueError(f"domain {wrong[0] + 1} {wrong[1]}")
    if why := wrong_group_name(name) if len(others) > 1 or not is_pair_name(name) else "":
        raise ValueError(why)
    return Link(others[0], pair=name) if len(others) == 1 else Link(pair=name, others=tuple(sorted(others)))


def write_group(link: Link) -> str:
    """Return the value that `read_group` reads; empty for a link without domains."""
    domains = "+".join(link.others) or link.peer
    return f"{link.pair}@{domains}" if domains else ""


def asked_link(domain: str, peers: Sequence[str], given: Mapping[str, Any]) -> Link | None:
    """Return the mate or the group that a user's options name (`Submission.options`), None if none. InputError.

    A pair's domain is left out where there is only one.
    """
    or_alone = given.get("or_alone", False)
    if given.get("group") is not None:
        windows = tuple(Window(domain, *window) for domain, window in sorted(given.get("windows", {}).items()))
        return Link("", None, given["group"], or_alone, tuple(sorted(given["members"])), windows, given.get("at"))
    if given.get("pair") is not None:
        return Link(_pair_domain(domain, peers, given), pair=given["pair"], or_alone=or_alone)
    if given.get("mate") is None:
        return None
    peer, _, mate = given["mate"].partition(":")
    return Link(peer, mate, or_alone=or_alone)


def option_of(link: Link) -> str:
    """Return the option of `cosched submit` that names such a link."""
    return "--group" if link.others else "--pair" if link.mate is None else "--mate"


def _pair_domain(domain: str, peers: Sequence[str], given: Mapping[str, Any]) -> str:
    asked = str(given.get("pair_domain") or "")
    if asked and asked not in peers:
        raise InputError("--pair-domain", None, f"{domain} is not coupled with {asked!r}")
    if len(peers) > 1 and not asked:
        others = ", ".join(peers)
        raise InputError("--pair", None, f"{domain} is coupled with {others}; name one by --pair-domain")
    return asked if len(peers) > 1 else ""
