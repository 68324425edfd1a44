"""Fields of a job that name its mate: resources of PBS (`-l pair=NAME`), the context of Grid Engine (`-ac pair=NAME`).

Here as resources: `-l pair=NAME`, or `-l mate=DOMAIN:ID`.

`-l group=NAME@eureka+polaris` names a group, by the domains of its other members; with one domain it is a pair.
`-l or_alone=true` beside them lets the job start alone if there is no such mate, or member. `-l adoptable=true` of a
job that names nobody lets any of the owner's jobs that names this one have it. `-l ends_with=eureka+polaris`,
`-l fail_together=true`, `-l if_requeued=requeue` and `-l together_for=10m` say what it does when others end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cosched.core.protocol import NO_TERMS, Named, Terms, named_mate
from cosched.validation.pair_names import ALLOWED, is_pair_name
from cosched_adapters.mate_words import GROUP, TRUE, read_group, read_terms, write_group, write_terms

_NAMING = ("pair", "mate", "group")  # a job has one of these
_WORDS = (*_NAMING, "or_alone", *Terms._fields)
ADOPTABLE = "adoptable"
RESOURCES = (*_WORDS, ADOPTABLE)
ARRAY = "a job array cannot have a mate: its subjobs start one by one"
_MATE = re.compile(r"([A-Za-z0-9_.-]{1,64}):([!-~]{1,128})")


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
    try:
        terms = read_terms(resources)
    except ValueError as error:
        raise WordError(str(error)) from None
    return read(value)._replace(or_alone=resources.get("or_alone", "").lower() in TRUE, terms=terms)


def is_adoptable(resources: Mapping[str, str]) -> bool:
    """Return whether a job that names nobody lets any of its owner's jobs that names it have it."""
    return resources.get(ADOPTABLE, "").lower() in TRUE


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


def words(named: Named | None, before: Named | None = None) -> dict[str, str]:
    """Return the resources that name this mate; empty ones remove what a job had. WordError.

    `before`: the mate that it had. What it does when others end is removed only if that is said: sites may not know it.
    """
    removed = dict.fromkeys((*_NAMING, "or_alone", *write_terms(before.terms if before is not None else NO_TERMS)), "")
    if named is None:
        return removed
    resources = _naming(named) | ({"or_alone": "true"} if named.or_alone else {}) | write_terms(named.terms)
    if find(resources) != named:
        raise WordError("this mate cannot be written as a field of a job")
    return removed | resources


def _naming(named: Named) -> dict[str, str]:
    if named.mate is not None:
        return {"mate": f"{named.peer}:{named.mate}"}
    group = write_group(named)
    return {"group": group} if group else {"pair": named.name}
