"""Min-min and max-min for the jobs of one call, as often as PJS asks (Collins and George 2001, section 3).

Jobs of a class end first on the same machine: its root in a tree over all machines, in which a machine that is taken
changes one branch. A schedule is given up as soon as what is placed, and the rest at its best, are together no better
than what is known: machines become available later and later, so that ends only rise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel

CANNOT = 1 << 60  # as a time: jobs of this class cannot run there
# Schedules: what is committed; that with one job more on a cluster; one that is being made from either.
FIRM, TRIED, MADE = range(3)
SCHEDULES = 3
JOB, RESOURCE, START, END = range(4)  # of a placement
COLUMNS = 4
UNREACHED = (1 << 63) - 1  # the end of a job that cannot run; the sum of completions of a schedule that was given up


class Schedules(NamedTuple):
    """All that kernels read and write. An end and its machine are one number: the earlier, then the lower, is less."""

    seq: Any  # [classes, machines] int64: expected times
    par: Any  # [classes, clusters] int64
    allowed: Any  # [classes, clusters] bool: whether they are tried
    members: Any  # [entries] int64: the machines of all clusters
    begins: Any  # [clusters + 1] int64: where those of each begin
    jobs: Any  # [jobs] int64: by class, in each the last first
    first: Any  # [classes] int64: where the jobs of each class begin
    trees: Any  # [SCHEDULES, classes, 2 * width] int64: the ends of the next job; leaves from `width` on, the root is 1
    ends: Any  # [SCHEDULES, classes] int64: the first of these
    left: Any  # [SCHEDULES, classes] int64: how many jobs wait
    free: Any  # [SCHEDULES, machines] int64: when each machine is
    sums: Any  # [SCHEDULES] int64: of the ends of those that are placed
    counts: Any  # [SCHEDULES] int64: how many are placed
    placed: Any  # [SCHEDULES, jobs, 4] int64: see JOB
    best: Any  # [jobs, 4] int64: all placements of the best schedule so far


@shared_kernel
def begin(s: Schedules) -> None:
    """Fill the trees of what is committed, in which nothing is placed yet."""
    for of in range(len(s.seq)):
        tree = s.trees[FIRM, of]
        width = len(tree) // 2
        for machine in range(width):
            tree[width + machine] = UNREACHED
            if machine < s.seq.shape[1]:
                tree[width + machine] = _key(s, of, machine, s.free[FIRM, machine])
        for node in range(width - 1, 0, -1):
            tree[node] = min(tree[2 * node], tree[2 * node + 1])
        s.ends[FIRM, of] = tree[1] // s.seq.shape[1]


@kernel
def _key(s: Schedules, of: int, machine: int, free: int) -> int:
    seconds = s.seq[of, machine]
    return (seconds + free) * s.seq.shape[1] + machine if seconds < CANNOT else UNREACHED


@shared_kernel
def _occupy(s: Schedules, made: int, machine: int, until: int) -> None:
    """The machine is free from then on only."""
    s.free[made, machine] = until
    for of in range(len(s.seq)):
        if s.left[made, of] == 0 or s.seq[of, machine] >= CANNOT:
            continue
        tree = s.trees[made, of]
        node = len(tree) // 2 + machine
        tree[node] = _key(s, of, machine, until)
        while node > 1:
            node //= 2
            least = min(tree[2 * node], tree[2 * node + 1])
            if tree[node] == least:
                break
            tree[node] = least
        s.ends[made, of] = tree[1] // s.seq.shape[1]


@kernel
def _next_job(s: Schedules, made: int, of: int) -> int:
    """The first job of a class that waits."""
    return s.jobs[s.first[of] + s.left[made, of] - 1]


@kernel
def _place(s: Schedules, made: int, of: int, resource: int, start: int, end: int) -> None:
    """The next job of a class is placed."""
    count = s.counts[made]
    row = s.placed[made, count]
    row[JOB], row[RESOURCE], row[START], row[END] = _next_job(s, made, of), resource, start, end
    s.counts[made] = count + 1
    s.sums[made] += end
    s.left[made, of] -= 1


@shared_kernel
def _copy(s: Schedules, source: int, made: int) -> None:
    """Another schedule goes on from here."""
    for of in range(len(s.seq)):
        s.ends[made, of], s.left[made, of] = s.ends[source, of], s.left[source, of]
        for node in range(s.trees.shape[2]):
            s.trees[made, of, node] = s.trees[source, of, node]
    for machine in range(s.seq.shape[1]):
        s.free[made, machine] = s.free[source, machine]
    for count in range(s.counts[source]):
        for column in range(COLUMNS):
            s.placed[made, count, column] = s.placed[source, count, column]
    s.sums[made], s.counts[made] = s.sums[source], s.counts[source]


@kernel
def _keep(s: Schedules) -> None:
    """The schedule that was made is the best one so far."""
    for count in range(s.counts[MADE]):
        for column in range(COLUMNS):
            s.best[count, column] = s.placed[MADE, count, column]


@shared_kernel
def greedy(s: Schedules, source: int, largest: bool, below: int) -> int:
    """Place all jobs that wait, one after the other, on their best machines: the job that ends first, or else last.

    Return the sum of completions, and keep the schedule as the best one; UNREACHED: that sum is not `below` the number.
    """
    _copy(s, source, MADE)
    while True:
        chosen, bound = NONE, s.sums[MADE]
        for of in range(len(s.seq)):
            left, end = s.left[MADE, of], s.ends[MADE, of]
            if left == 0:
                continue
            bound += left * end
            if chosen == NONE:
                chosen = of
                continue
            other = s.ends[MADE, chosen]
            before = end > other if largest else end < other
            if before or (end == other and _next_job(s, MADE, of) < _next_job(s, MADE, chosen)):
                chosen = of
        if bound >= below:
            return UNREACHED
        if chosen == NONE:
            _keep(s)
            return bound
        machine, end = s.trees[MADE, chosen, 1] % s.seq.shape[1], s.ends[MADE, chosen]
        _place(s, MADE, chosen, machine, s.free[MADE, machine], end)
        _occupy(s, MADE, machine, end)


@shared_kernel
def better(s: Schedules, source: int, below: int) -> int:
    """SJS: the better of both; of equal ones, min-min. See `greedy`."""
    first = greedy(s, source, False, below)
    second = greedy(s, source, True, min(below, first))
    return min(first, second)


@shared_kernel
def try_cluster(s: Schedules, of: int, cluster: int, below: int) -> int:
    """Commit the next job of a class to a cluster if the sum of completions is `below` the number by that.

    Return that sum; UNREACHED: it is not.
    """
    _copy(s, FIRM, TRIED)
    members = s.members[s.begins[cluster] : s.begins[cluster + 1]]
    start = _cluster_free(s, cluster)
    end = start + s.par[of, cluster]
    _place(s, TRIED, of, s.seq.shape[1] + cluster, start, end)
    for machine in members:
        _occupy(s, TRIED, machine, end)
    completions = better(s, TRIED, below)
    if completions < below:
        _copy(s, TRIED, FIRM)
    return completions


@kernel
def _cluster_free(s: Schedules, cluster: int) -> int:
    """Return when all machines of a cluster are free."""
    free = s.free[FIRM, s.members[s.begins[cluster]]]
    for machine in s.members[s.begins[cluster] : s.begins[cluster + 1]]:
        free = max(free, s.free[FIRM, machine])
    return free


@shared_kernel
def most_profitable(s: Schedules) -> tuple[int, int]:
    """Return the class and the cluster of the greatest profit, for its next job; NONE: of none is any.

    Of several, the earliest job, then the first cluster. Profit: what the job gains in comparison to its best machine.
    """
    best, found, where = 0, NONE, NONE
    for cluster in range(s.par.shape[1]):
        free = _cluster_free(s, cluster)
        for of in range(len(s.seq)):
            if s.left[FIRM, of] == 0 or not s.allowed[of, cluster]:
                continue
            profit = s.ends[FIRM, of] - free - s.par[of, cluster]
            if profit <= 0 or profit < best:
                continue
            earlier = found != NONE and _next_job(s, FIRM, of) < _next_job(s, FIRM, found)
            if profit > best or earlier:
                best, found, where = profit, of, cluster
    return found, where
