"""The order in which an iteration looks at the queue: score descending, then submission; after a forced release
wanted jobs first and the released ones last. The sort profits from the last order.
"""

from __future__ import annotations

import math

from cosched.core.job import JobState
from cosched.core.scheduling.primitives.codes import FCFS, LARGEST, NONE, SHORTEST, WFP
from cosched.core.scheduling.primitives.compiled import kernel, unsigned
from cosched.core.scheduling.primitives.expression import evaluate
from cosched.core.scheduling.primitives.tables import (
    NEVER,
    OTHERS,
    QUEUE,
    QUEUE_NODES,
    QUEUE_REQUESTED,
    QUEUE_SUBMIT,
    RELEASED,
    SCRATCH,
    WANTED,
    Tables,
)

QUEUED = int(JobState.QUEUED)
WANDERING = 8  # moves per job after which an insertion sort is the wrong tool


@kernel
def enqueue(tab: Tables, d: int, row: int) -> None:
    """Add a job to the queue, which keeps submission order as far as it was in it."""
    dom = tab.domains[d]
    i = dom.base + dom.queued
    while i > dom.base and dom.shuffled == 0 and tab.lists[QUEUE, unsigned(i - 1)] > row:
        _move(tab, i - 1, i)
        i -= 1
    _put_at(tab, i, row)
    dom.queued += 1
    tab.jobs[unsigned(row)].state = QUEUED
    dom.changed = 1


@kernel
def strike(tab: Tables, d: int, at: int) -> None:
    """The job at this place of the queue has left it; the gap stays until the next ordering."""
    tab.lists[QUEUE, unsigned(at)] = NONE
    tab.lists[QUEUE_NODES, unsigned(at)] = NEVER  # nothing that fits
    dom = tab.domains[d]
    place = 1 + at - dom.base
    if dom.first_hole == 0 or place < dom.first_hole:
        dom.first_hole = place


@kernel
def strike_row(tab: Tables, d: int, row: int) -> None:
    """The job `row`, which is queued, has left the queue."""
    at = tab.domains[d].base
    while tab.lists[QUEUE, at] != row:
        at += 1
    strike(tab, d, at)


@kernel
def drop_left(tab: Tables, d: int) -> None:
    """Close the gaps of jobs that have left the queue."""
    dom = tab.domains[d]
    if dom.first_hole == 0:
        return
    kept = dom.base + dom.first_hole - 1
    for i in range(kept + 1, dom.base + dom.queued):
        if tab.lists[QUEUE, unsigned(i)] != NONE:
            _move(tab, i, kept)
            kept += 1
    dom.queued = kept - dom.base
    dom.first_hole = 0


@kernel
def put_in_order(tab: Tables, d: int, now: int) -> None:
    """Sort the queue for an iteration at `now`."""
    dom = tab.domains[d]
    after_release = dom.released_at == now
    if dom.policy != FCFS or dom.boosted == 1:
        _score(tab, d, now)
        _sort(tab, d)
        dom.shuffled = 1
    elif dom.shuffled == 1:
        for i in range(dom.base, dom.base + dom.queued):
            tab.scores[i] = 0.0  # ties go by submission
        _sort(tab, d)
        dom.shuffled = 0
    if after_release:
        _put_released_last(tab, d, now)
        dom.shuffled = 1


@kernel
def _put_at(tab: Tables, i: int, row: int) -> None:
    """Place `i` of the queue is the job `row`'s."""
    job = tab.jobs[unsigned(row)]
    _put(tab, i, row, job.nodes, job.submit, job.requested)


@kernel
def _put(tab: Tables, i: int, row: int, nodes: int, submit: int, requested: int) -> None:
    tab.lists[QUEUE, unsigned(i)] = row
    tab.lists[QUEUE_NODES, unsigned(i)] = nodes
    tab.lists[QUEUE_SUBMIT, unsigned(i)] = submit
    tab.lists[QUEUE_REQUESTED, unsigned(i)] = requested


@kernel
def _move(tab: Tables, source: int, target: int) -> None:
    tab.lists[QUEUE, unsigned(target)] = tab.lists[QUEUE, unsigned(source)]
    tab.lists[QUEUE_NODES, unsigned(target)] = tab.lists[QUEUE_NODES, unsigned(source)]
    tab.lists[QUEUE_SUBMIT, unsigned(target)] = tab.lists[QUEUE_SUBMIT, unsigned(source)]
    tab.lists[QUEUE_REQUESTED, unsigned(target)] = tab.lists[QUEUE_REQUESTED, unsigned(source)]


@kernel
def _score(tab: Tables, d: int, now: int) -> None:
    """Scores of the whole queue at `now`, in doubles; not a number counts as the lowest."""
    dom = tab.domains[d]
    if dom.policy == WFP:
        _score_wfp(tab, dom.base, dom.base + dom.queued, now)
    else:
        for i in range(dom.base, dom.base + dom.queued):
            tab.scores[i] = _score_one(tab, d, i, now)
    if dom.boosted == 1:
        for i in range(dom.base, dom.base + dom.queued):
            boost = tab.marks[tab.lists[QUEUE, i]].boost
            if boost > 0.0:
                tab.scores[i] *= boost
    if dom.policy > LARGEST:
        for i in range(dom.base, dom.base + dom.queued):
            if math.isnan(tab.scores[i]):
                tab.scores[i] = -math.inf


