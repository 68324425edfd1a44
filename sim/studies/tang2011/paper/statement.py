"""A number that the paper states, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """One number, or range, of the paper, and what ours is compared with it.

    `quote`: its words (blanks and line ends apart). `said`: the number as we read it; a mean of ours agrees if it is
    from `low` to `high` (None: without bound; a single number: what rounds to it). Ours are the means of `measure`
    in an experiment at `points` under `schemes`; `of` says which: each, the least or the greatest. A statement about
    the set-up has a `fact` instead. `note`: what is to be said of the paper's number.
    """

    where: str
    what: str
    said: str
    quote: str
    low: float | None
    high: float | None
    experiment: str = ""
    points: tuple[float, ...] = ()
    schemes: tuple[str, ...] = ()
    measure: str = ""
    of: str = "each"
    fact: str = ""
    note: str = ""
