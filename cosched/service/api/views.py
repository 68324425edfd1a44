"""Users' views of jobs, nodes, events and the domain: records as messages of domain.proto."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.membership import Promise
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, MateJobId, MateProblem, MateStatus, Named
from cosched.core.settings import Scheme
from cosched.schedulers.column import LEAST_NODES
from cosched.service.clock import Clock
from cosched.service.configuration_sections import Coscheduling
from cosched.service.domain import story
from cosched.service.domain.live_domain import LiveDomain, waits_to_begin
from cosched.service.domain.malleable import least_of, said_of
from cosched.service.domain.presence import stopped
from cosched.service.domain.sizing import sizing_of
from cosched.service.domain.story import Noted
from cosched.service.manager.queues import Queue
from cosched.service.peers.peer_view import PeerView
from cosched.service.store import EventRecord, JobRecord
from cosched.service.wire.group_messages import write_window
from cosched.service.wire.message_parts import PROBLEM, STATUS
from cosched.service.wire.terms import write_terms
from cosched.v1 import cluster_pb2, coscheduling_pb2, domain_pb2, job_pb2
from cosched_adapters.batch_system import NodeState

SCHEMES = {scheme: cluster_pb2.Scheme.Value(f"SCHEME_{scheme.name}") for scheme in Scheme}


class Views:
    """Makes messages about one domain, with times of the wall clock."""

    def __init__(self, domain: LiveDomain, clock: Clock) -> None:
        self._domain, self._clock = domain, clock

    def ref(self, job: int | str) -> coscheduling_pb2.JobRef:
        """Return a reference to a job of this domain."""
        return coscheduling_pb2.JobRef(domain=self._domain.name, job_id=str(job))

    def job(self, record: JobRecord) -> job_pb2.Job:
        """Return the message for a job."""
        message = job_pb2.Job()
        self.write_job(message, record)
        return message

    def write_job(self, message: job_pb2.Job, record: JobRecord) -> None:
        """Write a job into an empty message. Making a page's jobs first and copying them takes three times as long."""
        message.ref.domain, message.ref.job_id = self._domain.name, str(record.id)
        job, allocation, said, promise = record.job, record.allocation, said_of(record), self._promise(record)
        message.name, message.owner = record.name, record.owner
        message.nodes = record.nodes if allocation is None else allocation.nodes
        message.state = int(job.state)  # type: ignore[assignment]  # the numbers are the same
        message.adoptable, message.starting = job.adoptable and job.group is None, record.is_starting
        message.reason = self._reason(record, promise, starting=message.starting)
        message.account = self._domain.records.charges.account(record)
        message.time_limit.seconds = record.time_limit
        self._write_times(message, record)
        if allocation is not None:
            message.node_names.extend(allocation.where or ())
            if job.state is JobState.RUNNING and allocation.expected < FOREVER:
                message.expected_end.seconds = self._clock.to_wall(allocation.expected)
                message.latest_end.seconds = self._clock.to_wall(allocation.latest_end)
        if record.exit_code is not None:
            message.exit_code = record.exit_code
        if job.group is not None:
            self._write_others(message, record)
            self._write_holds(message.holds, job, promise)
        message.columns.update(said)
        if LEAST_NODES in said:
            self._write_malleable(message.malleable, record)

    def _write_times(self, message: job_pb2.Job, record: JobRecord) -> None:
        job = record.job
        for written, instant in (
            (message.submitted_at, record.submitted_at),
            (message.slot, record.slot),
            (message.ready_at, job.ready_at),
            (message.started_at, None if (began := record.ran_from) is None else math.floor(began)),
            (message.ended_at, record.ended_at),
        ):
            if instant is not None:
                written.seconds = self._clock.to_wall(instant)

    def _write_others(self, message: job_pb2.Job, record: JobRecord) -> None:
        shown: job_pb2.Group | job_pb2.Mate
        named = record.job.named
        if not named.is_pair:
            shown = message.group
            self._write_group(shown, record, named)
        else:
            shown = message.mates.add()
            self._write_mate(shown, record, named)
        shown.or_alone = named.or_alone
        write_terms(shown.terms, named.terms)
        if (gap := record.gap_s if record.apart_s is None else record.apart_s) is not None:
            shown.gap.FromMilliseconds(round(gap * 1000))

    def _write_mate(self, message: job_pb2.Mate, record: JobRecord, named: Named) -> None:
        (peer,), mate, pair = named.others, named.mate, named.pair
        message.lookup, message.status = record.lookup, record.mate_status  # type: ignore[assignment]
        heard_at, state = record.heard_at, self._domain.calls.states.of(str(record.id)).get(peer)
        if state is not None and state.mate == mate and (heard_at is None or state.at > heard_at):
            message.status, heard_at = STATUS[state.status], state.at
        if heard_at is not None:
            message.heard_at.seconds = self._clock.to_wall(heard_at)
        if mate is not None:
            message.job.domain, message.job.job_id = peer, mate
        if pair is not None:
            message.name.pair.domain, message.name.pair.name = peer, pair
        elif mate is not None:
            message.name.job.CopyFrom(message.job)
        if problem := record.job.problem:
            message.problem = PROBLEM[MateProblem(problem)]

    def _write_group(self, message: job_pb2.Group, record: JobRecord, group: Named) -> None:
        message.name = group.name
        message.windows.extend(map(write_window, group.windows))
        if group.at is not None:
            message.at.seconds = group.at
        known = self._domain.core.jobs.get(str(record.id))
        told = known.group.told if known is not None and known.group is not None else {}
        starts_by, states = record.starts_by, self._domain.calls.states.of(str(record.id))
        for domain, job in record.mates.items():
            member, said = message.members.add(domain=domain), told.get(domain)
            if domain in starts_by:
                member.starts_by.seconds = self._clock.to_wall(starts_by[domain])
            if job is not None:
                member.job.domain, member.job.job_id = domain, job
            state = states.get(domain)
            if state is not None and state.mate == job:
                member.status, member.heard_at.seconds = STATUS[state.status], self._clock.to_wall(state.at)
            elif isinstance(said, MateStatus):
                member.status = STATUS[said.status]
            if isinstance(said, MateJobId) and said.problem is not None:
                member.problem = PROBLEM[said.problem]

    def _write_holds(self, message: job_pb2.HoldRecord, job: PairedJob, promise: Promise | None) -> None:
        message.holds, message.yields, message.hold_generation = job.holds, job.yields, job.generation
        message.held_node_seconds = job.held_node_seconds
        if job.state is JobState.HOLDING:
            message.held_node_seconds += job.nodes * (self._clock.now() - job.held_since)
            if (until := job.keeps_nodes_until(self._clock.now())) >= FOREVER:
                message.hold_forever = True
            else:
                message.hold_until.seconds = self._clock.to_wall(until)
        elif promise is not None:
            message.hold_until.seconds = self._clock.to_wall(promise.until)

    def _promise(self, record: JobRecord) -> Promise | None:
        """Return the proposal for which the nodes of a ready job are kept."""
        if record.job.state is not JobState.READY:
            return None
        job = self._domain.core.jobs.get(str(record.id))
        return None if job is None or job.group is None else job.group.promise

    def _reason(self, record: JobRecord, promise: Promise | None, *, starting: bool) -> str:
        if record.cancelled_by is not None and not record.job.state.final:
            return story.CANCELLING
        if starting:
            return waits_to_begin(self._domain, record)
        if record.user_hold and not record.job.state.final:
            return story.PUT_ASIDE if str(record.id) in self._domain.aside else story.HELD_BY_USER
        if promise is not None:
            return story.kept_for(promise.proposer, promise.caller)
        return story.HAS_SLOT if record.slot is not None else record.reason

    def _write_malleable(self, message: job_pb2.Malleable, record: JobRecord) -> None:
        message.least, message.ideal = least_of(record), record.nodes
        sizing = sizing_of(record)
        if sizing is None or record.state is not JobState.RUNNING:
            return
        message.using = sizing.using
        if sizing.told_at is not None:
            message.told_at.seconds = self._clock.to_wall(sizing.told_at)
        if (measured := self._domain.sizes.measured.get(str(record.id))) is not None:
            message.iterations.CopyFrom(job_pb2.Iterations(**measured._asdict()))
        if predictions := self._domain.sizes.predicted(record):
            for nodes in sorted({message.least, record.node_count, message.ideal}):
                message.predictions.add(nodes=nodes, **predictions[nodes - message.least]._asdict())

    def event(self, record: EventRecord) -> domain_pb2.Event:
        """Return the message for an event."""
        return domain_pb2.Event(
            sequence=record.sequence,
            at=self._time(record.at),
            kind=record.kind,  # type: ignore[arg-type]
            job=self.ref(record.job) if record.job is not None else None,
            text=story.text(record.what, record.detail, self._clock_time),
            detail={key: str(self._shown(key, value)) for key, value in record.detail.items()},
        )

    def domain(
        self, manager: str, version: str, serving_since: int, peers: Iterable[PeerView], section: Coscheduling
    ) -> cluster_pb2.Domain:
        """Return the message for the domain itself."""
        meeting, settings = section.meeting, self._domain.core.settings
        message = cluster_pb2.Domain(
            name=self._domain.name,
            version=version,
            manager=manager,
            scheme=SCHEMES[settings.scheme],
            release_interval=Duration(seconds=settings.release_interval),
            max_held_fraction=str(settings.max_held_fraction),
            nodes=self.node_counts(),
            jobs=self.job_counts(),
            now=self._time(self._clock.now()),
            serving_since=self._time(serving_since),
            mate_budget=meeting.texts["mate_budget"],
            slots=meeting.slots,
            mate_budget_share=meeting.texts.get("mate_budget_share", ""),
            default_peer=section.default_peer or "",
        )
        message.peers.extend(map(self._peer, peers))
        if not self._domain.kind.of_batch_systems:
            message.named_nodes = self._domain.scheduler.capabilities.nodelists
            message.maps_applications = self._domain.policy.places is not None
        if (drain := self._domain.draining.present) is not None:
            for name in ("since", "until", "settled_by"):
                getattr(message.drain, name).CopyFrom(self._time(getattr(drain, name)))
            message.drain.waits_for.extend(map(self.ref, self._domain.draining.unsettled()))
        return message

    def _peer(self, view: PeerView) -> cluster_pb2.Peer:
        message, (at, by) = _peer(view), self._domain.presence.stopped(view.name)
        said = (self._absence(view), view.problem) if at is None else (stopped(at, by), self._absence(view))
        message.problem = "; ".join(filter(None, said))
        if at is not None:
            message.stopped_at.seconds = at
        if by is not None:
            message.back_by.seconds = by
        return message

    def _absence(self, view: PeerView) -> str:
        """Return, for people, what follows if a peer is away or drains; empty if neither."""
        what, until = self._domain.decisions.presence(view.name)
        if what is Noted.PEER_AWAY or view.state == cluster_pb2.PEER_STATE_UNREACHABLE:
            return f"a job that becomes ready {self._domain.presence.without(view.name)}"
        return f"drains, and makes no pairs until {self._clock_time(until)}" if until is not None else ""

    def node_counts(self) -> cluster_pb2.NodeCounts:
        """Return the numbers of nodes by state."""
        used = self._domain.scheduler.used()
        booked = sum(self._domain.core.ledger.booked.values())  # they hold, too: for a proposal
        held = used[JobState.HOLDING] + booked
        busy = used[JobState.READY] - booked + used[JobState.RUNNING]
        return cluster_pb2.NodeCounts(idle=self._domain.scheduler.free, busy=busy, held=held)

    def job_counts(self) -> cluster_pb2.JobCounts:
        """Return the numbers of jobs by state."""
        counts = Counter(record.state for record in self._domain.jobs.values())
        active = JobState.QUEUED, JobState.READY, JobState.HOLDING, JobState.RUNNING
        return cluster_pb2.JobCounts(**{state.name.lower(): counts[state] for state in active})

    async def node_groups(self, queue: Queue) -> list[cluster_pb2.NodeGroup]:
        """Return groups of nodes: those of each job, and the free ones; and all others, if a manager tells of them.

        Where free ones have names, all free ones are named. Refusal: the manager does not answer.
        """
        told = await queue.node_states()
        groups = [
            cluster_pb2.NodeGroup(
                state=cluster_pb2.NODE_STATE_HELD if self._holds(record) else cluster_pb2.NODE_STATE_BUSY,
                count=record.node_count,
                names=(record.job.allocation and record.job.allocation.where) or (),
                job=self.ref(job),
            )
            for job, record in self._domain.jobs.items()
            if record.state in (JobState.READY, JobState.HOLDING, JobState.RUNNING)
        ]
        if told:
            return groups + _others(told, groups)
        if self._domain.scheduler.free:
            free, names = self._domain.scheduler.free, self._domain.policy.free_places()
            groups.append(cluster_pb2.NodeGroup(state=cluster_pb2.NODE_STATE_IDLE, count=free, names=names))
        return groups

    def _holds(self, record: JobRecord) -> bool:
        return record.state is JobState.HOLDING or self._promise(record) is not None

    def _time(self, instant: int | None) -> Timestamp | None:
        return Timestamp(seconds=self._clock.to_wall(instant)) if instant is not None else None

    def _shown(self, key: str, value: Any) -> Any:
        """Return a detail of an event; an instant is shown in seconds since 1970."""
        return self._clock.to_wall(value) if key in ("until", "slot", "starts_at") else value

    def _clock_time(self, instant: int) -> str:
        return story.utc(self._clock.to_wall(instant))


