"""Names of groups and of their members' domains: the same rules in commands, scripts, the API and Slurm's comments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cosched.validation.pair_names import ALLOWED, is_pair_name

_JOB = re.compile(r"(?:.*:)?[0-9]+")
_DOMAIN = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def names_job(text: str) -> bool:
    """Return whether commands take the text for a job, `17` or `intrepid:17`, and not for a name."""
    return _JOB.fullmatch(text) is not None


def wrong_group_name(name: str) -> str:
    """Say why a group cannot have this name; empty if it can."""
    if not is_pair_name(name):
        return f"the name of a group is {ALLOWED}"
    return "a name that ends in a number alone is taken for a job: add a letter" if names_job(name) else ""


def wrong_members(others: Sequence[str]) -> tuple[int, str] | None:
    """Say which of the domains of the other members is wrong, by its place, and why; None if all are right."""
    from cosched.core.protocol import MAX_MEMBERS  # slow: most commands name no members

    for place, domain in enumerate(others):
        if not _DOMAIN.fullmatch(domain):
            return place, "is not a domain name (1 to 64 of A-Z a-z 0-9 _ . -)"
        if domain in others[:place]:
            return place, "is named twice: a group has one job on each domain"
        if place + 2 > MAX_MEMBERS:
            return place, f"is one too many: a group has at most {MAX_MEMBERS} members, with the job itself"
    return None if others else (0, "is missing: name the domains of the other members")


def domains_of(members: Sequence[str]) -> tuple[str, ...]:
    """Return the domains of members; some are named by their ids, too: `mira`, `polaris:17`."""
    return tuple(member.partition(":")[0] for member in members)


def check_members(members: Sequence[str]) -> None:
    """Raise ValueError, which says what is wrong, if these cannot be the other members of a group."""
    others = domains_of(members)
    if (wrong := wrong_members(others)) is not None:
        place, why = wrong
        raise ValueError(f"{others[place]!r} {why}" if others else f"a domain {why}")
    for member in members:
        if member.endswith(":"):
            raise ValueError(f"{member!r} names no job: DOMAIN, or DOMAIN:ID such as polaris:17")
