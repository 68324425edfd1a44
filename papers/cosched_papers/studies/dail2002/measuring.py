"""What one experiment measures: the three strategies, back to back (IV.B)."""

from __future__ import annotations

import json
import time
from collections import Counter
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from cosched.planning.application import Map
from cosched.planning.grid import MB
from cosched.planning.problem import Problem, problem_of
from cosched.planning.sites import by_name, site_name
from cosched.planning.strategies import Choice, chosen_by_search, chosen_by_user
from cosched.planning.strips import StripKeys
from cosched_papers.studies.dail2002.testbed import SITES, UTK, Drawn, GradsTestbed, free_memory
from cosched_sim.studies.cases import StudyCase
from cosched_sim.sweeps.case import Row

USER, STATIC, DYNAMIC = STRATEGIES = ("user", "static", "dynamic")
PAGING = 50.0  # times slower is what does not fit into memory

# Measures
TIME, DEGRADATION = ("iteration time", "degradation")  # s, and % of the best of the three
MACHINES, ACROSS = ("machines", "across UTK's links")  # the latter: 100 if the map has machines at UTK and elsewhere
SEARCH = "search"  # CPU s


def at_site(site: str) -> str:
    """Return the measure: machines of a site."""
    return f"machines of {site}"


class Runs(NamedTuple):
    """The choices of the strategies, the iteration times that they bring, in s, and the CPU s of the search."""

    choices: dict[str, Choice]
    times: dict[str, float]
    search: float


def measures(case: StudyCase) -> Row:
    """Run the experiment of a case, and measure its strategy."""
    said = {key: value for key, value in case.settings.items() if key != "strategy"}
    done, strategy = experiment(json.dumps(said, sort_keys=True)), case.settings["strategy"]
    machines = done.choices[strategy].schedule.map.machines
    sites = Counter(site_name(machine) for machine in machines)
    best = min(done.times.values())
    return {
        TIME: done.times[strategy],
        DEGRADATION: 100 * (done.times[strategy] - best) / best,
        MACHINES: len(machines),
        **{at_site(site): sites[site] for site in SITES},
        ACROSS: 100 * (0 < sites[UTK] < len(machines)),
        SEARCH: done.search,
    }


@lru_cache(maxsize=1)  # the strategies of an experiment follow each other
def experiment(said: str) -> Runs:
    """Run the three strategies at one moment."""
    settings: dict[str, Any] = json.loads(said)
    problem = problem_of(f"{settings['application']},cycles={settings['cycles']:g}", settings["size"])
    testbed = GradsTestbed(settings["sites"], settings["utk"], settings["spread"], settings["redrawn"])
    draw = Random(f"{settings['seed']} {settings['application']} {settings['sites']} {settings['size']}")
    moment = testbed.moment(draw)
    static = testbed.static()
    began = time.process_time()
    dynamic = chosen_by_search(problem, testbed.at(moment))
    search = time.process_time() - began
    choices = {USER: chosen_by_user(problem, static), STATIC: chosen_by_search(problem, static), DYNAMIC: dynamic}
    times = {
        strategy: iteration_time(problem, choice.schedule.map, testbed, testbed.later(moment, draw))
        for strategy, choice in choices.items()
    }
    return Runs(choices, times, search)


def iteration_time(problem: Problem, chosen: Map, testbed: GradsTestbed, moment: Drawn) -> float:
    """Return for how many seconds an iteration takes by this map, whatever was foreseen. Too little memory pages."""
    grid = testbed.at(moment, unlimited=True)
    model, _ = problem.application.make(problem.size, problem.settings, grid, by_name(grid))
    by_names = {machine.name: machine for machine in grid.machines}
    here = Map(tuple(by_names[machine.name] for machine in chosen.machines), chosen.shares)
    nodes = {node.name: node for node in testbed.nodes}
    assert isinstance(problem.settings, StripKeys)
    row = problem.size * problem.settings.memory / MB
    times = []
    for machine, rows, cost in zip(here.machines, here.shares, model.predict(here).costs, strict=True):
        lacking = max(0.0, 1 - free_memory(nodes[machine.name], moment) / (rows * row))
        times.append(cost.computing * (1 + PAGING * lacking) + cost.exchanging)
    return max(times)
