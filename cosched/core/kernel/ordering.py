"""The order in which an iteration looks at the queue: scores, ranks, and a sort that profits from the last order."""

from __future__ import annotations

import math

from cosched.core.job import JobState
from cosched.core.kernel.compiled import kernel
from cosched.core.kernel.expression import evaluate
from cosched.core.kernel.tables import (
    FCFS,
    LARGEST,
    OTHERS,
    QUEUE,
    QUEUE_NODES,
    RELEASED,
    SCRATCH,
    SHORTEST,
    WANTED,
    WFP,
)

QUEUED, READY = int(JobState.QUEUED), int(JobState.READY)
WANDERING = 8  # moves per job after which an insertion sort is the wrong tool


@kernel
def enqueue(tab, d, row):
    """Add a job to the queue, which keeps submission order as far as it was in it."""
    dom = tab.domains[d]
    i = dom.base + dom.queued
    while i > dom.base and dom.shuffled == 0 and tab.lists[QUEUE, i - 1] > row:
        tab.lists[QUEUE, i] = tab.lists[QUEUE, i - 1]
        tab.lists[QUEUE_NODES, i] = tab.lists[QUEUE_NODES, i - 1]
        i -= 1
    tab.lists[QUEUE, i] = row
    tab.lists[QUEUE_NODES, i] = tab.jobs[row].nodes
    dom.queued += 1
    tab.jobs[row].state = QUEUED
    dom.changed = 1


@kernel
def drop_left(tab, d):
    """Close the gaps of jobs that are no longer queued."""
    dom = tab.domains[d]
    if dom.holes == 0:
        return
    kept = dom.base
    for i in range(dom.base, dom.base + dom.queued):
        row = tab.lists[QUEUE, i]
        tab.lists[QUEUE, kept] = row
        tab.lists[QUEUE_NODES, kept] = tab.lists[QUEUE_NODES, i]
        state = tab.jobs[row].state
        if state == QUEUED or state == READY:  # a ready one may yield
            kept += 1
    dom.queued = kept - dom.base
    dom.holes = 0


@kernel
def put_in_order(tab, d, now):
    """Sort the queue for an iteration at `now`: rank, then score descending, then submission."""
    dom = tab.domains[d]
    after_release = dom.released_at == now
    if dom.policy == FCFS and dom.boosted == 0 and not after_release:
        if dom.shuffled == 1:
            _score_by_submission(tab, d)
            _sort(tab, d)
            dom.shuffled = 0
        return
    _score(tab, d, now)
    _rank(tab, d, now, after_release)
    _sort(tab, d)
    dom.shuffled = 1


@kernel
def _score_by_submission(tab, d):
    dom = tab.domains[d]
    for i in range(dom.base, dom.base + dom.queued):
        job = tab.jobs[tab.lists[QUEUE, i]]
        job.score = 0.0
        job.rank = OTHERS


@kernel
def _score(tab, d, now):
    dom = tab.domains[d]
    for i in range(dom.base, dom.base + dom.queued):
        job = tab.jobs[tab.lists[QUEUE, i]]
        if dom.policy == WFP:
            ratio = float(now - job.submit) / float(job.requested)
            score = ratio * ratio * ratio * float(job.nodes)
        elif dom.policy == FCFS:
            score = float(now - job.submit)
        elif dom.policy == SHORTEST:
            score = 1.0 / float(job.requested)
        elif dom.policy == LARGEST:
            score = float(job.nodes)
        else:
            score = evaluate(tab.programs[d], float(now - job.submit), float(job.requested), float(job.nodes))
        score *= job.boost
        job.score = -math.inf if math.isnan(score) else score


@kernel
def _rank(tab, d, now, after_release):
    dom = tab.domains[d]
    for i in range(dom.base, dom.base + dom.queued):
        job = tab.jobs[tab.lists[QUEUE, i]]
        job.rank = OTHERS
        if after_release:
            if dom.wanted_first == 1 and now < job.wanted_until:
                job.rank = WANTED
            elif job.released == now:
                job.rank = RELEASED


@kernel
def _before(tab, a, b):
    """Whether job row `a` comes before job row `b`."""
    one, other = tab.jobs[a], tab.jobs[b]
    if one.rank != other.rank:
        return one.rank < other.rank
    if one.score != other.score:
        return one.score > other.score
    return a < b


@kernel
def _sort(tab, d):
    """Insertion sort, since the order changes little between iterations; where it did change much, a merge sort."""
    dom = tab.domains[d]
    moves = 0
    for i in range(dom.base + 1, dom.base + dom.queued):
        row = tab.lists[QUEUE, i]
        j = i
        while j > dom.base and _before(tab, row, tab.lists[QUEUE, j - 1]):
            tab.lists[QUEUE, j] = tab.lists[QUEUE, j - 1]
            j -= 1
        tab.lists[QUEUE, j] = row
        moves += i - j
        if moves > WANDERING * (dom.queued + 1):
            _merge_sort(tab, d)
            break
    if moves > 0:
        _note_sizes(tab, d)


@kernel
def _note_sizes(tab, d):
    dom = tab.domains[d]
    for i in range(dom.base, dom.base + dom.queued):
        tab.lists[QUEUE_NODES, i] = tab.jobs[tab.lists[QUEUE, i]].nodes


@kernel
def _merge_sort(tab, d):
    """Bottom-up merge sort of the queue, with the plan's list as second place; needed rarely."""
    dom = tab.domains[d]
    source, target = QUEUE, SCRATCH
    width = 1
    while width < dom.queued:
        for low in range(0, dom.queued, 2 * width):
            middle, high = min(low + width, dom.queued), min(low + 2 * width, dom.queued)
            _merge(tab, source, target, dom.base + low, dom.base + middle, dom.base + high)
        source, target = target, source
        width *= 2
    if source != QUEUE:
        for i in range(dom.base, dom.base + dom.queued):
            tab.lists[QUEUE, i] = tab.lists[SCRATCH, i]


@kernel
def _merge(tab, source, target, low, middle, high):
    i, j = low, middle
    for k in range(low, high):
        if j >= high or (i < middle and not _before(tab, tab.lists[source, j], tab.lists[source, i])):
            tab.lists[target, k] = tab.lists[source, i]
            i += 1
        else:
            tab.lists[target, k] = tab.lists[source, j]
            j += 1
