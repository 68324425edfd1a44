"""When jobs are expected to start, and why they wait: of this domain from its plan, of mates as their domains say."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from zlib import crc32

from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core.job import WAITING, JobState
from cosched.core.protocol import Domain, JobId
from cosched.core.scheduling.scheduler import WITH_NODES
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.mate_states import FRESH
from cosched.service.manager.plans import BATCH_SYSTEMS, HAS_NODES, SLOT, Plan
from cosched.service.manager.queues import Queue
from cosched.service.peers.mate_looks import LOOKS_ON, MateLooks
from cosched.service.peers.peers import CallError, PeerClients
from cosched.service.planning.estimates import OWN, TOGETHER, Estimates, cut
from cosched.service.planning.near_names import Sought, may_be_meant, name_near, sought_by, unclear
from cosched.service.planning.reasons import Reasons
from cosched.service.store import JobRecord, StoreError
from cosched.v1.coscheduling_pb2 import JobRef
from cosched.v1.explain_pb2 import Estimate, ExplainMatesRequest, Explanation, MatePair, Outlook, SoughtName
from cosched.words.quantities import count
from cosched.words.wrong_mates import near_name
from cosched_adapters.slices import Slices

SHARE = 10  # a plan is told for so many times the time that it took, though much happens
PATIENCE = 1.0  # seconds for a plan
STALE = 10.0  # seconds after which it is made anew, though nothing has happened
ASKED_AT_ONCE = 100  # mates
KEPT_IN_STEP = 1000  # jobs whose estimates are compared, and whose mates are asked for while somebody looks
SAMPLE = 50  # jobs whose mates are asked for though nobody looks, so that the accuracy of estimates stays known
NOT_KNOWN = "it is not known which job of {} that is"
_LOG = logging.getLogger(__name__)
MateKey = tuple[Domain, JobId]


class Explaining:
    """The estimates and reasons of one domain; belongs to its loop."""

    def __init__(
        self, domain: LiveDomain, queue: Queue, peers: PeerClients, estimates: Estimates, looks: MateLooks | None = None
    ) -> None:
        """`looks`: ask how mates stand at which somebody looks; None: nobody does."""
        self._looks, self._domain = looks, domain
        self._clock = domain.clock
        self._queue, self._peers, self._estimates = queue, peers, estimates
        self._reasons = Reasons(domain)
        self._plan = Plan()
        self._planned_after = -1  # so many of the store's transactions
        self._next_plan = self._last_plan = 0.0  # by the monotonic clock: when the next may be made, and must be
        self._planning = asyncio.Lock()
        self._making: asyncio.Task[Plan] | None = None  # a plan that is made while others look
        self._mates: dict[MateKey, Outlook] = {}
        self._asked: dict[MateKey, float] = {}  # when for each, by the monotonic clock
        self._catching_up: asyncio.Task[None] | None = None  # what was not asked for while nobody looked
        self._looked_at = float("-inf")  # when somebody has looked last, by the monotonic clock

    async def plan(self) -> Plan:
        """Return the present plan; it is made anew after every change, unless that takes too much time."""
        async with self._planning:
            began, commits = time.monotonic(), self._domain.store.commits
            if began >= self._last_plan or (began >= self._next_plan and commits != self._planned_after):
                self._plan, self._planned_after = await self._queue.plan(), commits
                ended = time.monotonic()
                self._next_plan, self._last_plan = ended + SHARE * (ended - began), ended + STALE
        return self._plan

    async def recent(self) -> Plan:
        """Return the present plan; while that takes long to make (a batch system may not answer), the one before."""
        if self._making is None or self._making.done():
            self._making = asyncio.create_task(self.plan())
        await asyncio.wait({self._making}, timeout=PATIENCE)
        return self._plan

    async def explain(self, records: Sequence[JobRecord], *, names: bool = False) -> list[Explanation]:
        """Return what is known of these jobs and their mates. Of one job, its mates' domains are asked first; of
        several, those that were never asked.

        `names`: whoever asks may also learn other names of the job's owner that come near its own.
        """
        self._looked_at = time.monotonic()
        plan = await self.plan()
        await self.look(records)
        await self._ask(records if len(records) == 1 else self._may_have_changed(records))
        found = [self._explanation(record, plan) for record in records]
        if names and len(records) == 1 and (sought := sought_by(records[0])) is not None:
            unknown = [mate for mate in found[0].mates if not mate.job.job_id]
            await asyncio.gather(*(self._ask_for_near(found[0], mate, sought) for mate in unknown))
        return found

    async def known(self, records: Iterable[JobRecord]) -> list[Explanation]:
        """Return what is known of these jobs and their mates; neither their domains nor a slow plan is waited for."""
        records = list(records)
        if self._catching_up is None or self._catching_up.done():
            catch_up = self._ask(self._may_have_changed(records)) if self._is_watched() else self.keep_in_step()
            self._catching_up = asyncio.create_task(catch_up)
        self._looked_at = time.monotonic()
        await self.look(records, wait=False)
        plan = await self.recent()
        return [self._explanation(record, plan) for record in records]

    async def look(self, records: Sequence[JobRecord], *, wait: bool = True) -> None:
        """Note that somebody looks at these jobs: how their mates stand is asked for."""
        if self._looks is not None:
            await self._looks.look(records, wait=wait)

    async def outlooks(self, asked: Iterable[tuple[Domain, JobId, JobId | Sought]]) -> list[Outlook]:
        """Return what a peer may know of jobs here: those that are mates of its own. Asked: peer, its job, job here."""
        plan = await self.plan()
        return [self._told(peer, caller, job, plan) for peer, caller, job in asked]

    def _told(self, peer: Domain, caller: JobId, job: JobId | Sought, plan: Plan) -> Outlook:
        if isinstance(job, Sought):
            near, problem = name_near(self._domain, peer, job), unclear(self._domain, peer, job)
            return Outlook(job=self._ref(""), near=near, problem=problem)
        record = self._domain.record(job)
        if record is None or record.mates.get(peer) != caller:
            return Outlook(job=self._ref(job))
        return self._outlook(record, plan)

    async def keep_in_step(self) -> None:
        """Ask for the mates of jobs that wait, and compare estimates with what has happened; to be called regularly."""
        plan = await self.plan()
        await asyncio.sleep(0)
        waiting = [record for record in self._domain.jobs.values() if record.state in WAITING]
        waiting.sort(key=lambda record: plan.starts.get(str(record.id), 1 << 62))
        waiting = waiting[:KEPT_IN_STEP]
        asked = waiting if self._is_watched() else _sample(waiting)
        await self._ask(asked)
        wanted = {(peer, job) for record in asked for peer, job in record.mates.items()}
        self._mates = {key: told for key, told in self._mates.items() if key in wanted}
        self._asked = {key: at for key, at in self._asked.items() if key in wanted}
        try:
            await self._compare(waiting, plan)
        except StoreError as error:
            _LOG.error("estimates cannot be kept: %s", error)

    def _is_watched(self) -> bool:
        return time.monotonic() < self._looked_at + LOOKS_ON

    def _may_have_changed(self, records: Iterable[JobRecord]) -> list[JobRecord]:
        """Return the jobs, not ended, whose mates were not asked for lately, or have changed since."""
        living = [record for record in records if not record.state.final]
        return [record for record in living if any(self._is_old(record, *mate) for mate in record.mates.items())]

    def _is_old(self, record: JobRecord, peer: Domain, mate: JobId | None) -> bool:
        asked = self._asked.get((peer, mate or ""), float("-inf"))
        changed = self._domain.calls.states.changed(str(record.id), peer)
        return mate is not None and (time.monotonic() >= asked + FRESH or changed > asked)

    # One job

    def _explanation(self, record: JobRecord, plan: Plan) -> Explanation:
        told = Explanation(job=self._outlook(record, plan))
        for domain, job in record.mates.items():
            unknown = Outlook(job=JobRef(domain=domain), problem=NOT_KNOWN.format(domain))
            unheard = Outlook(job=JobRef(domain=domain, job_id=job))
            told.mates.append(self._mates.get((domain, job), unheard) if job else unknown)
        for mate in told.mates:
            if mate.HasField("start"):
                cut(mate.start, self._clock.to_wall(self._clock.now()))  # it was told some time ago
        if (at := self._together(record, told)) is not None:
            told.together.CopyFrom(self._estimate(at, self._clock.now(), plan.source, TOGETHER))
        return told

    def _together(self, record: JobRecord, told: Explanation) -> int | None:
        if record.slot is not None:
            return record.slot
        sides = [told.job, *told.mates]
        if record.state not in WAITING or len(sides) < 2 or not all(side.HasField("start") for side in sides):
            return None
        return self._clock.from_wall(max(side.start.at.seconds for side in sides))

    def _outlook(self, record: JobRecord, plan: Plan) -> Outlook:
        job = str(record.id)
        told = Outlook(job=self._ref(job), state=int(record.state))  # type: ignore[arg-type]  # the numbers are the same
        told.starting = record.is_starting
        if record.state is JobState.QUEUED and job in plan.places:
            told.position, told.queued = plan.places[job]
            if plan.source == BATCH_SYSTEMS:
                told.position_at.seconds = self._clock.to_wall(plan.made_at)
        self._write_past(told, record)
        told.size = self._size(record, plan)
        if (start := self._start(record, plan)) is not None:
            told.start.CopyFrom(start)
        if (reason := self._reasons.of(record, plan)) is not None:
            told.reason.CopyFrom(reason)
        if (successor := self._reasons.successor(record)) is not None:
            told.successor.CopyFrom(successor)
        return told

    def _size(self, record: JobRecord, plan: Plan) -> str:
        """Say which size was chosen for the job, or will be, and why; empty: it has what it asks for."""
        job, domain = str(record.id), self._domain
        if record.state is JobState.QUEUED and job in plan.sizes:
            return f"{count(plan.sizes[job].nodes, 'node')} by the plan: {plan.sizes[job].why}"
        if record.state not in WITH_NODES or job not in domain.scheduler:
            return ""
        try:
            why = domain.kind.sized(domain.scheduler.job(job))
        except Exception as error:  # whatever a package does: all else can be told
            why = domain.blame(error)
        return f"{count(record.node_count, 'node')}: {why}" if why else ""

    def _write_past(self, told: Outlook, record: JobRecord) -> None:
        """Write what the job has had so far, and what that has cost."""
        told.nodes, to_wall = record.node_count, self._clock.to_wall
        told.submitted_at.seconds = to_wall(record.submitted_at)
        if record.ran_from is not None:
            told.started_at.FromMilliseconds(round(1000 * (record.ran_from + self._clock.shift)))
        if record.is_pair and record.apart_s is not None:
            told.gap.FromMilliseconds(round(1000 * record.apart_s))
        if record.ended_at is not None:
            told.ended_at.seconds = to_wall(record.ended_at)
        if not record.paired:
            return
        held, booked, pushed, slots = self._domain.store.cost(record.id)
        if record.state is JobState.HOLDING:
            held += record.node_count * (self._clock.now() - record.job.held_since)
        told.cost.held, told.cost.booked, told.cost.pushed, told.cost.slots = held, booked, pushed, slots

    def _start(self, record: JobRecord, plan: Plan) -> Estimate | None:
        now = self._clock.now()
        if record.state in (JobState.READY, JobState.HOLDING):
            return self._estimate(now, now, HAS_NODES, OWN)
        if record.state is not JobState.QUEUED or record.user_hold:
            return None
        if record.slot is not None:
            return self._estimate(record.slot, now, SLOT, OWN)
        at, size = plan.starts.get(str(record.id)), plan.sizes.get(str(record.id))
        if at is None:
            return None
        told = self._estimate(max(at, plan.made_at), plan.made_at, plan.source, OWN)
        if size is not None:
            told.nodes = size.nodes
        return told

    def _estimate(self, at: int, made_at: int, source: int, kind: int) -> Estimate:
        to_wall = self._clock.to_wall
        told = Estimate(at=Timestamp(seconds=to_wall(at)), made_at=Timestamp(seconds=to_wall(made_at)))
        told.source = source  # type: ignore[assignment]
        if source not in (SLOT, HAS_NODES) and (accuracy := self._estimates.accuracy(kind, made_at, at)) is not None:
            told.accuracy.CopyFrom(accuracy)
        cut(told, to_wall(self._clock.now()))
        return told

    def _ref(self, job: JobId) -> JobRef:
        return JobRef(domain=self._domain.name, job_id=job)

    # Mates

    async def _ask(self, records: Iterable[JobRecord]) -> None:
        """Ask the domains of these jobs' mates, all at once."""
        asked: dict[Domain, list[MatePair]] = {}
        for record in records:
            for domain, job in record.mates.items():
                if job:
                    self._asked[domain, job] = time.monotonic()
                    pair = MatePair(job=JobRef(domain=domain, job_id=job), caller=self._ref(str(record.id)))
                    asked.setdefault(domain, []).append(pair)
        await asyncio.gather(*(self._ask_peer(peer, pairs) for peer, pairs in asked.items()))

    async def _ask_for_near(self, told: Explanation, mate: Outlook, sought: Sought) -> None:
        """Ask the domain of a mate that is not known for a name that comes near; older ones refuse."""
        peer = mate.job.domain
        pair = MatePair(job=mate.job, caller=told.job.job, sought=SoughtName(**sought._asdict()))
        try:
            answer = await self._peers.explain(peer, ExplainMatesRequest(pairs=[pair]))
        except CallError:
            return
        near, said = (answer.outlooks[0].near, answer.outlooks[0].problem) if answer.outlooks else ("", "")
        mate.problem = said or mate.problem
        if near and may_be_meant(self._domain, peer, sought, near):
            mate.near = near
            job, group = told.job.job, [other.job.domain for other in told.mates] if sought.of_group else ()
            mate.problem = near_name(peer, near, sought.owner, job.domain, job.job_id, group)

    async def _ask_peer(self, peer: Domain, pairs: Sequence[MatePair]) -> None:
        for first in range(0, len(pairs), ASKED_AT_ONCE):
            batch = pairs[first : first + ASKED_AT_ONCE]
            try:
                answer = await self._peers.explain(peer, ExplainMatesRequest(pairs=batch))
            except CallError as error:
                problem = self._domain.presence.silent(peer, error.problem)
                for pair in pairs[first:]:
                    self._mates[peer, pair.job.job_id] = Outlook(job=pair.job, problem=problem)
                return
            for pair, told in zip(batch, answer.outlooks, strict=False):
                told.job.CopyFrom(pair.job)
                self._mates[peer, pair.job.job_id] = told

    # How good the estimates were

    async def _compare(self, waiting: Iterable[JobRecord], plan: Plan) -> None:
        slices = Slices()
        for job in self._estimates.unsettled():
            await slices.pause()
            self._settle(job)
        for record in waiting:
            await slices.pause()
            if str(record.id) not in self._domain.jobs:  # it has ended meanwhile
                continue
            job, told = str(record.id), self._explanation(record, plan)
            at = plan.starts.get(job)
            if record.state is JobState.QUEUED and record.job.ready_at is None and at is not None:
                self._estimates.note(job, OWN, plan.made_at, max(at, plan.made_at))
            if told.HasField("together") and record.slot is None:
                made_at = self._clock.from_wall(told.together.made_at.seconds)
                self._estimates.note(job, TOGETHER, made_at, self._clock.from_wall(told.together.at.seconds))
        self._estimates.write(self._clock.now())

    def _settle(self, job: JobId) -> None:
        if (record := self._domain.record(job)) is None:
            self._estimates.drop(job)
            return
        ready_at, started_at = record.job.ready_at, record.job.started_at
        if (at := started_at if ready_at is None else ready_at) is not None:
            self._estimates.settle(job, OWN, at)
        if started_at is not None and not record.gap_s:
            self._estimates.settle(job, TOGETHER, started_at)
        if record.job.state not in WAITING:
            self._estimates.drop(job)


def _sample(waiting: Iterable[JobRecord]) -> list[JobRecord]:
    """Return some jobs with mates, at any distance from their starts: the same ones again, as long as they wait."""
    with_mates = [record for record in waiting if record.mates]
    return sorted(with_mates, key=lambda record: crc32(str(record.id).encode()))[:SAMPLE]
