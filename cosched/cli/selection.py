"""Machines that are chosen from a list, for `cosched select` and `cosched submit --select`."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import progress, say
from cosched.planning.catalogue import Catalogue, check_ends, read_catalogue, sources_of
from cosched.planning.facts import Listed, grid_of
from cosched.planning.grid import Grid
from cosched.planning.information.domains import DOMAINS_TIMEOUT, listed_by
from cosched.planning.information.gathering import gather
from cosched.planning.metrics import METRICS
from cosched.planning.problem import Problem
from cosched.planning.sites import FINDERS, LABELS, Site
from cosched.planning.strategies import Choice, NoScheduleError, chosen_by_search, chosen_by_user
from cosched.words.errors import InputError
from cosched.words.quantities import count, duration

MOST = 1_000_000  # candidates


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen for a problem, from which machines, and the kinds that the others lack."""

    problem: Problem
    listed: Sequence[Listed]
    grid: Grid
    choice: Choice
    excluded: Mapping[str, Sequence[str]]
    found_by: str  # how sites were found

    def labels(self, sites: Sequence[Site]) -> list[str]:
        """Return how sites are called."""
        return [LABELS[self.found_by](site[0]) for site in sites]

    @property
    def title(self) -> str:
        """What was chosen, in a line."""
        schedule, problem = self.choice.schedule, self.problem
        time = "no known time, since a link of it is not known,"
        if math.isfinite(schedule.prediction.time):
            time = seconds(schedule.prediction.time)
        machines = count(len(schedule.map.machines), "machine")
        by = "" if schedule.metric is None else f", ranked by {schedule.metric}"
        name, runs = problem.application.name, problem.application.time
        return f"{name}, size {problem.size:,}: {time} for {runs} on {machines}{by}"


@dataclass(frozen=True, slots=True)
class Known:
    """The machines of a file that can be used for a problem, and the kinds that the others lack."""

    file: str
    problem: Problem
    strategy: str
    listed: Sequence[Listed]
    grid: Grid
    excluded: Mapping[str, Sequence[str]]


def known(file: str, problem: Problem, strategy: str) -> Known:
    """Ask the sources of a file, and tell the user what these do not know. InputError."""
    catalogue, dynamic = read_catalogue(file), strategy == "dynamic"
    asked = sources_of(file, catalogue, present=dynamic)
    with progress("asking the sources of information ..."):
        listed = _listed(file, catalogue)
        gather(asked, listed)
    for source in asked:
        for line in source.problems:
            say(printable(line))
    facts = [*(source.facts for source in asked), *([catalogue.present()] if dynamic else []), catalogue.static()]
    grid, excluded = grid_of(listed, facts, problem.application.requires)
    if not grid.machines:
        why = what_is_excluded(excluded) or f"{', '.join(catalogue.domains)} told of none"
        raise InputError(file, None, f"no machine can be used: {why}")
    return Known(file, problem, strategy, listed, grid, excluded)


def chosen(
    known: Known,
    *,
    sites: str = "name",
    metrics: Sequence[str] = METRICS,
    most: int = MOST,
    each: bool = False,
    without: Collection[str] = (),
) -> Selection:
    """Choose from machines, `without` those of these names. InputError: there is no schedule."""
    problem, find = known.problem, FINDERS[sites]
    grid = known.grid.among(machine for machine in known.grid.machines if machine.name not in without)
    try:
        if known.strategy == "user":
            choice = chosen_by_user(problem, grid, find_sites=find)
        else:
            with progress("choosing machines ..."):
                choice = chosen_by_search(problem, grid, find_sites=find, metrics=metrics, most=most, each=each)
    except NoScheduleError as error:
        reason = f"no schedule for {problem.application.name}, size {problem.size:,}, {error}"
        raise InputError(known.file, None, reason) from None
    return Selection(problem, known.listed, grid, choice, known.excluded, sites)


def _listed(file: str, catalogue: Catalogue) -> list[Listed]:
    """Return the machines of a catalogue, then those that its domains list; InputError."""
    if not catalogue.domain:
        return catalogue.listed
    told = listed_by(catalogue.domains, DOMAINS_TIMEOUT, lambda line: say(printable(line)))
    listed = list({machine.name: machine for machine in reversed([*catalogue.listed, *told])}.values())[::-1]
    check_ends(file, catalogue, listed)
    return listed


def what_is_excluded(excluded: Mapping[str, Sequence[str]]) -> str:
    """Name the machines that cannot be used, with what is not known of them."""
    return ", ".join(f"{name} (no {' and '.join(kinds)})" for name, kinds in excluded.items())


def seconds(time: float) -> str:
    """Format a predicted time with three digits."""
    if not math.isfinite(time):
        return "unknown"
    if time >= 100:
        return duration(time)
    return f"{time:.2f} s" if time >= 1 else f"{1e3 * time:.3g} ms"
