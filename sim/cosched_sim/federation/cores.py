"""Core players for domains of a simulation: its jobs as those of a trace, with their mates and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from cosched_adapters.replay.trace import trace_jobs

from cosched.workload.pairing import Pairing
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.federation.core_player import CorePlayer
from cosched_sim.link import Link
from cosched_sim.script import Script
from cosched_sim.telling import Story

Player = TypeVar("Player", bound=CorePlayer)


def core_player(
    setups: Sequence[DomainSetup],
    pairing: Pairing,
    index: int,
    link: Link,
    story: Story | None = None,
    player: type[Player] = CorePlayer,  # type: ignore[assignment]
    script: Script | None = None,
) -> Player:
    """Return the player of domain `index`."""
    setup = setups[index]
    named = pairing.named(index, [each.name for each in setups])
    off = {each.name for each in setups if not each.coscheduling.enabled}
    jobs = trace_jobs(setup.workload, named, off, columns=setup.kind.each(setup.jobs, len(setup.workload)))
    return player(setup.name, setup.coscheduling, setup.kind.open(setup.cluster), jobs, link, story, script)
