"""Nodes taken and given back; who occupies them until when; which jobs end next.

Flat pools count nodes. Partitioned pools place a job on an aligned block of units: a block of s units starts at a
multiple of s. Both keep the sorted list of expected ends, from which shadow times and profiles are read.
"""

from __future__ import annotations

from cosched.core.job import JobState
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, unsigned
from cosched.core.scheduling.primitives.tables import (
    COMPLETIONS,
    DUE,
    FREE,
    MAX_ROWS,
    OUT,
    ROW_BITS,
    RUN_END,
    RUN_NODES,
    SLACK,
    Tables,
)

RUNNING = int(JobState.RUNNING)
WHOLE = 0  # the "block" of a job on a flat pool


@kernel
def place(tab: Tables, d: int, nodes: int) -> int:
    """The block on which `nodes` can start now: WHOLE, the lowest free first unit, or NONE."""
    dom = tab.domains[d]
    if nodes > dom.free:
        return NONE
    if dom.units == 0:
        return WHOLE
    return free_block(tab, d, nodes // dom.unit_nodes, 0, 0)


@kernel
def free_block(tab: Tables, d: int, count: int, shunned: int, shunned_count: int) -> int:
    """First unit of the lowest free block of `count` units clear of the `shunned_count` from `shunned`, or NONE."""
    for first in range(0, tab.domains[d].units - count + 1, count):
        if overlap(first, count, shunned, shunned_count):
            continue
        if block_is_free(tab, d, first, count):
            return first
    return NONE


@kernel
def overlap(first: int, count: int, other: int, other_count: int) -> bool:
    """Whether two runs of units have a unit in common."""
    return first < other + other_count and other < first + count


@kernel
def block_is_free(tab: Tables, d: int, first: int, count: int) -> bool:
    """Whether nobody has any unit of this block."""
    for unit in range(first, first + count):
        if tab.units[d, unit] != FREE:
            return False
    return True


@kernel
def is_free(tab: Tables, d: int, nodes: int, block: int) -> bool:
    """Whether nobody has these nodes; a job past its request is expected to end now, and has them still."""
    dom = tab.domains[d]
    if dom.units == 0:
        return nodes <= dom.free
    return block_is_free(tab, d, block, nodes // dom.unit_nodes)


@kernel
def block_free_at(tab: Tables, d: int, first: int, count: int, now: int) -> int:
    """When the last occupant of this block is expected to be gone, `now` at the earliest."""
    latest = now
    for unit in range(first, first + count):
        latest = max(latest, tab.units[d, unit])
    return latest


@kernel
def occupy(tab: Tables, d: int, nodes: int, block: int, until: int) -> None:
    """Take `nodes` (on `block`) out of the pool; they are expected back at `until`."""
    dom = tab.domains[d]
    dom.free -= nodes
    _insert_end(tab, d, until, nodes)
    _mark_units(tab, d, nodes, block, until)


@kernel
def vacate(tab: Tables, d: int, nodes: int, block: int, until: int) -> None:
    """Give back what `occupy` took with the same arguments; draining nodes stay out."""
    dom = tab.domains[d]
    _remove_end(tab, d, until, nodes)
    _mark_units(tab, d, nodes, block, FREE)
    dom.free += nodes
    if dom.draining > 0:
        withdraw(tab, d)


@kernel
def withdraw(tab: Tables, d: int) -> None:
    """Take free nodes out of service until no more have to go; on a partitioned pool whole units, the last first."""
    dom = tab.domains[d]
    if dom.units == 0:
        taken = min(dom.free, dom.draining)
        dom.free -= taken
        dom.draining -= taken
        dom.out += taken
        return
    for unit in range(dom.units - 1, -1, -1):
        if dom.draining > 0 and tab.units[d, unit] == FREE:
            tab.units[d, unit] = OUT
            dom.free -= dom.unit_nodes
            dom.draining -= dom.unit_nodes
            dom.out += dom.unit_nodes


@kernel
def restore(tab: Tables, d: int, nodes: int) -> None:
    """Take up to `nodes` nodes back into service: first those that were still to leave, then those that had left."""
    dom = tab.domains[d]
    kept = min(nodes, max(dom.draining, 0))
    dom.draining -= kept
    nodes -= kept
    if dom.units == 0:
        dom.free += min(nodes, dom.out)
        dom.out -= min(nodes, dom.out)
        return
    for unit in range(dom.units):
        if nodes > 0 and tab.units[d, unit] == OUT:
            tab.units[d, unit] = FREE
            dom.free += dom.unit_nodes
            dom.out -= dom.unit_nodes
            nodes -= dom.unit_nodes


@kernel
def expect(tab: Tables, d: int, nodes: int, block: int, old: int, new: int) -> None:
    """Occupied nodes are now expected back at `new` instead of `old`."""
    _remove_end(tab, d, old, nodes)
    _insert_end(tab, d, new, nodes)
    _mark_units(tab, d, nodes, block, new)


@kernel
def _mark_units(tab: Tables, d: int, nodes: int, block: int, until: int) -> None:
    dom = tab.domains[d]
    if dom.units > 0:
        for unit in range(block, block + nodes // dom.unit_nodes):
            tab.units[d, unit] = until


@kernel
def _insert_end(tab: Tables, d: int, until: int, nodes: int) -> None:
    dom = tab.domains[d]
    first = dom.base
    i = first + dom.running
    while i > first and tab.lists[RUN_END, unsigned(i - 1)] > until:
        tab.lists[RUN_END, unsigned(i)] = tab.lists[RUN_END, unsigned(i - 1)]
        tab.lists[RUN_NODES, unsigned(i)] = tab.lists[RUN_NODES, unsigned(i - 1)]
        i -= 1
    tab.lists[RUN_END, unsigned(i)] = until
    tab.lists[RUN_NODES, unsigned(i)] = nodes
    dom.running += 1


@kernel
def _remove_end(tab: Tables, d: int, until: int, nodes: int) -> None:
    dom = tab.domains[d]
    i = _first_end(tab, dom.base, dom.base + dom.running, until)
    # Jobs that end together are told apart by their size, all that matters here.
    while tab.lists[RUN_NODES, unsigned(i)] != nodes:
        i += 1
    dom.running -= 1
    _close_gap(tab, RUN_END, i, dom.base + dom.running)
    _close_gap(tab, RUN_NODES, i, dom.base + dom.running)


@kernel
def _close_gap(tab: Tables, which: int, at: int, last: int) -> None:
    tail = tab.lists[which, at : last + 1]
    for i in range(len(tail) - 1):
        tail[i] = tail[i + 1]


@kernel
def _first_end(tab: Tables, low: int, high: int, until: int) -> int:
    """Binary search: the first place in `low:high` whose expected end value is not below `until`."""
    while low < high:
        middle = (low + high) >> 1
        if tab.lists[RUN_END, unsigned(middle)] < until:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def push_completion(tab: Tables, d: int, time: int, row: int) -> None:
    """Note that the job `row`, which runs, will end at `time`."""
    dom = tab.domains[d]
    if dom.completions == 2 * dom.jobs + SLACK:
        _drop_former_completions(tab, d)
    _sift_up(tab, d, (time << ROW_BITS) | row)
    tab.clock[DUE + d] = min(tab.clock[DUE + d], time)


@kernel
def _sift_up(tab: Tables, d: int, key: int) -> None:
    dom = tab.domains[d]
    base = dom.base
    i = dom.completions
    dom.completions += 1
    while i > 0 and tab.lists[COMPLETIONS, unsigned(base + (i - 1 >> 1))] > key:
        tab.lists[COMPLETIONS, unsigned(base + i)] = tab.lists[COMPLETIONS, unsigned(base + (i - 1 >> 1))]
        i = i - 1 >> 1
    tab.lists[COMPLETIONS, unsigned(base + i)] = key


@kernel
def completes(tab: Tables, key: int) -> bool:
    """Whether this completion counts: its job runs and has not been started again since with another end."""
    job = tab.jobs[unsigned(key & (MAX_ROWS - 1))]
    return job.state == RUNNING and job.start + job.run == key >> ROW_BITS


@kernel
def _drop_former_completions(tab: Tables, d: int) -> None:
    """Keep those that count: there are no more of them than jobs."""
    dom = tab.domains[d]
    count = dom.completions
    dom.completions = 0
    for i in range(count):
        key = tab.lists[COMPLETIONS, dom.base + i]
        if completes(tab, key):
            _sift_up(tab, d, key)


@kernel
def pop_completion(tab: Tables, d: int) -> None:
    """Forget the earliest completion."""
    dom = tab.domains[d]
    base = dom.base
    dom.completions -= 1
    size = dom.completions
    key = tab.lists[COMPLETIONS, unsigned(base + size)]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        least = tab.lists[COMPLETIONS, unsigned(base + child)]
        if child + 1 < size and tab.lists[COMPLETIONS, unsigned(base + child + 1)] < least:
            child += 1
            least = tab.lists[COMPLETIONS, unsigned(base + child)]
        if least >= key:
            break
        tab.lists[COMPLETIONS, unsigned(base + i)] = least
        i = child
    tab.lists[COMPLETIONS, unsigned(base + i)] = key
