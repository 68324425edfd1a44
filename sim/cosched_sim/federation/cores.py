"""Core players for domains of a simulation: its jobs as those of a trace, with their mates and groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from cosched.core.protocol import Domain, Named
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.federation.core_player import CorePlayer
from cosched_sim.link import Link
from cosched_sim.questions import skippable
from cosched_sim.replay_manager.trace import trace_jobs
from cosched_sim.telling import Story
from cosched_sim.what_if import WhatIf
from cosched_sim.workload.pairing import Pairing

Others = Sequence[tuple[Domain, int]]  # jobs by their domains, and their rows there
Player = TypeVar("Player", bound=CorePlayer)


def core_players(
    setups: Sequence[DomainSetup],
    pairing: Pairing,
    played: Collection[Domain],
    link: Link,
    story: Story | None = None,
    player: type[Player] = CorePlayer,  # type: ignore[assignment]
    script: WhatIf | None = None,
) -> list[Player]:
    """Return the players of the domains that are `played` so, in the order of all; mates are named in one pass."""
    script = script or WhatIf()
    skips: list[dict[int, Others]] = [{} for _ in setups]
    for (domain, job), others in skippable(setups, pairing) if story is None and script.is_empty else ():
        skips[domain][job] = [(setups[of].name, other) for of, other in others]
    named = pairing.named_by_domain([each.name for each in setups])
    off = {each.name for each in setups if not each.coscheduling.enabled}

    def playing(setup: DomainSetup, named: Mapping[int, Named], skips: Mapping[int, Others]) -> Player:
        work, kind = setup.workload, setup.kind
        jobs = trace_jobs(work, named, columns=kind.each(setup.jobs, len(work)))
        scheduler, own = kind.open(setup.cluster), script.of([setup.name])
        return player(setup.name, setup.coscheduling, scheduler, jobs, link, story, own, off, skips)

    return [playing(*each) for each in zip(setups, named, skips, strict=True) if each[0].name in played]
