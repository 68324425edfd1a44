"""Who gives or gets how many processors: lists of rows (WHO) with most (ROOM) and actual numbers (SHARE)."""

from __future__ import annotations

from typing import Any

from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.fluid.kernels.state import KEY, LOW_IMPACT, ROOM, SHARE, WHO, Fluid


@shared_kernel
def share_out(f: Fluid, n: int, count: int, step: int) -> None:
    """Divide `count` processors, or as many as there is room for: taken (step -1) or given (+1) one by one."""
    if f.machine[0].harvesting == LOW_IMPACT:
        _by_impact(f, n, count, step)
    else:
        _robin(f, n, count)


@kernel
def _robin(f: Fluid, n: int, count: int) -> None:
    """One for each that has room, in order, round after round."""
    room, share = f.lists[ROOM], f.lists[SHARE]
    rounds = _whole_rounds(room, n, count)
    for i in range(n):
        share[i] = min(room[i], rounds)
        count -= share[i]
    for i in range(n):
        if count > 0 and room[i] > rounds:
            share[i] += 1
            count -= 1


@kernel
def _whole_rounds(room: Any, n: int, count: int) -> int:
    """The most rounds in which all can have their share."""
    low, high = 0, 0
    for i in range(n):
        high = max(high, room[i])
    high = min(high, count)
    while low < high:
        middle, total = (low + high + 1) // 2, 0
        for i in range(n):
            total += min(room[i], middle)
        if total <= count:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def _by_impact(f: Fluid, n: int, count: int, step: int) -> None:
    """Each from the largest (procs - 1) / ideal, or to the smallest procs / ideal; of equals, the first in order.

    KEY is a heap of those that have room.
    """
    room, share, heap = f.lists[ROOM], f.lists[SHARE], f.lists[KEY]
    size = 0
    for i in range(n):
        share[i] = 0
        if room[i] > 0:
            heap[size] = i
            size += 1
    for i in range(size // 2 - 1, -1, -1):
        _sift(f, i, size, step)
    while count > 0 and size > 0:
        first = heap[0]
        share[first] += 1
        count -= 1
        if share[first] == room[first]:
            size -= 1
            heap[0] = heap[size]
        _sift(f, 0, size, step)


@shared_kernel
def _sift(f: Fluid, place: int, size: int, step: int) -> None:
    heap = f.lists[KEY]
    moved = heap[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _before(f, heap[child + 1], heap[child], step):
            child += 1
        if not _before(f, heap[child], moved, step):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = moved


@kernel
def _before(f: Fluid, one: int, other: int, step: int) -> bool:
    a, b = f.jobs[f.lists[WHO, one]], f.jobs[f.lists[WHO, other]]
    lost = 1 if step < 0 else 0
    share_a = (a.procs + step * f.lists[SHARE, one] - lost) * b.ideal
    share_b = (b.procs + step * f.lists[SHARE, other] - lost) * a.ideal
    if share_a == share_b:
        return one < other
    return (share_a > share_b) == (step < 0)


@shared_kernel
def sort(f: Fluid, n: int) -> None:
    """Order WHO by KEY, ascending; equals stay in order."""
    who, key = f.lists[WHO], f.lists[KEY]
    for i in range(1, n):
        row, rank, j = who[i], key[i], i
        while j > 0 and key[j - 1] > rank:
            who[j], key[j] = who[j - 1], key[j - 1]
            j -= 1
        who[j], key[j] = row, rank
