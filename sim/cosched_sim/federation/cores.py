"""Core players for domains of a simulation: its jobs as those of a trace, with their mates and groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from cosched.core.protocol import Domain, Named
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.federation.core_player import CorePlayer
from cosched_sim.link import Link
from cosched_sim.questions import Questions, skippable
from cosched_sim.replay_manager.trace import trace_jobs
from cosched_sim.telling import Story
from cosched_sim.what_if import WhatIf
from cosched_sim.workload.pairing import Pairing

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
    may_skip = story is None and script.is_empty
    questions = Questions(skippable(setups, pairing) if may_skip else {}, link.chance)
    named = pairing.named_by_domain([each.name for each in setups])
    off = {each.name for each in setups if not each.coscheduling.enabled}

    def playing(setup: DomainSetup, named: Mapping[int, Named]) -> Player:
        work, kind = setup.workload, setup.kind
        jobs = trace_jobs(work, named, columns=kind.each(setup.jobs, len(work)))
        scheduler, own = kind.open(setup.cluster), script.of([setup.name])
        return player(setup.name, setup.coscheduling, scheduler, jobs, link, story, own, off, questions)

    return [playing(setup, own) for setup, own in zip(setups, named, strict=True) if setup.name in played]
