"""A PBS job names its mate by custom resources of the site: `-l pair=NAME`, or `-l mate=DOMAIN:ID`.

`-l or_alone=true` beside them lets the job start alone if there is no such mate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cosched.adapters.batch_system import Link
from cosched.validation.pair_names import ALLOWED, is_pair_name

RESOURCES = ("pair", "mate", "or_alone")
ARRAY = "a job array cannot have a mate: its subjobs start one by one"
_MATE = re.compile(r"([A-Za-z0-9_.-]{1,64}):([!-~]{1,128})")
_TRUE = ("true", "t", "yes", "y", "1")


class WordError(ValueError):
    """The resources that name a mate cannot be used; `str()` is one line for the user."""


def find(resources: Mapping[str, str]) -> Link | None:
    """Return the mate that a job's resources name; None if they name none. WordError."""
    pair, mate = resources.get("pair", ""), resources.get("mate", "")
    alone = resources.get("or_alone", "").lower() in _TRUE
    if pair and mate:
        raise WordError("the job has pair and mate; one of them names its mate")
    if pair:
        if not is_pair_name(pair):
            raise WordError(f"pair is not a name ({ALLOWED})")
        return Link(pair=pair, or_alone=alone)
    if mate:
        match = _MATE.fullmatch(mate)
        if match is None:
            raise WordError("mate is not DOMAIN:ID, such as eureka:17")
        return Link(peer=match[1], mate=match[2], or_alone=alone)
    return None


def words(link: Link | None) -> dict[str, str]:
    """Return the resources that name this mate; empty ones remove what a job had. WordError."""
    if link is None:
        return dict.fromkeys(RESOURCES, "")
    named = {"pair": link.pair or ""} if link.mate is None else {"mate": f"{link.peer}:{link.mate}"}
    if find(named | {"or_alone": "true" if link.or_alone else ""}) != link:
        raise WordError("this mate cannot be written as a resource of a job")
    return dict.fromkeys(RESOURCES, "") | named | ({"or_alone": "true"} if link.or_alone else {})
