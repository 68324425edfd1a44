"""Core players for domains of a simulation: its jobs as those of a trace, with their mates and groups."""

from __future__ import annotations

from collections.abc import Sequence

from cosched.adapters.replay.trace import TraceJob
from cosched.core.protocol import Domain, Named
from cosched.core.scheduling.scheduler import OpenScheduler
from cosched.sim.federation.core_player import CorePlayer
from cosched.sim.link import Link
from cosched.sim.telling import Story
from cosched.sim.world import DomainSetup
from cosched.workload.pairing import Pairing


def core_player(
    setups: Sequence[DomainSetup], pairing: Pairing, index: int, link: Link, story: Story | None = None
) -> CorePlayer:
    """Return the player of domain `index`."""
    setup = setups[index]
    jobs = trace_jobs(setups, pairing, index)
    return CorePlayer(setup.name, setup.coscheduling, scheduler_of(setup), jobs, link, story)


def scheduler_of(setup: DomainSetup) -> OpenScheduler:
    """Return the scheduler of a domain, without jobs."""
    return setup.kind.open(setup.cluster)


def trace_jobs(setups: Sequence[DomainSetup], pairing: Pairing, index: int) -> list[TraceJob]:
    """Return the jobs of domain `index`, with their mates and groups."""
    mates, groups = _mates(setups, pairing, index), _groups(setups, pairing, index)
    work = setups[index].workload
    off = {setup.name for setup in setups if not setup.coscheduling.enabled}
    columns = (work.job_id, work.submit, work.nodes, work.requested, work.run)
    jobs = []
    rows = zip(*(column.tolist() for column in columns), strict=True)
    each = setups[index].kind.each(setups[index].jobs, len(work))
    for row, (name, submit, nodes, requested, run) in enumerate(rows):
        peer, pair, alone = mates.get(row, ("", None, False))
        group = groups.get(row)
        alone = alone or (group is not None and off.issuperset(group.others))
        jobs.append(TraceJob(row + 1, str(name), submit, nodes, requested, run, peer, pair, group, alone, each[row]))
    return jobs


def _mates(setups: Sequence[DomainSetup], pairing: Pairing, index: int) -> dict[int, tuple[Domain, str, bool]]:
    """Map rows of paired jobs to the mate's domain, the pair's name, and whether that domain does not coschedule."""
    mates = {}
    for number, domains, rows in zip(pairing.row, pairing.domain.tolist(), pairing.job.tolist(), strict=True):
        if index in domains:
            side = domains.index(index)
            mate = setups[domains[1 - side]]
            mates[rows[side]] = mate.name, str(number), not mate.coscheduling.enabled
    return mates


def _groups(setups: Sequence[DomainSetup], pairing: Pairing, index: int) -> dict[int, Named]:
    names = [setup.name for setup in setups]
    rows = ((group, row) for group in pairing.groups for domain, row in group.members if domain == index)
    return {row: group.named_by(index, names) for group, row in rows}
