"""Applications on a square grid whose rows lie in strips: Jacobi's method and the Game of Life.

Each machine has a strip of whole rows, and exchanges a row with each neighbour in every iteration (Dail et al. 2002,
IV.A). The paper leaves its models to a thesis that we do not have. The constants here follow from its figures: an
element takes 9.6 bytes of memory ("3375 MB for N = 19200"), and 40 cycles (2 to 3 s at N = 16800 allow 31 to 46). That
Life sends half as many bytes as Jacobi is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from pydantic import BaseModel, Field

from cosched.planning.application import Application, Cost, Group, Made, Map, NoMapError, Prediction
from cosched.planning.balancing import Load, shared, units_within
from cosched.planning.chain import EQUAL, Chain, Ends, Run
from cosched.planning.grid import MB, MHZ, Grid, Machine
from cosched.planning.sites import Site
from cosched.validation.types import Settings


class StripKeys(Settings):
    """What an element costs."""

    cycles: float = Field(40, gt=0, allow_inf_nan=False)  # for one element in one iteration
    bytes: float = Field(8, gt=0, allow_inf_nan=False)  # of one element that is sent to a neighbour
    memory: float = Field(9.6, gt=0, allow_inf_nan=False)  # bytes of one element


class LifeKeys(StripKeys):
    """See StripKeys."""

    bytes: float = Field(4, gt=0, allow_inf_nan=False)


class StripModel:
    """Predicts the time of an iteration: the slowest machine's time for its rows and the exchanges with neighbours."""

    def __init__(self, size: int, settings: StripKeys, grid: Grid, chain: Chain) -> None:
        self.size = size
        self.chain = chain
        self._units: dict[Machine, tuple[float, int]] = {}  # seconds for a row, and rows at most
        for machine in grid.machines:
            rate = MHZ * machine.speed * machine.cpu / settings.cycles  # elements per second
            most = int(min(size, MB * machine.memory // (size * settings.memory)))
            if rate > 0 and most > 0:
                self._units[machine] = size / rate, most

    def taking_part(self, group: Group) -> list[Machine]:
        """Return the machines that can have a row: they can hold it, and have a processor."""
        return [machine for machine in group if machine in self._units]

    def load(self, machine: Machine, exchanging: float) -> Load:
        """Return what rows cost a machine that spends some seconds on exchanges."""
        unit, most = self._units.get(machine, (math.inf, 0))
        return Load(unit, exchanging, most)

    def exchanges(self, machines: Sequence[Machine]) -> list[float]:
        """Return the seconds that each machine of a chain exchanges rows with its neighbours."""
        between = [0.0, *(self.chain.exchange(one, other) for one, other in pairwise(machines)), 0.0]
        return [before + after for before, after in pairwise(between)]

    def predict(self, map: Map) -> Prediction:
        loads = [self.load(*each) for each in zip(map.machines, self.exchanges(map.machines), strict=True)]
        costs = tuple(Cost(load.unit * rows, load.fixed) for load, rows in zip(loads, map.shares, strict=True))
        return Prediction(max(load.time(rows) for load, rows in zip(loads, map.shares, strict=True)), costs)


_Around = tuple[float, float]  # seconds that the first and the last machine of a run exchange with other sites


class _Filled:
    """How many rows the first machines of a site, as ranked, can do within a limit: -inf if one cannot do any."""

    def __init__(self, run: Run, model: StripModel, limit: float) -> None:
        self.run = run
        self.ends = [model.chain.ends(run[0], machine) for machine in run]  # of 1, 2, ... machines
        self._loads = [model.load(machine, 0.0) for machine in run]
        self._limit = limit
        self._exchanges = [0.0, *(model.chain.exchange(one, other) for one, other in pairwise(run)), 0.0]
        self._rows: dict[tuple[int, float], float] = {}
        between = pairwise(self._exchanges)
        each = [self._within(place, before + after) for place, (before, after) in enumerate(between)]
        self._inner = [0.0, 0.0, *accumulate(each[1:-1], initial=0.0)]  # all but both ends of 0, 1, 2, ... machines
        alone = [0.0, *(self.rows(count, 0.0, 0.0) for count in range(1, len(run) + 1))]
        self.gains = {  # what each machine adds to those before it, if exchanges with other sites take no time
            machine: after - before if after > -math.inf else after
            for machine, (before, after) in zip(run, pairwise(alone), strict=True)
        }

    def rows(self, count: int, before: float, after: float) -> float:
        """Return it for `count` machines.

        `before` and `after` are the seconds that the first and the last one spend on exchanges with other sites.
        """
        if count == 1:
            return self._within(0, before + after)
        last = count - 1
        ends = self._within(0, before + self._exchanges[1]) + self._within(last, self._exchanges[last] + after)
        return self._inner[count] + ends

    def rows_by(self, count: int, around: Iterable[_Around]) -> dict[_Around, float]:
        """Return it by what may be spent on exchanges with other sites."""
        return {each: self.rows(count, *each) for each in around}

    def _within(self, place: int, exchanging: float) -> float:
        key = (place, exchanging)
        if key not in self._rows:
            unit, _, most = self._loads[place]
            self._rows[key] = units_within(unit, exchanging, most, self._limit) or -math.inf
        return self._rows[key]


class _First:
    """The first machines of an order as their number grows: in which orders of sites they do all rows in time."""

    def __init__(self, runs: Sequence[_Filled], chain: Chain) -> None:
        self._chain = chain
        self._run_of = {machine: filled for filled in runs for machine in filled.run}
        self._counts = dict.fromkeys(runs, 0)
        self._changed: set[_Filled] = set()
        self._ends: tuple[Ends, ...] = ()
        self._orders: list[list[tuple[_Filled, _Around]]] = []
        self._rows: dict[_Filled, dict[_Around, float]] = {}

    def grow(self, machines: Iterable[Machine]) -> None:
        """Add the next machines; those without a run take no part."""
        for machine in machines:
            if (filled := self._run_of.get(machine)) is not None:
                self._counts[filled] += 1
                self._changed.add(filled)

    @property
    def taking_part(self) -> int:
        """How many machines take part."""
        return sum(self._counts.values())

    def orders_for(self, rows: int) -> Iterator[list[Machine]]:
        """Yield the orders of sites in which they can do so many rows.

        They are looked at only if it would be enough with the best place for each run.
        """
        runs = [filled for filled, count in self._counts.items() if count]
        ends = tuple([filled.ends[self._counts[filled] - 1] for filled in runs])
        if ends != self._ends:
            self._ends = ends
            orders = self._chain.orders(ends)
            self._orders = [[(runs[run], (before, after)) for run, before, after in order] for order in orders]
            around = {filled: {own for order in self._orders for run, own in order if run is filled} for filled in runs}
            self._rows = {filled: filled.rows_by(self._counts[filled], around[filled]) for filled in runs}
        for filled in self._changed:
            self._rows[filled] = filled.rows_by(self._counts[filled], self._rows[filled])
        self._changed.clear()
        if sum([max(by.values()) for by in self._rows.values()]) >= rows:
            for order in self._orders:
                if sum([self._rows[filled][around] for filled, around in order]) >= rows:
                    yield [machine for filled, _ in order for machine in filled.run[: self._counts[filled]]]


class StripMapper:
    """Balances the time of the machines of a chain; of orders of sites that exchange alike, it takes the fastest."""

    def __init__(self, model: StripModel) -> None:
        self._model = model
        self._chain = model.chain
        self._rows = model.size
        self._limit = math.nan  # for which the sites are filled
        self._filled: dict[tuple[Machine, ...], _Filled] = {}

    def map(self, group: Group) -> Map:
        """See Mapper: machines that cannot hold a row, or have no processor, take no part."""
        machines = self._chain.ordered(self._model.taking_part(group))
        if not machines:
            raise NoMapError("none has a processor that is free, and the memory for a row")
        if (most := sum(self._model.load(machine, 0).most for machine in machines)) < self._rows:
            raise NoMapError(f"too little memory: for {most:,} of {self._rows:,} rows")
        if len(machines) > self._rows:
            raise NoMapError(f"{len(machines):,} machines for {self._rows:,} rows")
        for one, other in pairwise(machines):
            if self._chain.exchange(one, other) == math.inf:
                raise NoMapError(f"the link between {one.name} and {other.name} is not known")
        return self._fastest(machines)

    def _fastest(self, machines: Sequence[Machine]) -> Map:
        """Return the best map in any order of sites that exchange as little as in this one."""
        order: Sequence[Machine] | None = machines
        runs = self._chain.runs(machines)
        while order is not None:
            loads = [self._model.load(*each) for each in zip(order, self._model.exchanges(order), strict=True)]
            found = Map(tuple(order), tuple(shared(loads, self._rows)))
            limit = self._model.predict(found).time / EQUAL
            faster = _First([_Filled(run, self._model, limit) for run in runs], self._chain)
            faster.grow(machines)
            order = next(faster.orders_for(self._rows), None)
        return found

    def even(self, group: Group) -> Map:
        rows, more = divmod(self._rows, len(group))
        shares = [rows + (place < more) for place in range(len(group))]
        for machine, share in zip(group, shares, strict=True):
            if (most := self._model.load(machine, 0).most) < share:
                raise NoMapError(f"too little memory: {machine.name} can hold {most:,} rows, not {share:,}")
        if not rows:
            raise NoMapError(f"{len(group):,} machines for {self._rows:,} rows")
        return Map(tuple(group), tuple(shares))

    def promising(self, order: Group, sizes: Sequence[int], limit: float) -> list[int]:
        """See Mapper. Exact: a map takes at most `limit` if its machines can do all rows within this time.

        From size to size, only the site of the next machine changes what it can do. The exchanges between sites are
        looked at only if it would be enough without them.
        """
        if limit != self._limit:
            self._limit, self._filled = limit, {}
        runs = [self._fill(run) for run in self._chain.runs(self._model.taking_part(order))]
        gains = {machine: gain for filled in runs for machine, gain in filled.gains.items()}
        rows = accumulate(gains.get(machine, 0.0) for machine in order)
        wanted = set(sizes)
        enough = [size for size, most in enumerate(rows, 1) if most >= self._rows and size in wanted]
        first = _First(runs, self._chain)
        found: list[int] = []
        for before, size in pairwise([0, *enough]):
            first.grow(order[before:size])
            if first.taking_part <= self._rows and any(first.orders_for(self._rows)):
                found.append(size)
        return found

    def _fill(self, run: Run) -> _Filled:
        key = tuple(run)
        if key not in self._filled:
            self._filled[key] = _Filled(run, self._model, self._limit)
        return self._filled[key]


def _application(name: str, purpose: str, settings: type[StripKeys]) -> Application:
    def make(size: int, chosen: BaseModel, grid: Grid, sites: Sequence[Site]) -> Made:
        assert isinstance(chosen, StripKeys)
        model = StripModel(size, chosen, grid, Chain(grid, sites, size * chosen.bytes))
        return model, StripMapper(model)

    return Application(name, purpose, "rows", "rows and columns of the grid", "an iteration", settings, make)


JACOBI = _application("jacobi", "Jacobi's method on a square grid, in strips of rows", StripKeys)
LIFE = _application("life", "the Game of Life on a square grid, in strips of rows", LifeKeys)
