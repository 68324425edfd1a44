"""Flat machines: any free nodes will do. A place is a number of nodes."""

import math


class Pool:
    """The nodes, and who has how many of them until when (as far as one can expect)."""

    def __init__(self, nodes: int, taken: list[tuple[int, float]]) -> None:
        self.nodes = nodes
        self.taken = list(taken)
        self.free = nodes - sum(count for count, _ in taken)
        assert self.free >= 0

    def fit(self, nodes: int) -> int | None:
        return nodes if nodes <= self.free else None

    def full(self) -> bool:
        return self.free == 0

    def occupy(self, nodes: int, until: float) -> None:
        assert nodes <= self.free
        self.free -= nodes
        self.taken.append((nodes, until))

    def reserve(self, nodes: int) -> "Reservation":
        # "The shadow time is the earliest instant at which enough nodes will be free for the reserved job. Extra is
        # what is free at that instant beyond its need; all jobs that are expected to end exactly then are counted."
        for shadow in sorted(until for _, until in self.taken if until < math.inf):
            free_then = self.free + sum(count for count, until in self.taken if until <= shadow)
            if free_then >= nodes:
                return Reservation(shadow, free_then - nodes)
        # "If the nodes never suffice, because holds have no timer, there is no shadow time and every job that fits
        # starts." A shadow at infinity says the same: everything ends before it.
        return Reservation(math.inf, 0)

    def plan(self, now: int) -> "Plan":
        return Plan(self.nodes, now, self.taken)


class Reservation:
    def __init__(self, shadow: float, extra: int) -> None:
        self.shadow = shadow
        self.extra = extra

    def offer(self, pool: Pool, nodes: int, end: int) -> int | None:
        # "each later job in order starts if it fits now and (now + requested <= shadow, or nodes <= extra
        # [...])"
        if nodes > pool.free:
            return None
        return nodes if end <= self.shadow or nodes <= self.extra else None

    def may_hold(self, nodes: int, claim: float) -> bool:
        # "only if its release time plus its requested time is at or before the shadow time, or its nodes are
        # within extra"
        return claim <= self.shadow or nodes <= self.extra

    def charge(self, nodes: int, claim: float) -> None:
        # "extra is used up only by a job that needed it and started or held"; "a hold that fits by its nodes only
        # uses extra up"
        if claim > self.shadow:
            self.extra -= nodes


class Plan:
    """The profile: how many nodes are free from each time on, until the next time listed."""

    def __init__(self, nodes: int, now: int, taken: list[tuple[int, float]]) -> None:
        self.steps: list[tuple[float, int]] = [(now, nodes)]
        for count, until in taken:
            self.occupy(count, now, until)

    def occupy(self, nodes: int, start: float, end: float) -> None:
        self._cut(start)
        self._cut(end)
        self.steps = [(t, free - nodes if start <= t < end else free) for t, free in self.steps]
        assert all(free >= 0 for _, free in self.steps)

    def vacate(self, nodes: int, start: float, end: float) -> None:
        self.occupy(-nodes, start, end)

    def _cut(self, time: float) -> None:
        """Give `time` a step of its own, so that the number of free nodes may change there."""
        if time < math.inf and all(t != time for t, _ in self.steps):
            free_before = [free for t, free in self.steps if t < time][-1]
            self.steps = sorted([*self.steps, (time, free_before)])

    def earliest(self, nodes: int, duration: int, not_before: float = 0) -> tuple[float, int] | None:
        """Find the earliest time from which the nodes are free all the while; None: never."""
        first = max(not_before, self.steps[0][0])
        self._cut(first)
        for time, _ in self.steps:
            if time >= first and self.is_free(nodes, time, time + duration):
                return time, nodes
        return None

    def is_free(self, nodes: int, start: float, end: float) -> bool:
        """Answer for a `start` that has a step."""
        return all(free >= nodes for t, free in self.steps if start <= t < end)

    def fit(self, nodes: int, duration: int, _beside: int | None = None) -> int | None:
        """Say where a job fits that begins at once."""
        now = self.steps[0][0]
        return nodes if self.is_free(nodes, now, now + duration) else None
