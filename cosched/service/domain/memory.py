"""What a job's record keeps of the core's own state, as plain values for JSON, and back after a restart.

Fields that have their default are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import MISSING, asdict, fields
from fractions import Fraction
from typing import Any

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.ledger import PairedJob, Parted, Untold
from cosched.core.coscheduling.membership import Membership, Promise, Proposal
from cosched.core.coscheduling.peers import Peers, Presence
from cosched.core.job import JobState
from cosched.core.protocol import (
    Domain,
    JobId,
    MateStarted,
    MateTried,
    MutatingReply,
    MutatingRequest,
    Named,
    ProposeGroupStart,
    SettleGroupStart,
    StartJob,
    TryStartMate,
)
from cosched.core.scheduling.scheduler import WITH_NODES
from cosched.service.store import UNTOLD, JobRecord

PEERS = "peers"  # the key of what is kept of peers
SLOT_USE = "slot_use"  # and of what slots have kept
REQUESTS: dict[str, type] = {kind.__name__: kind for kind in (TryStartMate, StartJob)}
ANSWERS: dict[str, type[MutatingReply]] = {kind.__name__: kind for kind in (MateTried, MateStarted)}
OF_RECORD = {"id", "owner", "state", "group", "ready_at", "started_at"}  # columns of their own
SCHEDULER = "scheduler"  # the key of what the scheduler keeps, of a job and of the domain
OF_EARLIER_VERSIONS = {"block", "expected", "boost", "passed_over", "wanted_until", "released", "share", "been_ready"}
OF_EARLIER_VERSIONS |= {"guard", "slot", "slot_block", "slot_moves", "pushed"}  # the slot was the same for both
OF_GROUP = ("or_alone", "ids", "slot", "started_by", "held_by", "void", "kept_until")  # plain values of a Membership
_PAIRED = {f.name: f.default for f in fields(PairedJob) if f.default is not MISSING and f.name not in OF_RECORD}
_ALLOCATION = {f.name: f.default for f in fields(Allocation)}


def remember(job: PairedJob, place: Mapping[str, Any]) -> dict[str, Any]:
    """What is to be kept of a job; `place` is what the scheduler keeps of it."""
    kept = {name: value for name, default in _PAIRED.items() if (value := getattr(job, name)) != default}
    if job.allocation is not None:
        kept["allocation"] = remembered_allocation(job.allocation)
    if job.call is not None:
        kept["call"] = [type(job.call).__name__, *job.call]
    if job.group is not None and (group := _remembered_group(job.group)):
        kept["group"] = group
    if job.untold:
        kept[UNTOLD] = {peer: [told.since, *told.request] for peer, told in job.untold.items()}
    if place:
        kept[SCHEDULER] = place
    return kept


def recall(job: PairedJob, memory: Mapping[str, Any]) -> PairedJob:
    """The job with what was kept of it; its group, if it has one, is known by name."""
    for name in _PAIRED.keys() & memory.keys():
        setattr(job, name, memory[name])
    if job.allocation is not None:
        job.allocation = _recalled_allocation(memory)
    if job.call is not None:
        job.call = _request(memory["call"])
    if job.group is not None:
        _recall_group(job.group, memory.get("group", {}))
    for peer, (since, *told) in memory.get(UNTOLD, {}).items():
        job.untold[peer] = Untold(SettleGroupStart(*told), since)
    if job.parted is not None:
        job.parted = Parted(*memory["parted"])
    return job


def remembered_allocation(allocation: Allocation) -> dict[str, Any]:
    """What is to be kept of an allocation."""
    kept = {name: value for name, default in _ALLOCATION.items() if (value := getattr(allocation, name)) != default}
    if "rate" in kept:
        kept["rate"] = str(allocation.rate)
    if allocation.where is not None:
        kept["where"] = [*allocation.where]
    return kept


def allocation_of(record: JobRecord) -> Allocation | None:
    """What the job has, or had when it ended; None: it waits, or has had nothing."""
    if record.state in WITH_NODES or (record.state.final and record.started_at is not None):
        return _recalled_allocation(record.memory or {})
    return None


def nodes_of(record: JobRecord) -> int:
    """How many nodes the job has, or had when it ended; how many it needs, if it has had none."""
    allocation = allocation_of(record)
    return record.nodes if allocation is None else allocation.nodes


def _recalled_allocation(memory: Mapping[str, Any]) -> Allocation | None:
    if (kept := memory.get("allocation")) is None:
        return None
    rate, where = Fraction(kept.get("rate", 1)), kept.get("where")
    return Allocation(**kept | {"rate": rate, "where": None if where is None else tuple(where)})


def _remembered_group(group: Membership) -> dict[str, Any]:
    """What is to be kept of a group: not the questions of a RunJob, which begins anew after a restart."""
    kept = {name: copy(value) for name in (*OF_GROUP, "windows") if (value := getattr(group, name))}
    proposal, promise = group.proposal, group.promise
    if group.without:
        kept["without"] = [*group.without]
    kept |= {name: value for name in ("at", "instant") if (value := getattr(group, name)) is not None}
    if proposal is not None:
        kept["proposal"] = [proposal.since, {peer: [*asked] for peer, asked in proposal.requests.items()}]
    if promise is not None:
        kept["booking"] = asdict(promise)
    return kept


def named_in(group: Membership | None) -> tuple[str | None, dict[Domain, JobId | None], bool]:
    """The fields `group_name`, `mates` and `is_pair` of the record of a job that starts with these."""
    if group is None:
        return None, {}, False
    return group.name or None, {peer: group.jobs.get(peer) for peer in group.others}, group.is_pair


def fields_of(domain: Domain, named: Named | None, *, adoptable: bool = False) -> dict[str, Any]:
    """The fields of the record of a new job on `domain`, by the mate or the group that it names.

    `adoptable`: it names nobody, and may be adopted.
    """
    group = None if named is None else Membership.named(domain, named)
    if group is None:
        return {"memory": {"adoptable": True}} if adoptable else {}
    kept = {"memory": {"group": memory}} if (memory := _remembered_group(group)) else {}
    return dict(zip(("group_name", "mates", "is_pair"), named_in(group), strict=True)) | kept


def _recall_group(group: Membership, kept: Mapping[str, Any]) -> None:
    for name in OF_GROUP:
        if name in kept:
            setattr(group, name, copy(kept[name]))
    group.without, group.instant = tuple(kept.get("without", ())), kept.get("instant")
    if "proposal" in kept:
        since, requests = kept["proposal"]
        group.proposal = Proposal(since, {peer: _proposed(asked) for peer, asked in requests.items()})
    if "booking" in kept:
        promise = kept["booking"]
        group.promise = Promise(**promise | {"was": JobState(promise["was"])})


def recalled_job(record: JobRecord, domain: Domain) -> PairedJob:
    """The job of this record, of this domain; one of a group may not have been admitted yet."""
    group = Membership.named(domain, record.named)
    if group is not None:
        group.jobs = {peer: mate for peer, mate in record.mates.items() if mate is not None}
    job = PairedJob(
        str(record.id), record.owner, group,
        state=record.state, ready_at=record.ready_at, started_at=record.started_at,
    )  # fmt: skip
    return recall(job, record.memory or {})


def recalled_place(memory: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the scheduler has kept of a job; earlier versions have it among the others."""
    place: Mapping[str, Any] | None = memory.get(SCHEDULER)
    return {name: memory[name] for name in OF_EARLIER_VERSIONS & memory.keys()} if place is None else place


def remember_peers(peers: Peers) -> str:
    """What is to be kept of the peers, as one value."""
    return json.dumps({peer: asdict(known) for peer, known in peers.known.items()})


def recalled_peers(kept: str | None) -> dict[Domain, Presence]:
    """What was kept of the peers."""
    return {peer: Presence(**values) for peer, values in json.loads(kept or "{}").items()}


def recalled_answer(kind: str, values: Sequence[Any]) -> MutatingReply:
    """The answer to a peer's mutating call."""
    return ANSWERS[kind](*values)


def _proposed(kept: list[Any]) -> ProposeGroupStart:
    request = ProposeGroupStart(*kept)
    return request._replace(without=tuple(request.without))


def _request(kept: list[Any]) -> MutatingRequest:
    kind, *values = kept
    request: MutatingRequest = REQUESTS[kind](*values)
    return request
