"""Step functions of a run over time, and their means and maxima over visible intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars
from numpy.typing import NDArray

from cosched_sim.reports.figures.style import TimeAxis
from cosched_sim.reports.run import Run, RunDomain
from cosched_sim.workload.jobs import Ints as Ints

Floats = NDArray[np.float64]

SEEN = 800  # intervals that can be seen in a figure of the usual width
BARS = 40  # bars that can still be distinguished
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_WIDTHS = (
    *(1, 2, 5, 10, 15, 30),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 20, 30)),
    *(n * _HOUR for n in (1, 2, 3, 4, 6, 12)),
    *(n * _DAY for n in (1, 2, 4, 7, 14, 28)),
)
_UNITS = ((_DAY, "day", "days"), (_HOUR, "hour", "h"), (_MINUTE, "minute", "min"), (1, "second", "s"))


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """A step function of time: `values[i]` from `times[i]` (s, ascending) to the next; 0 before the first."""

    times: Ints
    values: Ints

    def _at(self, times: Ints) -> Ints:
        padded = np.concatenate((np.zeros(1, np.int64), self.values))
        found: Ints = padded[np.searchsorted(self.times, times, "right")]
        return found

    def means(self, edges: Ints) -> Floats:
        """Return the means over the intervals between `edges` (ascending)."""
        times = np.union1d(self.times, edges)
        areas = self._at(times[:-1]) * np.diff(times)
        total = np.concatenate((np.zeros(1, np.int64), np.cumsum(areas)))
        means: Floats = np.diff(total[np.searchsorted(times, edges)]) / np.diff(edges)
        return means

    def maxima(self, edges: Ints) -> Ints:
        """Return the greatest values in the intervals between `edges` (ascending), each without its right end."""
        times = np.union1d(self.times, edges)
        starts = np.searchsorted(times, edges)
        values = self._at(times[: starts[-1]])
        greatest: Ints = np.maximum.reduceat(values, starts[:-1])
        return greatest


def steps(begin: Ints, end: Ints, weight: Ints) -> Steps:
    """Return as a function of time the sum of the weights of all intervals [begin, end) that contain the instant."""
    times, where = np.unique(np.concatenate((begin, end)), return_inverse=True)
    changes = np.zeros(len(times), np.int64)
    np.add.at(changes, where, np.concatenate((weight, -weight)))
    return Steps(times, np.cumsum(changes))


def column(table: polars.DataFrame, name: str) -> Ints:
    """Return a column of whole numbers without nulls."""
    return table[name].to_numpy().astype(np.int64)


def running(domain: RunDomain) -> Steps:
    """Return how many nodes ran jobs."""
    ran = domain.runs
    return steps(column(ran, "start"), column(ran, "end"), column(ran, "nodes"))


def held(domain: RunDomain) -> Steps:
    """Return how many nodes were held for mates; 0 if holds were not recorded."""
    holds = domain.holds
    if holds is None:
        return Steps(np.empty(0, np.int64), np.empty(0, np.int64))
    return steps(column(holds, "begin"), column(holds, "end"), column(holds, "nodes"))


def out_of_service(run: Run, domain: RunDomain) -> Steps:
    """Return how many nodes what-if events keep out of service; a drain counts from its beginning on."""
    changes = run.outages(domain.name)
    times = np.array([time for time, _ in changes], np.int64)
    out: list[int] = [0]
    for _, nodes in changes:
        out.append(min(max(out[-1] + nodes, 0), domain.nodes))
    return Steps(times, np.array(out[1:], np.int64))


def waiting(domain: RunDomain, jobs: polars.DataFrame) -> Steps:
    """Return how many of a domain's `jobs` waited (or held), from submission until start or cancellation."""
    left = jobs.select(polars.coalesce("start", "end", polars.lit(domain.last)))["start"]
    return steps(column(jobs, "submit"), left.to_numpy().astype(np.int64), np.ones(len(jobs), np.int64))


def bin_width(axis: TimeAxis, most: int) -> int:
    """Return a round duration (s), such that `most` intervals of it cover the span of the axis."""
    least = -(-(axis.last - axis.first) // most)
    return next((width for width in _WIDTHS if width >= least), -(-least // _DAY) * _DAY)


def bin_edges(axis: TimeAxis, most: int) -> Ints:
    """Return the edges of up to `most` + 1 equal intervals that cover the span, counted from the axis's origin."""
    width, origin = bin_width(axis, most), axis.origin
    first, last = (axis.first - origin) // width, (axis.last - origin) // width + 1
    return origin + np.arange(first, last + 1, dtype=np.int64) * width


def bars_of(axis: TimeAxis) -> tuple[Ints, str]:
    """Return the edges of the intervals of bars, and their length in words."""
    return bin_edges(axis, BARS), width_words(bin_width(axis, BARS))


def seen_edges(axis: TimeAxis, *series: Steps) -> tuple[Ints, str]:
    """Return the edges of intervals to show step functions: every change, or equal intervals if there are too many.

    Also return the length of the intervals in words, empty if every change is shown.
    """
    last = max(axis.last, axis.first + 1)
    changes = np.unique(np.concatenate([[axis.first, last], *(s.times for s in series)]))
    changes = changes[(axis.first <= changes) & (changes <= last)].astype(np.int64)
    if len(changes) <= SEEN:
        return changes, ""
    return np.unique(np.clip(bin_edges(axis, SEEN), axis.first, last)), width_words(bin_width(axis, SEEN))


def width_words(width: int) -> str:
    """Format a round duration for "per ...": `hour`, `20 min`, `2 days`."""
    size, one, many = next(unit for unit in _UNITS if width % unit[0] == 0)
    return one if width == size else f"{width // size} {many}"


def counts(times: Ints, edges: Ints, weight: Ints | None = None) -> Ints:
    """Count the `times` (or sum their weights) in each interval between `edges`, without its right end."""
    total = np.zeros(len(edges) - 1, np.int64)
    np.add.at(total, np.searchsorted(edges, times, "right") - 1, 1 if weight is None else weight)
    return total


def edges_table(name: str, edges: Ints, columns: dict[str, Any]) -> polars.DataFrame:
    """Return rows for a figure's table: domain, begin and end of each interval (trace seconds), and the columns."""
    domain = polars.Series("domain", [name], dtype=polars.String).new_from_index(0, len(edges) - 1)
    return polars.DataFrame({"domain": domain, "from_s": edges[:-1], "to_s": edges[1:], **columns})


def table_edges(table: polars.DataFrame) -> Ints:
    """Return the edges of an `edges_table`."""
    return np.append(column(table, "from_s"), column(table.tail(1), "to_s"))