def _others(told: Mapping[str, NodeState], jobs: Sequence[cluster_pb2.NodeGroup]) -> list[cluster_pb2.NodeGroup]:
    """Return the groups of nodes that none of our jobs has; which ones our jobs have is not told by name."""
    of_state: dict[NodeState, list[str]] = {}
    for name, state in told.items():
        of_state.setdefault(state, []).append(name)
    idle, down = of_state.get(NodeState.IDLE, []), of_state.get(NodeState.DOWN, [])
    busy = len(told) - len(idle) - len(down) - sum(group.count for group in jobs)
    groups = [
        cluster_pb2.NodeGroup(state=cluster_pb2.NODE_STATE_IDLE, count=len(idle), names=idle),
        cluster_pb2.NodeGroup(state=cluster_pb2.NODE_STATE_DOWN, count=len(down), names=down),
        cluster_pb2.NodeGroup(state=cluster_pb2.NODE_STATE_BUSY, count=max(0, busy)),
    ]
    return [group for group in groups if group.count]


def _peer(view: PeerView) -> cluster_pb2.Peer:
    message = cluster_pb2.Peer(name=view.name, address=view.address, since=Timestamp(seconds=int(view.since)))
    message.state = view.state  # type: ignore[assignment]
    if view.round_trip is not None:
        message.round_trip.FromNanoseconds(int(view.round_trip * 1e9))
    if view.clock_offset is not None and view.clock_uncertainty is not None:
        message.clock_offset, message.clock_uncertainty = view.clock_offset, view.clock_uncertainty
    if view.takes_groups is not None:
        message.takes_groups = view.takes_groups
    return message
