"""Gathers the rows of a sweep into one table in the order of its cases, a block at a time."""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosched_sim.sweeps.case import CASE, ERROR, Case
from cosched_sim.sweeps.storage import PARTS, RESULTS, Store, key_numbers, read_rows

if TYPE_CHECKING:
    import polars

BLOCK = 2048  # cases in memory at a time
PLACE = "place in the block"

Types = dict[str, Any]  # of columns, by name


def gather(store: Store, cases: Iterable[Case]) -> Path:
    """Write results.parquet, with a row for each case in order, and remove the parts; return its path."""
    import polars

    stage = store.folder / f".{secrets.token_hex(8)}.part"
    stage.mkdir()
    try:
        rows = _Rows(store.files())
        labels = _label_types(cases)
        blocks = []
        for number, block in enumerate(_blocks(cases)):
            blocks.append(stage / f"{number:09}.parquet")
            _labelled(block, rows.of(block), labels).write_parquet(blocks[-1])
        whole = stage / RESULTS
        polars.scan_parquet(blocks).sink_parquet(whole, row_group_size=BLOCK, maintain_order=True)
        with whole.open("rb") as stream:
            os.fsync(stream.fileno())  # must be on disk before its parts are removed
        os.replace(whole, store.folder / RESULTS)
    finally:
        shutil.rmtree(stage)
    shutil.rmtree(store.folder / PARTS)
    return store.folder / RESULTS


def _blocks(cases: Iterable[Case]) -> Iterator[list[Case]]:
    drawn = iter(cases)
    while block := list(itertools.islice(drawn, BLOCK)):
        yield block


class _Rows:
    """Finds the row of a case in many files: the last row with measures, else the last row."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._types = _measure_types(files)
        listed = [_listed(number, path) for number, path in enumerate(files)]
        keys, good, file, row = (np.concatenate(column) for column in zip(*listed, strict=True))
        order = np.lexsort((row, file, good, keys))
        self._keys, self._file, self._row = keys[order], file[order], row[order]

    def of(self, cases: Sequence[Case]) -> polars.DataFrame:
        """Return a row for each case: "error" and every measure that any case has."""
        import polars

        at = np.searchsorted(self._keys, key_numbers([case.key for case in cases]), side="right") - 1
        pieces = []
        for file in np.unique(self._file[at]).tolist():
            wanted = np.flatnonzero(self._file[at] == file)
            found = read_rows(self._files[file])[self._row[at[wanted]]]
            pieces.append(found.with_columns(polars.Series(PLACE, wanted)))
        rows = polars.concat(pieces, how="diagonal_relaxed").sort(PLACE)
        absent = [polars.lit(None).alias(name) for name in self._types if name not in rows.columns]
        return rows.with_columns(absent).select(polars.col(name).cast(kind) for name, kind in self._types.items())


def _listed(number: int, path: Path) -> tuple[NDArray[Any], ...]:
    """Return for each row of a file the case, whether it has measures, and the numbers of the file and the row."""
    rows = read_rows(path, [CASE, ERROR])
    count = np.arange(len(rows), dtype=np.int32)
    return key_numbers(rows[CASE].to_list()), rows[ERROR].is_null().to_numpy(), np.full_like(count, number), count


def _measure_types(files: Sequence[Path]) -> Types:
    """Return the types of "error" and the measures by name; they do not depend on which file has which cases."""
    import polars

    found = polars.concat((read_rows(path).clear() for path in files), how="diagonal_relaxed").schema
    measures = sorted(name for name in found if name not in (CASE, ERROR))
    kinds = {name: polars.Float64 if found[name] == polars.Null else found[name] for name in measures}
    return {ERROR: polars.String, **kinds}


def _label_types(cases: Iterable[Case]) -> Types:
    """Return the types of the labels by name, in order of first appearance: numbers, or text if any label is text."""
    import polars

    kinds: dict[str, set[type]] = {}
    for case in cases:
        for name, value in case.labels.items():
            kinds.setdefault(name, set()).add(type(value))
    numbers = {frozenset({bool}): polars.Boolean, frozenset({int}): polars.Int64}
    numbers |= dict.fromkeys((frozenset({float}), frozenset({int, float})), polars.Float64)
    return {name: numbers.get(frozenset(of), polars.String) for name, of in kinds.items()}


def _labelled(cases: Sequence[Case], rows: polars.DataFrame, types: Types) -> polars.DataFrame:
    """Add the cases' keys and labels to the rows; a column occurs once if a measure and a label share a name."""
    import polars

    labels = polars.DataFrame({CASE: [case.key for case in cases]})
    for name, kind in types.items():
        values = [case.labels.get(name) for case in cases]
        if kind == polars.String:
            values = [value if value is None else str(value) for value in values]
        labels = labels.with_columns(polars.Series(name, values, dtype=kind, strict=False))
    return labels.hstack(rows.drop(*types, strict=False).get_columns())
