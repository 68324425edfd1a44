"""The jobs that a molding scheduler expects (molding.md, Prediction): read from a file, or from generated workloads."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.schedulers.column import UNKNOWN
from cosched.validation.text import shown
from cosched.words.file_errors import reason_of
from cosched_papers.molding.columns import CURVE
from cosched_papers.molding.curves import MILLIONTHS
from cosched_papers.molding.future import Expected, Future
from cosched_papers.molding.kernels.times import DAY, HALF_HOUR, HALF_HOURS, MEDIUM, SHORT

if TYPE_CHECKING:  # a service beside a batch system does without arrays
    from cosched_sim.workload.jobs import Workload

HEADER = ["half_hour", "short", "medium", "long"]
MEANS = ("nodes", "run", "moldable", *CURVE)  # in this order in Expected
BOUNDS = {"nodes": (1, 1e9), "run": (1, 1e12), "moldable": (0, 1), "downey_a": (1, 1e6), "downey_sigma": (0, 1e6)}
ROWS = (*map(str, range(HALF_HOURS)), *MEANS)


def read_future(path: str, *, curves: bool = False) -> Future:
    """Return what a file says of each class, and of their curves of Downey's; ValueError names what is wrong in it."""
    try:
        rows = list(csv.reader(Path(path).read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        reason = reason_of(error, path) if isinstance(error, OSError) else "it is not text"
        raise _wrong(path, f"cannot be read: {reason}") from None
    if not rows or [cell.strip() for cell in rows[0]] != HEADER:
        raise _wrong(path, f"its first line must be {','.join(HEADER)}")
    names = ROWS if curves else ROWS[: -len(CURVE)]
    found: dict[str, list[float]] = {}
    for line, (name, *cells) in enumerate((row or [""] for row in rows[1:]), 2):
        if name not in names or name in found or len(cells) != 3:
            wanted = f"three numbers for each of 0 to {', '.join(names[HALF_HOURS - 1 :])}, once"
            raise _wrong(path, f"line {line}: {wanted}")
        found[name] = [_number(path, line, name, cell) for cell in cells]
    for name in names:
        if name not in found:
            raise _wrong(path, f"has no line for {name}")
    classes = zip(*(found[name] for name in names), strict=True)
    return Future([Expected(tuple(values[:HALF_HOURS]), *values[HALF_HOURS:]) for values in classes])


def _number(path: str, line: int, name: str, text: str) -> float:
    least, most = BOUNDS.get(name, (0, 1e9))
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise _wrong(path, f"line {line}: {shown(text)} is not a number from {least:,.0f} to {most:,.0f}")
    return value


def _wrong(path: str, reason: str) -> ValueError:
    return ValueError(f"{path}: {reason}")


def learned_future(workloads: Sequence[Workload]) -> Future:
    """Return the means over all whole days of these workloads; ValueError: there is none."""
    import numpy as np

    names = ("moldable", *CURVE)
    work = [np.stack((w.submit, w.nodes, w.run, w.requested, *(w.columns[name] for name in names))) for w in workloads]
    days = [int(jobs[0].max()) // DAY - int(jobs[0].min()) // DAY - 1 for jobs in work]
    if not any(count > 0 for count in days):
        raise ValueError("prediction: trained learns from whole days, and the trace has none: draw more jobs (jobs=N)")
    day = [jobs[0] // DAY for jobs in work]
    whole = [jobs[:, (on > on.min()) & (on < on.max())] for jobs, on in zip(work, day, strict=True)]
    submit, nodes, run, asked, moldable, *curves = np.concatenate(whole, axis=1)
    total, found = sum(max(count, 0) for count in days), []
    curve = [float(column[column != UNKNOWN].mean()) / MILLIONTHS for column in curves if (column != UNKNOWN).any()]
    for chosen in (asked < SHORT, (asked >= SHORT) & (asked < MEDIUM), asked >= MEDIUM):
        arrivals = np.bincount(submit[chosen] % DAY // HALF_HOUR, minlength=HALF_HOURS) / total
        means = [float(column[chosen].mean()) if chosen.any() else 1.0 for column in (nodes, run, moldable)]
        found.append(Expected(tuple(arrivals.tolist()), *means, *curve))
    return Future(found)
