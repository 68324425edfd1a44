"""The numbers that the paper states, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """One number or range of the paper, and which of our results is compared with it.

    `quote`: the paper's words, apart from white space. `said`: the number as we read it. Our mean agrees if it is
    from `low` to `high` (None: no bound; for a single number these are the values that round to it). Our results are
    the means of `measure` in an experiment at `points` under `schemes`; `of` says which count: each, the least or the
    greatest. A statement about the set-up has a `fact` instead. `note`: a remark on the paper's number.
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
