"""The times of a job, where a clock that is set back repeats an hour."""

from __future__ import annotations

from itertools import pairwise, product

from cosched.workload.jobs import UNKNOWN

Instants = tuple[int, ...]  # one, or two that a clock shows alike; UNKNOWN if a log does not say it


def settled(submit: Instants, start: Instants, end: Instants, elapsed: int) -> tuple[int, int, int]:
    """Return which of the instants were meant: in order, and as long between start and end as has elapsed, if possible.

    Of several such choices the earliest counts.
    """
    if len(submit) + len(start) + len(end) == 3:
        return submit[0], start[0], end[0]
    choices = list(product(submit, start, end))
    in_order = [times for times in choices if _in_order(times)] or choices
    exact = [times for times in in_order if times[2] - times[1] == elapsed]
    return (exact or in_order)[0]


def _in_order(times: tuple[int, ...]) -> bool:
    return all(earlier <= later for earlier, later in pairwise(time for time in times if time != UNKNOWN))
