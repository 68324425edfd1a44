"""Runs the cases of a sweep that have no measures yet, and stores their rows as they come."""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from cosched_sim.progress import time_left
from cosched_sim.sweeps.case import ERROR, Case, Row, failed_row
from cosched_sim.sweeps.gathering import gather
from cosched_sim.sweeps.storage import Store
from cosched_sim.sweeps.workers import Workers

CHUNK_S = 1.0  # the approximate time that a chunk of cases should take
SHORTEST_CHUNK_S = 0.1
MOST_CASES = 64  # in a chunk
TELLING = 0.05  # share of the cases that must have ended before one can say how long the others take
DEATHS = 2  # deaths of its worker after which a case is given up


def run_cases(
    cases: Iterable[Case], total: int, folder: Path, workers: Workers, *, resume: bool, tell: Callable[[str], None]
) -> Path:
    """Run the cases that have no measures in `folder` yet; return the path of its results.parquet.

    The file has one row a case, in the order of `cases`: "case", the labels, "error", the measures. There are `total`
    cases, at least one. They are created as needed, more than once: an iterable that can be iterated again keeps
    memory bounded, an iterator becomes a list. `tell` gets the progress. However the run ends, even killed, only the
    chunks at the workers are lost; continue with `resume`. InputError if the folder has results and `resume` is not
    set, or if the folder is in use; OSError.
    """
    if isinstance(cases, Iterator):
        cases = list(cases)
    with Store.opened(folder, resume=resume) as store:
        missing = _Missing(cases, total, store)
        progress = _Progress(missing)
        tell(str(progress))
        for rows in _Dispatch(missing, workers).rows():
            store.add(rows)
            progress.add(rows)
            tell(str(progress))
        tell("gathering the results ...")
        return gather(store, cases)


class _Missing(Iterator[Case]):
    """Yields the cases that have no measures yet; it has seen `drawn` cases, and `there` of them have measures."""

    def __init__(self, cases: Iterable[Case], total: int, store: Store) -> None:
        self._cases = iter(cases)
        self._store = store
        self.total = total
        self.drawn = self.there = 0

    def __next__(self) -> Case:
        for case in self._cases:
            self.drawn += 1
            if case.key not in self._store:
                return case
            self.there += 1
        raise StopIteration


class _Dispatch:
    """Hands chunks to the workers, a bounded number at a time, and repeats cases lost with a dead worker."""

    def __init__(self, missing: _Missing, workers: Workers) -> None:
        self._missing = missing
        self._workers = workers
        self._suspects: deque[Case] = deque()  # cases of dead workers; each is repeated alone
        self._deaths: Counter[str] = Counter()
        self._case_s = CHUNK_S  # recent seconds per case

    def rows(self) -> Iterator[list[Row]]:
        """Yield the rows of each chunk as it ends."""
        in_hands = 0
        while True:
            while in_hands < self._workers.at_once and (chunk := self._chunk()):
                self._workers.submit(chunk)
                in_hands += 1
            if not in_hands:
                return
            cases, rows, seconds = self._workers.next_outcome()
            in_hands -= 1
            if rows is None:
                rows = self._given_up(cases)
            else:
                self._case_s = max((self._case_s + seconds / len(cases)) / 2, 1e-6)
            if rows:
                yield rows

    def _chunk(self) -> list[Case]:
        if self._suspects:
            return [self._suspects.popleft()]
        # Chunks become shorter towards the end, so that no worker is left with a long one.
        left_s = (self._missing.total - self._missing.drawn) * self._case_s
        chunk_s = min(CHUNK_S, max(left_s / (2 * self._workers.at_once), SHORTEST_CHUNK_S))
        size = min(MOST_CASES, max(1, int(chunk_s / self._case_s)))
        return list(itertools.islice(self._missing, size))

    def _given_up(self, cases: Sequence[Case]) -> list[Row]:
        """Return rows for the cases that killed their workers too often; the others are tried again."""
        given_up = []
        for case in cases:
            self._deaths[case.key] += len(cases) == 1
            if self._deaths[case.key] < DEATHS:
                self._suspects.append(case)
            else:
                given_up.append(failed_row(case, "its worker process was killed, twice (out of memory?)"))
        return given_up


class _Progress:
    """The progress of a sweep, and an estimate of the time left; the first cases take longer, as they compile."""

    def __init__(self, missing: _Missing) -> None:
        self._missing = missing
        self._began = time.monotonic()
        self._ended = self._failed = 0

    def add(self, rows: Sequence[Row]) -> None:
        """Count cases that have ended."""
        self._ended += len(rows)
        self._failed += sum(row[ERROR] is not None for row in rows)

    def __str__(self) -> str:
        ended, total = self._missing.there + self._ended, self._missing.total
        parts = [f"{100 * ended // total} %: {ended:,} of {total:,} cases"]
        if self._failed:
            parts.append(f"{self._failed:,} failed")
        if self._ended and self._ended >= TELLING * (total - self._missing.there):
            parts.append(f"{time_left((time.monotonic() - self._began) / self._ended * (total - ended))} left")
        return ", ".join(parts)
