"""What each of many domains asks of a replay costs no more if there are more of them: counted, not timed."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings
from cosched_sim.configuration import Domain
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.federation.conductor import Conductor
from cosched_sim.federation.cores import core_players
from cosched_sim.link import Link
from cosched_sim.playing import Run
from cosched_sim.results.outcomes import add_pairs
from cosched_sim.results.result import Jobs
from cosched_sim.script import Action, ScriptedEvent
from cosched_sim.what_if import WhatIf
from cosched_sim.workload.jobs import UNKNOWN, Workload
from cosched_sim.workload.pairing import Pairing

FEW, MOST = 40, 2.5


class Name(str):
    """Counts how often names are compared or looked up."""

    __slots__ = ()
    looks = 0

    def __eq__(self, other: object) -> bool:
        Name.looks += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Name.looks += 1
        return str.__hash__(self)


class Elements(np.ndarray):
    """Counts the elements of all arrays that are made of it."""

    made = 0

    def __array_finalize__(self, _: Any) -> None:
        Elements.made += self.size


def names(domains: int) -> list[Name]:
    return [Name(f"d{number}") for number in range(domains)]


def of_pairs(domains: int) -> Pairing:
    """Two jobs of each two neighbours are pairs."""
    rows = np.arange(1, domains + 1)
    places = np.arange(domains).reshape(-1, 2).repeat(2, axis=0)
    jobs = np.array([[0, 0], [1, 1]] * (domains // 2))
    return Pairing(rows, places.view(Elements), jobs.view(Elements))


def setups(domains: int) -> list[DomainSetup]:
    two = np.array([1, 2])
    settings = CoschedulingSettings()
    return [
        DomainSetup(
            name,
            Workload(name, two, 7 * two + n, two, two, two),
            ClusterSettings(4, parse_ordering("fcfs"), 0),
            settings,
        )
        for n, name in enumerate(names(domains))
    ]


def events(domains: int) -> list[ScriptedEvent]:
    return [ScriptedEvent(n, Action.CANCEL, Name(name), row=1) for n, name in enumerate(names(domains))]


def mates_of_each(domains: int) -> int:
    pairing, before = of_pairs(domains), Elements.made
    for domain in range(domains):
        jobs = SimpleNamespace(**{name: np.full(2, UNKNOWN) for name in ("pair", "mate_domain", "mate")})
        add_pairs(cast(Jobs, jobs), pairing, domain)
        assert jobs.mate.tolist() == [0, 1]
    return Elements.made - before


def values_of_pairs(domains: int) -> int:
    pairing, before = of_pairs(domains), Elements.made
    mates = pairing.of_pairs([np.array([domain, 0]) for domain in range(domains)])[::2, 1]
    assert mates.tolist() == [*range(1, domains, 2)]
    return Elements.made - before


def scripts_of_each(domains: int) -> int:
    script, of = WhatIf(events(domains)), names(domains)
    before = Name.looks
    assert [script.of([name]).next() for name in of] == [*range(domains)]
    return Name.looks - before


def results_of_each(domains: int) -> int:
    given = setups(domains)
    played = Run(given, of_pairs(domains), WhatIf(events(domains)))
    before = Name.looks
    played.run()
    settings = [Domain(name=str(setup.name), trace=setup.workload, nodes=4) for setup in given]
    assert len(played.result(settings, {}).domains) == domains
    return Name.looks - before


def rounds_of_all(domains: int) -> int:
    given, link = setups(domains), Link()
    conductor = Conductor(core_players(given, of_pairs(domains), [setup.name for setup in given], link), link=link)
    before = Name.looks
    conductor.run()
    return Name.looks - before


@pytest.mark.parametrize("cost", [mates_of_each, values_of_pairs, scripts_of_each, results_of_each, rounds_of_all])
def test_twice_the_domains_cost_twice_as_much(cost: Callable[[int], int]):
    few, many = cost(FEW), cost(2 * FEW)
    assert 0 < few <= many < MOST * few
