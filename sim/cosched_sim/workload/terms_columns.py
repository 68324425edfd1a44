"""The columns of a pairs file that say what jobs do when others of their row end, or are queued again.

A cell is a value for all jobs of the row, or DOMAIN:VALUE for those that it names, with spaces between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cosched.core.protocol import NO_TERMS, Domain, Terms
from cosched.core.settings import OnMemberRequeued
from cosched.validation.durations import parse_seconds
from cosched.validation.text import shown

YES, NO = "yes", "no"


def read_terms(cells: Mapping[str, str], domains: Sequence[Domain]) -> dict[Domain, Terms]:
    """Return the terms of a row's jobs, which are on these domains, as far as they have any.

    `cells`: those that are not empty, by the names of their columns. ValueError: they cannot be.
    """
    of_jobs = {column: _of_jobs(column, cell, domains) for column, cell in cells.items()}
    found: dict[Domain, Terms] = {}
    for domain in domains:
        values = {column: of[domain] for column, of in of_jobs.items() if domain in of}
        terms = NO_TERMS._replace(**values)
        if terms.together_for is not None and terms.if_requeued is not OnMemberRequeued.REQUEUE:
            raise ValueError(f"together_for: has no use without if_requeued = requeue of {domain}'s job")
        if terms != NO_TERMS:
            found[domain] = terms
    _check_circles({domain: terms.ends_with for domain, terms in found.items()})
    return found


def write_terms(terms: Mapping[Domain, Terms]) -> dict[str, str]:
    """Return the cells that `read_terms` reads, by the names of their columns."""
    return {column: " ".join(_texts(column, terms)) for column in COLUMNS}


def _texts(column: str, terms: Mapping[Domain, Terms]) -> list[str]:
    texts: list[str] = []
    for domain, each in terms.items():
        value = getattr(each, column)
        if column == "ends_with":
            texts += [f"{domain}:{other}" for other in value]
        elif value != getattr(NO_TERMS, column):
            texts.append(f"{domain}:{YES if value is True else value}")
    return texts


def _of_jobs(column: str, cell: str, domains: Sequence[Domain]) -> dict[Domain, Any]:
    """Return the values of a cell by domain."""
    values: dict[Domain, Any] = {}
    for word in cell.split():
        domain, colon, text = word.rpartition(":")
        if colon and domain not in domains:
            raise ValueError(f"{column}: {shown(domain)} is not a domain of a job of this row: {', '.join(domains)}")
        for of in (domain,) if colon else domains:
            value = COLUMNS[column](column, text, domains)
            if column == "ends_with":  # of several
                value = (*values.get(of, ()), *(other for other in value if colon or other != of))
            elif of in values:
                raise ValueError(f"{column}: {of}'s job has two values")
            values[of] = value
    return values


def _ends_with(column: str, text: str, domains: Sequence[Domain]) -> tuple[Domain, ...]:
    if text not in domains:
        raise ValueError(f"{column}: {shown(text)} is not a domain of a job of this row: {', '.join(domains)}")
    return (text,)


def _fail_together(column: str, text: str, _: Sequence[Domain]) -> bool:
    if text not in (YES, NO):
        raise ValueError(f"{column}: {shown(text)} is not {YES} or {NO}")
    return text == YES


def _if_requeued(column: str, text: str, _: Sequence[Domain]) -> OnMemberRequeued:
    if text not in list(OnMemberRequeued):
        raise ValueError(f"{column}: {shown(text)} is not {', '.join(OnMemberRequeued)}")
    return OnMemberRequeued(text)


def _together_for(column: str, text: str, _: Sequence[Domain]) -> int:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None


def _check_circles(ends_with: Mapping[Domain, Sequence[Domain]]) -> None:
    """Refuse jobs that would end with each other, be it by way of others; one that ends with itself is among them."""
    left = {domain: set(others) for domain, others in ends_with.items()}
    while free := [domain for domain, others in left.items() if not others & left.keys()]:
        for domain in free:
            del left[domain]
    if left:
        raise ValueError(f"ends_with: the jobs on {', '.join(sorted(left))} would end with each other, in a circle")


COLUMNS: dict[str, Callable[[str, str, Sequence[Domain]], Any]] = {
    "ends_with": _ends_with,
    "fail_together": _fail_together,
    "if_requeued": _if_requeued,
    "together_for": _together_for,
}
