"""Free nodes over time, where all nodes are alike: `steps` steps, `free[i]` nodes from `time[i]` to `time[i + 1]`.

The last step has no end. Whoever plans has the two arrays; what changes them returns how many steps there are then.
"""

from __future__ import annotations

from typing import Any

from cosched.core.scheduling.primitives.compiled import kernel
from cosched.core.scheduling.primitives.tables import NEVER


@kernel
def begin_steps(time: Any, free: Any, ends: Any, nodes: Any, running: int, now: int, unused: int) -> int:
    """Start from what runs and is held, by expected ends; `unused` nodes are free now. Return the number of steps."""
    time[0], free[0] = now, unused
    last = 0
    for i in range(running):
        end = max(ends[i], now)
        if end == NEVER:
            break
        if end > time[last]:
            last += 1
            time[last], free[last] = end, free[last - 1]
        free[last] += nodes[i]
    return last + 1


@kernel
def take_from_steps(time: Any, free: Any, steps: int, nodes: int, start: int, end: int) -> int:
    """Nobody else may use so many nodes from `start` to `end`."""
    first, last, steps = _between(time, free, steps, start, end)
    for i in range(first, last):
        free[i] -= nodes
    return steps


@kernel
def give_to_steps(time: Any, free: Any, steps: int, nodes: int, start: int, end: int) -> int:
    """Undo `take_from_steps` with the same arguments."""
    first, last, steps = _between(time, free, steps, start, end)
    for i in range(first, last):
        free[i] += nodes
    steps = _join(time, free, steps, last)
    return _join(time, free, steps, first)


@kernel
def earliest_in_steps(time: Any, free: Any, steps: int, nodes: int, requested: int, at: int) -> int:
    """The first instant from `at` on (which is not past) at which so many nodes are free for so long; NEVER: none."""
    i = _step_at(time, steps, at)
    start = at
    while i < steps and time[i] < start + requested:
        if free[i] < nodes:
            if i + 1 == steps:
                return NEVER  # too many nodes never come back
            start = time[i + 1]
        i += 1
    return start


@kernel
def steps_short_from(time: Any, free: Any, steps: int, nodes: int, now: int) -> int:
    """The first instant from now on at which fewer nodes are free; NEVER: none."""
    for i in range(_step_at(time, steps, now), steps):
        if free[i] < nodes:
            return time[i]
    return NEVER


@kernel
def _between(time: Any, free: Any, steps: int, start: int, end: int) -> tuple[int, int, int]:
    """Return the step that begins at `start`, that which begins at `end`, and the number of steps."""
    first, steps = _split(time, free, steps, start)
    last = steps
    if end != NEVER:
        last, steps = _split(time, free, steps, end)
    return first, last, steps


@kernel
def _split(time: Any, free: Any, steps: int, at: int) -> tuple[int, int]:
    """Return the step that begins at this instant, made if there is none, and the number of steps."""
    i = steps
    while time[i - 1] > at:
        i -= 1
    if time[i - 1] == at:
        return i - 1, steps
    for j in range(steps, i, -1):
        time[j], free[j] = time[j - 1], free[j - 1]
    time[i], free[i] = at, free[i - 1]
    return i, steps + 1


@kernel
def _join(time: Any, free: Any, steps: int, i: int) -> int:
    """Drop step `i` if it is no step: as many nodes are free before it."""
    if i == 0 or i >= steps or free[i] != free[i - 1]:
        return steps
    for j in range(i, steps - 1):
        time[j], free[j] = time[j + 1], free[j + 1]
    return steps - 1


@kernel
def _step_at(time: Any, steps: int, at: int) -> int:
    """Return the step in force at this instant."""
    i = 0
    while i + 1 < steps and time[i + 1] <= at:
        i += 1
    return i
