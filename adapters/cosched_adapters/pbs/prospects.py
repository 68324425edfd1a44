"""When PBS would start a job that comes now: by its nodes, the jobs that run, and those that wait. Nothing is run here.

A node is taken as a whole, also by a job that shares it. The order of the queue is that of submission: PBS tells no
other, and a site may have its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cosched_adapters.batch_system import Foreseen, NodeState
from cosched_adapters.pbs.commands import JobRow, NodeRow, chunks, held_for
from cosched_adapters.profile import FOREVER, LATE, Profile, Waiting

_TAKEN = ("job-busy", "job-exclusive", "resv-exclusive", "busy")  # states of nodes that jobs have
_WITH_NODES = ("R", "E", "S", "U")


def state_of(node: NodeRow) -> NodeState:
    """Return what a job that comes now would find there."""
    if "offline" in node.states and held_for(node.holder):
        return NodeState.HELD
    if node.states == ("free",) and not node.assigned:
        return NodeState.IDLE
    return NodeState.BUSY if all(state in ("free", *_TAKEN) for state in node.states) else NodeState.DOWN


def foresee(
    count: int, seconds: int, names: Collection[str], nodes: Sequence[NodeRow], queue: Sequence[JobRow], now: int
) -> Foreseen:
    """Return when a job would start that came at `now`, behind all that wait, on nodes of these names, or of any."""
    usable = {node.name for node in nodes if state_of(node) is not NodeState.DOWN}
    jobs = {job.job_id: job for job in queue}
    profile = Profile(now, usable)
    for job in queue:
        if job.state in _WITH_NODES:
            profile.take(chunks(job.vnodes), now, _end(job, now))
    kept = {node.name: held[0] for node in nodes if (held := held_for(node.holder)) and node.name in usable}
    for node, owner in kept.items():
        profile.take([node], now, now + _length(jobs[owner]) if owner in jobs else FOREVER)
    waiting = (job for job in queue if job.state == "Q" and job.job_id not in kept.values())
    in_order = sorted(waiting, key=lambda job: (job.submitted_at, int(job.job_id)))
    profile.take_turns(Waiting(job.nodes, _length(job), usable) for job in in_order)
    found = profile.earliest(count, seconds, now, names or usable)
    return Foreseen(None if found is None else found.at, now)


def _length(job: JobRow) -> int:
    return job.walltime or FOREVER


def _end(job: JobRow, now: int) -> int:
    if not job.walltime or job.started_at is None:
        return FOREVER
    end = job.started_at + job.walltime
    return end if end > now else now + LATE
