"""The ways to choose machines that Dail et al. (2002, IV.B) compare: as a user does without a model, and by search.

Their strategies `static` and `dynamic` are one search, with what holds at any time and with what holds now.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cosched.planning.application import NoMapError
from cosched.planning.grid import Grid
from cosched.planning.metrics import METRICS
from cosched.planning.problem import Problem
from cosched.planning.search import Considered, Schedule, Search, Told, why_no_map
from cosched.planning.sites import Site, by_name
from cosched.words.quantities import count


class NoScheduleError(Exception):
    """No machines can run the application; `str()` says why."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen; for the search, what was considered, and the best of each collection if that was asked for."""

    schedule: Schedule
    considered: Considered | None = None
    of_collections: Sequence[Told] = ()


def chosen_by_user(problem: Problem, grid: Grid, *, find_sites: Callable[[Grid], list[Site]] = by_name) -> Choice:
    """Return the fewest machines, in the order of the list, that hold the data in equal shares.

    Dail et al. 2002, IV.B: "The strategy therefore selects the minimum number of resources that will satisfy
    application memory requirements." NoScheduleError: all of them together do not.
    """
    sites = find_sites(grid)
    model, mapper = problem.application.make(problem.size, problem.settings, grid, sites)
    reason = ""
    for size in range(1, len(grid.machines) + 1):
        try:
            map = mapper.even(grid.machines[:size])
        except NoMapError as error:
            reason = str(error)
        else:
            used = tuple(site for site in sites if set(site) & set(map.machines))
            return Choice(Schedule(used, None, map, model.predict(map)))
    raise NoScheduleError(f"on {count(len(grid.machines), 'machine')} in equal shares: {reason}")


def chosen_by_search(
    problem: Problem,
    grid: Grid,
    *,
    metrics: Sequence[str] = METRICS,
    find_sites: Callable[[Grid], list[Site]] = by_name,
    most: float = math.inf,
    each: bool = False,
) -> Choice:
    """Return the best schedule, and with `each` that of each collection of sites.

    At most `most` candidates are considered. NoScheduleError: none of them has a schedule.
    """
    sites = find_sites(grid)
    model, mapper = problem.application.make(problem.size, problem.settings, grid, sites)
    search = Search(grid.machines, sites, metrics, most)
    best = search.best(model, mapper)
    if best is None:
        raise NoScheduleError(f"on {count(len(grid.machines), 'machine')}: {why_no_map(mapper, grid.machines)}")
    return Choice(best, search.considered, search.best_of_each(model, mapper) if each else ())
