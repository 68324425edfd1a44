"""Partitioned machines: aligned blocks of units. A place is a block: (first unit, number of units).

"sizes are rounded up to the machine's partition sizes and placed in aligned blocks, so the machine fragments"
"""

import math

Block = tuple[int, int]


def sizes(units: int) -> list[int]:
    """List the powers of two below the whole machine, and the whole machine."""
    powers = [2**n for n in range(units.bit_length()) if 2**n < units]
    return [*powers, units]


def rounded_up(nodes: int, units: int, unit_nodes: int) -> int:
    return min(size * unit_nodes for size in sizes(units) if size * unit_nodes >= nodes)


def disjoint(one: Block, other: Block) -> bool:
    return one[0] + one[1] <= other[0] or other[0] + other[1] <= one[0]


def all_blocks(size: int, units: int) -> list[Block]:
    """List the blocks of one size, lowest first: aligned to their size and inside the machine."""
    return [(first, size) for first in range(0, units - size + 1, size)]


class Pool:
    """The units, and who has which of them until when (as far as one can expect)."""

    def __init__(self, units: int, unit_nodes: int, taken: list[tuple[Block, float]]) -> None:
        self.units = units
        self.unit_nodes = unit_nodes
        self.taken = list(taken)
        for n, (block, _) in enumerate(taken):
            assert all(disjoint(block, other) for other, _ in taken[:n])

    def free_blocks(self, nodes: int) -> list[Block]:
        size = nodes // self.unit_nodes
        return [b for b in all_blocks(size, self.units) if all(disjoint(b, other) for other, _ in self.taken)]

    def fit(self, nodes: int) -> Block | None:
        return min(self.free_blocks(nodes), default=None)

    def full(self) -> bool:
        return sum(size for (_, size), _ in self.taken) == self.units

    def occupy(self, block: Block, until: float) -> None:
        assert all(disjoint(block, other) for other, _ in self.taken)
        self.taken.append((block, until))

    def reserve(self, nodes: int) -> "Reservation":
        """Reserve the earliest free block, the lowest of these; a hold without end never leaves."""
        size = nodes // self.unit_nodes
        shadow, reserved = min((self._free_at(b), b) for b in all_blocks(size, self.units))
        return Reservation(shadow, reserved if shadow < math.inf else None)

    def _free_at(self, block: Block) -> float:
        """When the last of its occupants is expected to end. The reserved job did not fit: there are some."""
        return max(until for other, until in self.taken if not disjoint(block, other))

    def plan(self, now: int) -> "Plan":
        return Plan(self, now)


class Reservation:
    def __init__(self, shadow: float, reserved: Block | None) -> None:
        self.shadow = shadow
        self.reserved = reserved

    def _spares(self, block: Block) -> bool:
        return self.reserved is not None and disjoint(block, self.reserved)

    def offer(self, pool: Pool, nodes: int, end: int) -> Block | None:
        """Prefer a block beside the reserved one; what ends by the shadow time may have any."""
        free = pool.free_blocks(nodes)
        beside = [b for b in free if self._spares(b)]
        if beside:
            return min(beside)
        return min(free, default=None) if end <= self.shadow else None

    def may_hold(self, block: Block, claim: float) -> bool:
        return claim <= self.shadow or self._spares(block)

    def charge(self, block: Block, claim: float) -> None:
        """Do nothing: what is beside the reserved block is seen in the pool."""


class Plan:
    """The profile: who has which block from when until when."""

    def __init__(self, pool: Pool, now: int) -> None:
        self.pool = pool
        self.now = now
        self.uses: list[tuple[Block, float, float]] = [(block, now, until) for block, until in pool.taken]

    def occupy(self, block: Block, start: float, end: float) -> None:
        assert self.is_free(block, start, end)
        self.uses.append((block, start, end))

    def vacate(self, block: Block, start: float, end: float) -> None:
        self.uses.remove((block, start, end))

    def earliest(self, nodes: int, duration: int, not_before: float = 0) -> tuple[float, Block] | None:
        size = nodes // self.pool.unit_nodes
        first = max(not_before, self.now)
        time, block = min((self._gap(b, duration, first), b) for b in all_blocks(size, self.pool.units))
        return (time, block) if time < math.inf else None

    def _gap(self, block: Block, duration: int, time: float) -> float:
        """Find the earliest time from which the block is free for the duration: the first gap long enough."""
        for start, end in sorted((start, end) for other, start, end in self.uses if not disjoint(block, other)):
            if start >= time + duration:
                break
            time = max(time, end)
        return time

    def is_free(self, block: Block, start: float, end: float) -> bool:
        return all(disjoint(block, other) or e <= start or end <= s for other, s, e in self.uses)

    def fit(self, nodes: int, duration: int, beside: Block | None = None) -> Block | None:
        """Say where a job fits that begins at once: preferably beside the block that is reserved."""
        size = nodes // self.pool.unit_nodes
        free = [b for b in all_blocks(size, self.pool.units) if self.is_free(b, self.now, self.now + duration)]
        spared = [b for b in free if beside is not None and disjoint(b, beside)]
        return min(spared or free, default=None)
