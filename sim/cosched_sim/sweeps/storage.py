"""Store a sweep's rows as they come, in small Parquet files; each file appears whole."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosched.words.errors import InputError
from cosched_sim.sweeps.case import CASE, ERROR, Row
from cosched_sim.workload.traces.atomic import replacing

if TYPE_CHECKING:
    import polars

RESULTS = "results.parquet"
PARTS = "parts"
MOST_PARTS = 256  # if there are more, the small ones are merged into one
_STRAY = re.compile(r"\.[0-9a-f]{16}\.part")  # an unfinished file of a killed process

Keys = NDArray[np.uint64]


class Store:
    """The rows in a folder: an earlier results.parquet, and the parts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts = folder / PARTS
        self._parts.mkdir(exist_ok=True)
        self._last = max((int(path.stem) for path in self._parts.glob("*.parquet")), default=0)
        self._small: list[Path] = []
        self._done = np.sort(np.concatenate([np.empty(0, np.uint64), *map(_done, self.files())]))

    @classmethod
    @contextlib.contextmanager
    def opened(cls, folder: Path, *, resume: bool) -> Iterator[Store]:
        """Open a folder for this process alone; InputError if it has rows without `resume`, or is in use; OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            if not resume:
                refuse_results(folder)
            _sweep_up(folder)
            yield cls(folder)

    def __contains__(self, key: str) -> bool:
        """Return whether the case had measures when the folder was opened."""
        number = np.uint64(int(key, 16))
        at = int(np.searchsorted(self._done, number))
        return at < len(self._done) and bool(self._done[at] == number)

    def files(self) -> list[Path]:
        """Return all files with rows, the oldest first."""
        results = self.folder / RESULTS
        return [*([results] if results.exists() else []), *sorted(self._parts.glob("*.parquet"))]

    def add(self, rows: Sequence[Row]) -> None:
        """Store rows without their labels, since a case's place in the grid may differ the next time."""
        import polars

        self._small.append(self._write(_without_labels(polars.DataFrame(rows, infer_schema_length=None))))
        if len(self._small) == MOST_PARTS:
            self._write(polars.concat(map(read_rows, self._small), how="diagonal_relaxed"))
            for path in self._small:
                path.unlink()
            self._small.clear()

    def _write(self, rows: polars.DataFrame) -> Path:
        self._last += 1
        path = self._parts / f"{self._last:09}.parquet"
        with replacing(path) as stream:
            rows.write_parquet(stream)
        return path


def refuse_results(folder: Path) -> None:
    """Raise InputError if there are rows in a folder."""
    if (folder / RESULTS).exists() or any((folder / PARTS).glob("*.parquet")):
        raise InputError(str(folder), None, "already has results of a sweep; --resume continues it")


def read_rows(path: Path, columns: list[str] | None = None) -> polars.DataFrame:
    """Read the rows of a file without their labels, or only some columns."""
    import polars

    rows = polars.read_parquet(path, columns=columns)
    return rows if columns else _without_labels(rows)


def key_numbers(keys: Sequence[str]) -> Keys:
    """Convert keys of cases to numbers."""
    return np.array([int(key, 16) for key in keys], np.uint64)


def _done(path: Path) -> Keys:
    """Return the cases in a file that have measures."""
    rows = read_rows(path, [CASE, ERROR])
    return key_numbers(rows.filter(rows[ERROR].is_null())[CASE].to_list())


def _without_labels(rows: polars.DataFrame) -> polars.DataFrame:
    """Drop the labels: the columns between the case and its error."""
    return rows.select(CASE, *rows.columns[rows.columns.index(ERROR) :])


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise InputError(str(folder), None, "another sweep is writing there") from None
    finally:
        os.close(descriptor)


def _sweep_up(folder: Path) -> None:
    """Remove unfinished files of killed processes."""
    for path in (*folder.glob(".*.part"), *(folder / PARTS).glob(".*.part")):
        if _STRAY.fullmatch(path.name):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
