"""The numbers that the paper states, as data."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.sim.studies import statements


@dataclass(frozen=True, slots=True)
class Statement(statements.Statement):
    """One number or range of the paper, and which of our results is compared with it.

    Our results are the means of `measure` in an experiment at `points` under `schemes`; `of` says which count: each,
    the least or the greatest. A statement about the set-up has a `fact` instead.
    """

    experiment: str = ""
    points: tuple[float, ...] = ()
    schemes: tuple[str, ...] = ()
    measure: str = ""
    of: str = "each"
    fact: str = ""
