"""The workers of a sweep: the common interface of `local_workers` and `dask_workers`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cosched_sim.sweeps.case import Case, Row


class Outcome(NamedTuple):
    """A chunk that has ended: its rows and the seconds it took; the rows are None if its worker died."""

    cases: Sequence[Case]
    rows: list[Row] | None
    seconds: float


class Workers(Protocol):
    """Workers that run chunks of cases."""

    @property
    def at_once(self) -> int:
        """How many chunks the workers may have at a time."""

    def submit(self, cases: Sequence[Case]) -> None:
        """Hand over a chunk."""

    def next_outcome(self) -> Outcome:
        """Wait for one of the chunks handed over; OSError if no workers are left."""