@kernel
def _score_wfp(tab: Tables, start: int, end: int, now: int) -> None:
    submit, requested = tab.lists[QUEUE_SUBMIT, start:end], tab.lists[QUEUE_REQUESTED, start:end]
    nodes, scores = tab.lists[QUEUE_NODES, start:end], tab.scores[start:end]
    for i in range(len(scores)):
        ratio = float(now - submit[i]) / float(requested[i])
        scores[i] = ratio * ratio * ratio * float(nodes[i])


@kernel
def _score_one(tab: Tables, d: int, i: int, now: int) -> float:
    policy = tab.domains[d].policy
    wait = float(now - tab.lists[QUEUE_SUBMIT, i])
    if policy == FCFS:
        return wait
    if policy == SHORTEST:
        return 1.0 / float(tab.lists[QUEUE_REQUESTED, i])
    if policy == LARGEST:
        return float(tab.lists[QUEUE_NODES, i])
    requested, nodes = float(tab.lists[QUEUE_REQUESTED, i]), float(tab.lists[QUEUE_NODES, i])
    return evaluate(tab.programs[d], wait, requested, nodes)


@kernel
def _before(tab: Tables, score: float, row: int, i: int) -> bool:
    """Whether a job `row` of this score comes before the one at place `i`."""
    if score != tab.scores[unsigned(i)]:
        return score > tab.scores[unsigned(i)]
    return row < tab.lists[QUEUE, unsigned(i)]


@kernel
def _sort(tab: Tables, d: int) -> None:
    """Insertion sort, since the order changes little between iterations; where it did change much, a merge sort."""
    dom = tab.domains[d]
    scores = tab.scores[dom.base : dom.base + dom.queued]
    moves = 0
    for place in range(1, len(scores)):
        if scores[place] < scores[place - 1]:
            continue
        moves += _insert(tab, dom.base, dom.base + place)
        if moves > WANDERING * (dom.queued + 1):
            _merge_sort(tab, d)
            return


@kernel
def _insert(tab: Tables, first: int, i: int) -> int:
    """Move the job at place `i` to where it belongs among those from `first` on; how far."""
    lists, scores = tab.lists, tab.scores
    score, row, nodes = scores[unsigned(i)], lists[QUEUE, unsigned(i)], lists[QUEUE_NODES, unsigned(i)]
    submit, requested = lists[QUEUE_SUBMIT, unsigned(i)], lists[QUEUE_REQUESTED, unsigned(i)]
    j = i
    while j > first and _before(tab, score, row, j - 1):
        _move(tab, j - 1, j)
        scores[unsigned(j)] = scores[unsigned(j - 1)]
        j -= 1
    if j < i:
        _put(tab, j, row, nodes, submit, requested)
        scores[unsigned(j)] = score
    return i - j


@kernel
def _merge_sort(tab: Tables, d: int) -> None:
    """Bottom-up merge sort of places by score and row, with the plan's lists as second place; needed rarely."""
    dom = tab.domains[d]
    for i in range(dom.queued):
        tab.lists[SCRATCH, dom.base + i] = dom.base + i
    source, target = SCRATCH, SCRATCH + 1
    width = 1
    while width < dom.queued:
        for low in range(0, dom.queued, 2 * width):
            middle, high = min(low + width, dom.queued), min(low + 2 * width, dom.queued)
            _merge(tab, source, target, dom.base + low, dom.base + middle, dom.base + high)
        source, target = target, source
        width *= 2
    _follow(tab, d, source, target)


@kernel
def _merge(tab: Tables, source: int, target: int, low: int, middle: int, high: int) -> None:
    i, j = low, middle
    for k in range(low, high):
        left, right = tab.lists[source, min(i, high - 1)], tab.lists[source, min(j, high - 1)]
        if j >= high or (i < middle and not _before(tab, tab.scores[right], tab.lists[QUEUE, right], left)):
            tab.lists[target, k] = left
            i += 1
        else:
            tab.lists[target, k] = right
            j += 1


@kernel
def _follow(tab: Tables, d: int, order: int, spare: int) -> None:
    """Put the queue into the order of the places listed in `order`; scores are not needed any more."""
    dom = tab.domains[d]
    for i in range(dom.base, dom.base + dom.queued):
        tab.lists[spare, i] = tab.lists[QUEUE, tab.lists[order, i]]
    for i in range(dom.base, dom.base + dom.queued):
        _put_at(tab, i, tab.lists[spare, i])


@kernel
def _put_released_last(tab: Tables, d: int, now: int) -> None:
    """The order after a forced release (coscheduling.md): wanted jobs, the others, the released; stable."""
    dom = tab.domains[d]
    place = dom.base
    for rank in (WANTED, OTHERS, RELEASED):
        for i in range(dom.base, dom.base + dom.queued):
            if _rank(tab, d, tab.lists[QUEUE, i], now) == rank:
                tab.lists[SCRATCH, place] = tab.lists[QUEUE, i]
                place += 1
    for i in range(dom.base, dom.base + dom.queued):
        _put_at(tab, i, tab.lists[SCRATCH, i])


@kernel
def _rank(tab: Tables, d: int, row: int, now: int) -> int:
    mark = tab.marks[row]
    if tab.domains[d].wanted_first == 1 and now < mark.wanted_until:
        return WANTED
    return RELEASED if mark.released == now else OTHERS
