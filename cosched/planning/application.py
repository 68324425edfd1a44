"""What the search asks of an application: a mapper and a performance model (Dail et al. 2002, III.A)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pydantic import BaseModel

from cosched.planning.grid import Grid, Machine
from cosched.planning.sites import Site

Group = Sequence[Machine]  # machines, the best first


class NoMapError(Exception):
    """These machines cannot have the application's data; `str()` says why."""


class Box(NamedTuple):
    """A rectangle of a two-dimensional data set, in elements."""

    top: int
    left: int
    height: int
    width: int


@dataclass(frozen=True, slots=True)
class Map:
    """Machines in the order of the map, and the whole units of data or tasks that each one has."""

    machines: tuple[Machine, ...]
    shares: tuple[int, ...]
    boxes: tuple[Box, ...] = ()  # where the shares lie, if they do not just follow each other

    def told(self, places: Sequence[int]) -> dict[str, str]:
        """Return what a job on the machines at these places is told: them, their shares, and what lies before them."""
        return {
            "MAP_MACHINES": ":".join(self.machines[place].name for place in places),
            "MAP_SHARES": ":".join(str(self.shares[place]) for place in places),
            "MAP_BEFORE": str(sum(self.shares[: places[0]]) if places else 0),
            "MAP_SIZE": str(sum(self.shares)),
        }


class Cost(NamedTuple):
    """What one machine of a map spends, in seconds."""

    computing: float
    exchanging: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted time in seconds, and where it goes on each machine of the map."""

    time: float
    costs: tuple[Cost, ...]


class PerformanceModel(Protocol):
    """Predicts how long an application takes: an iteration, or all of it."""

    def predict(self, map: Map) -> Prediction:
        """Return the prediction for a map. The time is infinite if the map uses a link that is not known."""


class Mapper(Protocol):
    """Maps an application's data or tasks to machines, as whole units."""

    def map(self, group: Group) -> Map:
        """Return the map that is expected to take the least time, perhaps without some of the machines; NoMapError."""

    def even(self, group: Group) -> Map:
        """Return a map in equal shares, in the order of the group, as a user makes who has no model; NoMapError."""

    def promising(self, order: Group, sizes: Sequence[int], limit: float) -> list[int]:
        """Return those of the sizes n for which a map of the order's first n machines may take at most `limit` seconds.

        The search leaves out the others, so each of them must be predicted to take longer, or have no map. A mapper
        that cannot tell returns all sizes.
        """


Made = tuple[PerformanceModel, Mapper]


@dataclass(frozen=True, slots=True)
class Application:
    """A kind of application, as an entry point of the group `cosched.applications` names it."""

    name: str
    purpose: str
    unit: str  # of shares, in plural: rows
    size: str  # what the problem's size counts
    time: str  # what is predicted: the time of an iteration
    keys: type[BaseModel]  # its settings, all with defaults
    make: Callable[[int, BaseModel, Grid, Sequence[Site]], Made]  # for a size and settings
    requires: tuple[str, ...] = ("speed", "cpu", "memory")  # what must be known of a machine
