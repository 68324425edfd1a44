"""Who carries out the cases of a sweep: `local_workers` or `dask_workers`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cosched.sim.sweeps.case import Case, Row


class Outcome(NamedTuple):
    """A chunk that has ended: its rows and the seconds that it took; no rows (None) if its worker has died."""

    cases: Sequence[Case]
    rows: list[Row] | None
    seconds: float


class Workers(Protocol):
    """Those who carry out chunks of cases."""

    @property
    def at_once(self) -> int:
        """How many chunks may be in their hands."""

    def submit(self, cases: Sequence[Case]) -> None:
        """Hand over a chunk."""

    def next_outcome(self) -> Outcome:
        """Wait for one of the chunks handed over. OSError: there are no workers any more."""
