"""One case of a sweep: a replay's settings, its place in the grid, and its row of results."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cosched_sim.sweeps.files import with_digests

if TYPE_CHECKING:
    from cosched_sim.results.result import ReplayResult

Row = dict[str, Any]
Label = str | int | float

CASE, ERROR = "case", "error"  # columns of a row
LONGEST_ERROR = 500  # characters


@dataclass(frozen=True)
class Case:
    """A replay: `settings` are the keys of a ReplayConfig (JSON values), `labels` its place in the grid."""

    settings: Mapping[str, Any]
    labels: Mapping[str, Label]

    @cached_property
    def key(self) -> str:
        """A hash (16 hexadecimal digits) of the settings and of the content of the files that they name."""
        said = json.dumps(with_digests(self.settings), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def measures(self) -> Row:
        """Replay it: every number of the summary() but the timing, by its dotted path without "domains."."""
        from cosched_sim.configuration import replay_config
        from cosched_sim.replaying import run

        return dict(_measures(run(replay_config("case", dict(self.settings)))))


def run_case(case: Case) -> Row:
    """Run one case and return its row.

    The columns are "case", its key; the labels; "error", None or in one line why there are no measures; and the
    measures.
    """
    try:
        found = case.measures()
    except Exception as error:  # whatever it is, the other cases must go on
        return failed_row(case, reason(error))
    row = {CASE: case.key, **case.labels, ERROR: None}
    return {**row, **{name: value for name, value in found.items() if name not in row}}


def failed_row(case: Case, error: str) -> Row:
    """Return the row of a case without measures."""
    return {CASE: case.key, **case.labels, ERROR: error}


def run_chunk(cases: Sequence[Case]) -> tuple[list[Row], float]:
    """Run some cases one after another; return their rows and the seconds they took."""
    began = time.perf_counter()
    return [run_case(case) for case in cases], time.perf_counter() - began


def reason(error: BaseException) -> str:
    """Describe an error in one line."""
    from cosched.words.errors import InputError

    text = " ".join(str(error).split())
    if not isinstance(error, InputError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text[:LONGEST_ERROR]


def _measures(result: ReplayResult) -> Iterator[tuple[str, int | float | None]]:
    from cosched_sim.workload.traces import REASONS

    summary = result.summary()
    for name, domain in summary["domains"].items():
        left_out = {why: domain["rejected"].get(why, 0) for why in REASONS}
        yield from _numbers(name, {**domain, "rejected": left_out})
    yield from _numbers("pairs", summary["pairs"])
    yield "stalled", summary["stalled"]


def _numbers(path: str, value: Any) -> Iterator[tuple[str, int | float | None]]:
    """Yield the numbers in nested tables by dotted path; a None counts as a missing number."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(f"{path}.{key}", inner)
    elif value is None or isinstance(value, int | float):
        yield path, value
