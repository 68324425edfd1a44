"""A PBS job names its mate by custom resources of the site: `-l pair=NAME`, or `-l mate=DOMAIN:ID`.

`-l group=NAME@eureka+polaris` names a group, by the domains of its other members; with one domain it is a pair.
`-l or_alone=true` beside them lets the job start alone if there is no such mate, or member. `-l adoptable=true` of a
job that names nobody lets any of the owner's jobs that names this one have it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cosched.adapters.mate_words import GROUP, read_group, write_group
from cosched.core.protocol import Named, named_mate
from cosched.validation.pair_names import ALLOWED, is_pair_name

_NAMING = ("pair", "mate", "group")  # a job has one of these
_WORDS = (*_NAMING, "or_alone")
ADOPTABLE = "adoptable"
RESOURCES = (*_WORDS, ADOPTABLE)
ARRAY = "a job array cannot have a mate: its subjobs start one by one"
_MATE = re.compile(r"([A-Za-z0-9_.-]{1,64}):([!-~]{1,128})")
_TRUE = ("true", "t", "yes", "y", "1")


class WordError(ValueError):
    """The resources that name a mate cannot be used; `str()` is one line for the user."""


def find(resources: Mapping[str, str]) -> Named | None:
    """Return the mate that a job's resources name; None if they name none. WordError."""
    named = {name: resources[name] for name in _NAMING if resources.get(name)}
    if len(named) > 1:
        raise WordError(f"the job has {' and '.join(named)}; one of them names its mate")
    if not named:
        return None
    ((name, value),) = named.items()
    read = {"pair": _pair, "mate": _mate, "group": _group}[name]
    return read(value)._replace(or_alone=resources.get("or_alone", "").lower() in _TRUE)


def is_adoptable(resources: Mapping[str, str]) -> bool:
    """Whether a job that names nobody lets any of its owner's jobs that names it have it."""
    return resources.get(ADOPTABLE, "").lower() in _TRUE


def _pair(value: str) -> Named:
    if not is_pair_name(value):
        raise WordError(f"pair is not a name ({ALLOWED})")
    return named_mate("", value)


def _mate(value: str) -> Named:
    match = _MATE.fullmatch(value)
    if match is None:
        raise WordError("mate is not DOMAIN:ID, such as eureka:17")
    return named_mate(match[1], mate=match[2])


def _group(value: str) -> Named:
    try:
        return read_group(value)
    except ValueError as error:
        raise WordError(f"there is no {GROUP}: {error}") from None


def words(named: Named | None) -> dict[str, str]:
    """Return the resources that name this mate; empty ones remove what a job had. WordError."""
    if named is None:
        return dict.fromkeys(_WORDS, "")
    resources = _naming(named) | ({"or_alone": "true"} if named.or_alone else {})
    if find(resources) != named:
        raise WordError("this mate cannot be written as a resource of a job")
    return dict.fromkeys(_WORDS, "") | resources


def _naming(named: Named) -> dict[str, str]:
    if named.mate is not None:
        return {"mate": f"{named.peer}:{named.mate}"}
    group = write_group(named)
    return {"group": group} if group else {"pair": named.name}
