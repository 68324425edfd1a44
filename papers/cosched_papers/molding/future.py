"""What is foreseen of jobs that are still to come (molding.md, Prediction)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expected:
    """The jobs of one class, as means: how many come in each half hour from midnight on, their N_opt, run(N_opt) in s,
    and which part of them is moldable. `a`, `sigma`: their curve of Downey's; 0: they have the simple one.
    """

    arrivals: tuple[float, ...]
    nodes: float
    run: float
    moldable: float = 1.0
    a: float = 0.0
    sigma: float = 0.0


@dataclass(frozen=True, slots=True)
class Future:
    """The jobs that are expected, by class: short, medium, long."""

    classes: Sequence[Expected]
