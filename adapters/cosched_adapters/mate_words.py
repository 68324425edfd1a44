"""How users name mates to a batch system: what comments, resources and `cosched submit` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cosched.core.protocol import Named, Terms, Window, named_group, named_mate
from cosched.core.settings import OnMemberRequeued
from cosched.validation.durations import parse_seconds
from cosched.validation.group_names import wrong_group_name, wrong_members
from cosched.validation.pair_names import is_pair_name
from cosched.words.errors import InputError

TRUE = ("true", "t", "yes", "y", "1")
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


def read_terms(words: Mapping[str, str]) -> Terms:
    """Return what a job does when others end, by the words for it: names as of `Terms`. ValueError."""
    ends_with = tuple(sorted(filter(None, words.get("ends_with", "").split("+"))))
    if (wrong := wrong_members(ends_with)) is not None and ends_with:
        raise ValueError(f"domain {wrong[0] + 1} of ends_with {wrong[1]}")
    choice = words.get("if_requeued", "")
    if choice and choice not in [str(each) for each in OnMemberRequeued]:
        raise ValueError(f"if_requeued is {', '.join(OnMemberRequeued)}")
    together = words.get("together_for", "")
    together_for = parse_seconds(together) if together else None
    fails = words.get("fail_together", "").lower()
    return Terms(ends_with, fails in TRUE, OnMemberRequeued(choice) if choice else None, together_for)


def write_terms(terms: Terms) -> dict[str, str]:
    """Return the words that `read_terms` reads."""
    together = None if terms.together_for is None else f"{terms.together_for}s"
    fails = "true" if terms.fail_together else ""
    words = "+".join(terms.ends_with), fails, terms.if_requeued, together
    return {name: str(word) for name, word in zip(Terms._fields, words, strict=True) if word}


def asked_mate(domain: str, peers: Sequence[str], given: Mapping[str, Any]) -> Named | None:
    """Return the mate or the group that a user's options name (`Submission.options`), None if none. InputError.

    A pair's domain is left out where there is only one.
    """
    named = _asked_mate(domain, peers, given)
    if named is None:
        return None
    choice = given.get("if_requeued")
    terms = Terms(
        tuple(sorted(given.get("ends_with") or ())),
        given.get("fail_together", False),
        None if choice is None else OnMemberRequeued(choice),
        given.get("together_for"),
    )
    for other in terms.ends_with:
        if any(named.others) and other not in named.others:
            raise InputError("--ends-with", None, f"{other} is not among the domains of the others")
    return named._replace(terms=terms)


def _asked_mate(domain: str, peers: Sequence[str], given: Mapping[str, Any]) -> Named | None:
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
