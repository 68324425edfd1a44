"""An application on a square grid whose elements lie in blocks: columns of blocks, as wide and as high as suits.

Blocks have shorter borders than strips: of order N / sqrt(k) elements for k machines, instead of N. The heights in a
column, and the widths of columns, are proportional to what the machines can do in the same time (Kalinov and
Lastovetsky, "Heterogeneous distribution of computations solving linear algebra problems on networks of heterogeneous
computers", 2001). Each machine exchanges its borders with the machines that it touches, in every iteration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from pydantic import BaseModel

from cosched.planning.application import Application, Box, Cost, Group, Made, Map, NoMapError, Prediction
from cosched.planning.balancing import Load, in_proportion, shared
from cosched.planning.chain import Chain, exchange_time
from cosched.planning.grid import MB, MHZ, Grid, Machine
from cosched.planning.sites import Site
from cosched.planning.strips import StripKeys

_ROUNDING = 1 + 1e-9


class BlockModel:
    """Predicts the time of an iteration: the slowest machine's time for its elements and its exchanges."""

    def __init__(self, size: int, settings: StripKeys, grid: Grid) -> None:
        self.size = size
        self._grid = grid
        self._settings = settings

    def load(self, machine: Machine) -> Load:
        """Return what elements cost a machine that exchanges nothing."""
        speed = MHZ * machine.speed * machine.cpu
        most = int(min(self.size**2, MB * machine.memory // self._settings.memory)) if speed > 0 else 0
        return Load(self._settings.cycles / speed if speed > 0 else math.inf, 0.0, most)

    def taking_part(self, group: Group) -> list[Machine]:
        """Return the machines that can have an element."""
        return [machine for machine in group if self.load(machine).most > 0]

    def predict(self, map: Map) -> Prediction:
        exchanging = [0.0] * len(map.machines)
        for one, other, border in borders(map.boxes):
            bits = 8 * border * self._settings.bytes
            seconds = exchange_time(self._grid, map.machines[one], map.machines[other], bits)
            exchanging[one] += seconds
            exchanging[other] += seconds
        computing = (self.load(machine).time(share) for machine, share in zip(map.machines, map.shares, strict=True))
        costs = tuple(Cost(*cost) for cost in zip(computing, exchanging, strict=True))
        return Prediction(max(sum(cost) for cost in costs), costs)


def borders(boxes: Sequence[Box]) -> Iterator[tuple[int, int, int]]:
    """Yield the places of each two blocks that touch, and how many elements of each lie along their border.

    The blocks are in columns: from left to right, and from top to bottom in each.
    """
    columns: dict[int, list[int]] = {}
    for place, box in enumerate(boxes):
        columns.setdefault(box.left, []).append(place)
    for column in columns.values():
        for one, other in pairwise(column):
            yield one, other, boxes[one].width
    for left, right in pairwise(columns.values()):
        one, other = 0, 0
        while one < len(left) and other < len(right):
            a, b = boxes[left[one]], boxes[right[other]]
            if (common := min(a.top + a.height, b.top + b.height) - max(a.top, b.top)) > 0:
                yield left[one], right[other], common
            one, other = (one + 1, other) if a.top + a.height <= b.top + b.height else (one, other + 1)


class BlockMapper:
    """Balances the time of machines in columns; it takes the number of columns that is predicted to be best."""

    def __init__(self, model: BlockModel, chain: Chain) -> None:
        self._model = model
        self._chain = chain

    def map(self, group: Group) -> Map:
        """See Mapper: machines that cannot hold an element, or have no processor, take no part."""
        machines = self._chain.ordered(self._model.taking_part(group))
        loads = [self._model.load(machine) for machine in machines]
        elements = self._model.size**2
        if not machines:
            raise NoMapError("none has a processor that is free, and the memory for an element")
        if (most := sum(load.most for load in loads)) < elements:
            raise NoMapError(f"too little memory: for {most:,} of {elements:,} elements")
        if len(machines) > elements:
            raise NoMapError(f"{len(machines):,} machines for {elements:,} elements")
        return self._best(machines, shared(loads, elements))

    def even(self, group: Group) -> Map:
        return self._best(group, [1] * len(group))

    def promising(self, order: Group, sizes: Sequence[int], limit: float) -> list[int]:
        """See Mapper: those that could do it if exchanges took no time."""
        wanted, elements = set(sizes), self._model.size**2
        most = accumulate(self._model.load(machine).within(limit * _ROUNDING) for machine in order)
        return [size for size, done in enumerate(most, 1) if done >= elements and size in wanted]

    def _best(self, machines: Sequence[Machine], weights: Sequence[int]) -> Map:
        """Return the best map in 1, 2, ... columns; about the square root of the number of machines is enough."""
        maps = []
        for columns in range(1, math.isqrt(len(machines)) + 2):
            shapes = _laid(self._model.size, weights, columns) if columns <= len(machines) else None
            if shapes is not None:
                map = Map(tuple(machines), tuple(box.height * box.width for box in shapes), tuple(shapes))
                if all(share <= self._model.load(m).most for m, share in zip(machines, map.shares, strict=True)):
                    maps.append(map)
        times = [self._model.predict(map).time for map in maps]
        if not times:
            raise NoMapError(f"too little memory for blocks of {self._model.size:,} x {self._model.size:,} elements")
        if (least := min(times)) == math.inf:
            raise NoMapError("a link between two of its blocks is not known")
        return maps[times.index(least)]


def _laid(size: int, weights: Sequence[int], columns: int) -> list[Box] | None:
    """Return blocks in columns, in the order of their weights; None if a column would have more blocks than rows."""
    long, more = divmod(len(weights), columns)
    ends = list(accumulate((long + (column < more) for column in range(columns)), initial=0))
    parts = [weights[start:end] for start, end in pairwise(ends)]
    if len(parts) > size or max(map(len, parts)) > size:
        return None
    widths = in_proportion(size, [sum(part) for part in parts])
    lefts = accumulate(widths, initial=0)
    boxes = []
    for part, width, left in zip(parts, widths, lefts, strict=False):
        heights = in_proportion(size, part)
        tops = accumulate(heights, initial=0)
        boxes += [Box(top, left, height, width) for top, height in zip(tops, heights, strict=False)]
    return boxes


def _make(size: int, settings: BaseModel, grid: Grid, sites: Sequence[Site]) -> Made:
    assert isinstance(settings, StripKeys)
    model = BlockModel(size, settings, grid)
    return model, BlockMapper(model, Chain(grid, sites, size * settings.bytes))


_PURPOSE = "Jacobi's method on a square grid, in blocks"
BLOCKS = Application("blocks", _PURPOSE, "elements", "rows and columns of the grid", "an iteration", StripKeys, _make)
