"""Which of the free nodes the job of an application gets, by the model of its performance (docs/select.md).

A job says at its submission what it runs, and on how many nodes. Which ones, in which order, and with which shares is
chosen when the job is selected or tried, by what the sources of information have told last. It must not take long: of
the free machines, so many that are best by each metric are mapped, and the fastest map is taken.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from cosched.core.protocol import JobId
from cosched.core.scheduling.places import Places, first_ones
from cosched.core.scheduling.scheduler import OpenScheduler
from cosched.planning.application import Group, Map, NoMapError
from cosched.planning.facts import Facts, grid_of
from cosched.planning.grid import Grid
from cosched.planning.metrics import rankings
from cosched.planning.problem import Problem, problem_of
from cosched.planning.search import EQUAL
from cosched.planning.sites import by_domain
from cosched.service.domain.malleable import APPLICATION, PROBLEM_SIZE, said_of
from cosched.service.planning.machines import Machines
from cosched.service.store import JobRecord
from cosched.validation.text import shown
from cosched.words.quantities import count
from cosched_adapters.manager import ManagerError

LARGEST = 10**9  # problem
RecordOf = Callable[[JobId], JobRecord | None]
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choosing:
    """Chooses of a domain's `machines`, which list all its nodes by their names there. `record`: that of a job."""

    machines: Machines
    nodes: Places
    record: RecordOf

    @property
    def places(self) -> Places:
        """The nodes, as chosen here."""
        return replace(self.nodes, choose=self.choose)

    # See Chooser

    def choose(self, job: JobId, free: Sequence[str], nodes: int) -> Sequence[str]:
        """Return so many free nodes for a job, in the order of its map; any, if it names no application."""
        record = self.record(job)
        problem = None if record is None else problem_in(said_of(record))
        if problem is None:
            return first_ones(job, free, nodes)
        try:
            found = next(filter(None, (self._best(problem, free, nodes, facts) for facts in self._facts())), None)
        except Exception:  # an application may be of another package: it must not stop the domain
            _LOG.exception("no nodes can be chosen for job %s", job)
            found = None
        used = [] if found is None else self._nodes(found)
        return [*used, *(node for node in free if node not in used)][:nodes]

    def _facts(self) -> list[Sequence[Facts]]:
        """Return what holds now, and what holds at any time: there may be a map by these alone."""
        return [self.machines.known(lasting=lasting) for lasting in (False, True)]

    def _best(self, problem: Problem, free: Sequence[str], nodes: int, facts: Sequence[Facts]) -> Map | None:
        """Return the fastest map to the first `nodes` free machines by a metric; None: there is none."""
        grid = self._grid(problem, free, facts)
        model, mapper = problem.application.make(problem.size, problem.settings, grid, by_domain(grid))
        maps: dict[Group, tuple[float, Map]] = {}
        for value in rankings(grid.machines).values():
            group = tuple(sorted(grid.machines, key=value.__getitem__, reverse=True)[:nodes])
            if group not in maps:
                try:
                    found = mapper.map(group)
                except NoMapError:
                    continue
                maps[group] = model.predict(found).time, found
        least = min((time for time, _ in maps.values()), default=0.0)
        return next((found for time, found in maps.values() if time <= least * EQUAL), None)

    def _grid(self, problem: Problem, nodes: Sequence[str], facts: Sequence[Facts]) -> Grid:
        """Return the machines of these nodes about which enough is known, in this order."""
        listed = {each.node: each for each in self.machines.catalogue.listed}
        return grid_of([listed[node] for node in nodes if node in listed], facts, problem.application.requires)[0]

    def _nodes(self, map: Map) -> list[str]:
        nodes = {each.name: each.node for each in self.machines.catalogue.listed}
        return [node for machine in map.machines if (node := nodes[machine.name]) is not None]

    # What jobs say, and what they are told

    def check(self, said: Mapping[str, str], nodes: int) -> None:
        """ValueError, InputError if a job of so many nodes names no application, or might get too small nodes for it.

        Any of the nodes may be free at its turn.
        """
        problem = problem_in(said)
        if problem is None:
            if PROBLEM_SIZE in said:
                raise ValueError(f"{PROBLEM_SIZE}: it names no {APPLICATION}")
            return
        grid = self._grid(problem, self.nodes.names, self.machines.known(lasting=True))
        unknown = len(self.nodes.names) - len(grid.machines)
        smallest = sorted(grid.machines, key=lambda machine: machine.memory)[: max(0, nodes - unknown)]
        try:
            if not smallest:
                raise NoMapError("not enough is known of some machines")
            _, mapper = problem.application.make(problem.size, problem.settings, grid, by_domain(grid))
            mapper.map(tuple(smallest))
        except NoMapError as error:
            what = f"{problem.application.name}, size {problem.size:,}"
            why = f"{what}, has no map to the smallest {count(nodes, 'node')} here, which it may get: {error}"
            raise ValueError(f"{why}; give it more nodes") from None

    def variables(self, record: JobRecord) -> Mapping[str, str]:
        """Return what a job is told that starts: its machines in order, and their shares. ManagerError: no map."""
        problem, allocation = problem_in(said_of(record)), record.allocation
        if problem is None or allocation is None or allocation.where is None:
            return {}
        for facts in self._facts():
            grid = self._grid(problem, allocation.where, facts)
            _, mapper = problem.application.make(problem.size, problem.settings, grid, by_domain(grid))
            try:
                found = mapper.map(grid.machines)
                return found.told(range(len(found.machines)))
            except NoMapError as error:
                why = str(error)
            except Exception as error:
                raise ManagerError(f"{problem.application.name} has failed: {error!r}") from error
        raise ManagerError(f"{problem.application.name} has no map to its nodes: {why}")


def choosing_of(
    machines: Machines | None, nodes: Places | None, scheduler: OpenScheduler, record: RecordOf
) -> Choosing | None:
    """Return who chooses of these nodes, all of them listed, for a scheduler that only counts them; None: nobody."""
    if machines is None or nodes is None or not scheduler.capabilities.counts:
        return None
    listed = {each.node for each in machines.catalogue.listed}
    return Choosing(machines, nodes, record) if listed.issuperset(nodes.names) else None


def problem_in(said: Mapping[str, str]) -> Problem | None:
    """Return the application that a job names; None: it names none. InputError, ValueError: that is none."""
    return _problem(said[APPLICATION], said.get(PROBLEM_SIZE, "")) if APPLICATION in said else None


@lru_cache(maxsize=512)
def _problem(application: str, size: str) -> Problem:
    if not size.isdecimal() or not 0 < int(size) <= LARGEST:
        raise ValueError(f"{PROBLEM_SIZE}: a whole number from 1 to {LARGEST} expected, not {shown(size)}")
    return problem_of(application, int(size))
